#include "record/bpf/bpf_tables.h"

#include <bpf/bpf.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <thread>
#include <unordered_set>
#include <utility>

#include "base/log.h"
#include "base/unique_fd.h"

namespace gpuprof::record {
namespace {

// Limit on the memory of unused tables. They stay in the kernel for later processes.
constexpr uint64_t kKeptBytes = 256U << 20;
constexpr uint64_t kMaxKernelBytes = uint64_t{1} << 30;
constexpr unsigned kMaxBuilders = 3;  // each needs up to twice the size of a table meanwhile
constexpr uint32_t kMaxNumber = 0xFFFF;
constexpr uint32_t kNoPool = UINT32_MAX;
constexpr uint32_t kMaxObjectBytes = 256;  // OBJECT_BYTES of bpf/walk.h

UniqueFd create_inner_map(const char* name, uint32_t value_bytes, size_t entries, uint32_t flags) {
  bpf_map_create_opts options{};
  options.sz = sizeof(options);
  options.map_flags = flags;
  return UniqueFd(bpf_map_create(BPF_MAP_TYPE_ARRAY, name, sizeof(uint32_t), value_bytes,
                                 static_cast<uint32_t>(entries), &options));
}

// Logs a failure at debug level. A failure is not an error, because the walk then follows frame pointers in that file
// or process.
bool worked(const char* what, bool good) {
  if (!good) {
    log::debug(std::string("BPF stack engine: cannot ") + what + ": " + std::strerror(errno));
  }
  return good;
}

uint32_t last_byte(std::initializer_list<std::pair<uint16_t, uint32_t>> fields) {
  uint32_t last = 0;
  for (const auto& [offset, bytes] : fields) {
    if (offset != GPUPROF_PYTHON_NONE) {
      last = std::max(last, offset + bytes);
    }
  }
  return (last + 7) / 8 * 8;
}

// Returns how many bytes of a Python frame the walk must read; 0: they do not fit into its buffer.
uint32_t frame_bytes(const gpuprof_python_layout& python) {
  const uint32_t bytes = last_byte({{python.frame_previous, 8},
                                    {python.frame_code, 8},
                                    {python.frame_instruction, python.instruction_unit != 0 ? 4 : 8},
                                    {python.frame_boundary, 1},
                                    {python.frame_owner, 1}});
  return bytes <= kMaxObjectBytes ? bytes : 0;
}

uint32_t code_bytes(const gpuprof_python_layout& python) {
  const uint32_t bytes = last_byte({{python.code_type_field, 8},
                                    {python.code_name, 8},
                                    {python.code_qualname, 8},
                                    {python.code_filename, 8},
                                    {python.code_line_table, 8},
                                    {python.code_first_line, 8},
                                    {python.code_first_traceable, 8},
                                    {python.code_version, 8}});
  return bytes <= kMaxObjectBytes ? bytes : 0;
}

size_t words_of(const unwind::Table& table) {
  return table.pages().size() + table.pcs().size() + table.rules().size();
}

enum class Change : uint8_t { none, gone, replaced };

// Compares the old and the new mappings of a process, both in order of address. A moved mapping counts as replaced.
Change change_of(const std::vector<gpuprof_bpf_mapping>& old, const std::vector<gpuprof_bpf_mapping>& fresh) {
  const auto same = [](const gpuprof_bpf_mapping& a, const gpuprof_bpf_mapping& b) {
    return a.inode == b.inode && a.pool == b.pool && a.words_at == b.words_at &&
           a.relative_begin - a.begin == b.relative_begin - b.begin && a.offset - a.begin == b.offset - b.begin;
  };
  auto is = fresh.begin();
  Change change = Change::none;
  for (const gpuprof_bpf_mapping& was : old) {
    while (is != fresh.end() && is->end <= was.begin) {
      ++is;
    }
    if (is == fresh.end() || !same(was, *is) || is->begin > was.begin || is->end < was.end) {
      return Change::replaced;
    }
    change = is->gone > was.gone ? Change::gone : change;
  }
  return change;
}

// Returns whether no old mapping is in `fresh`, so that the process has called exec. Both lists are in order of
// address.
bool is_other_image(const std::vector<gpuprof_bpf_mapping>& old, const std::vector<gpuprof_bpf_mapping>& fresh) {
  auto is = fresh.begin();
  return !old.empty() && std::none_of(old.begin(), old.end(), [&](const gpuprof_bpf_mapping& was) {
    while (is != fresh.end() && is->begin < was.begin) {
      ++is;
    }
    return is != fresh.end() && is->begin == was.begin && is->pool == was.pool && is->words_at == was.words_at;
  });
}

}  // namespace

BpfTables::BpfTables(const BpfTableMaps& maps, const std::string& cache_directory,
                     std::unique_ptr<unwind::TableMaker> maker, std::function<bool()> goes_on)
    : maps_(maps), cache_(cache_directory, std::move(maker)), goes_on_(std::move(goes_on)) {}

// Builds missing tables on up to kMaxBuilders threads. A large file takes seconds, and the process waits during that
// time.
void BpfTables::build(const std::vector<symbolize::Mapping>& mappings) {
  std::vector<FilePointer> missing;
  std::unordered_set<const symbolize::MappedFile*> seen;
  for (const symbolize::Mapping& mapping : mappings) {
    if (mapping.file && !built_.contains(mapping.file.get()) && seen.insert(mapping.file.get()).second) {
      missing.push_back(mapping.file);
    }
  }
  std::atomic<size_t> next{0};
  const auto build_some = [&] {
    for (size_t i = next++; i < missing.size(); i = next++) {
      TablePointer table = goes_on_() ? cache_.get(*missing[i]) : nullptr;
      const std::lock_guard lock(mutex_);
      built_.emplace(missing[i].get(), Built{missing[i], std::move(table), 0});
    }
  };
  const size_t builders = std::min<size_t>({missing.size(), kMaxBuilders, std::thread::hardware_concurrency()});
  std::vector<std::thread> threads;
  try {
    while (threads.size() + 1 < builders) {
      threads.emplace_back(build_some);
    }
  } catch (const std::system_error& error) {
    log::debug(std::string("unwind tables are made with fewer threads: ") + error.what());
  }
  build_some();
  for (std::thread& thread : threads) {
    thread.join();
  }
}

void BpfTables::on_process(const symbolize::ProcessMaps& maps) {
  Process& process = process_of(maps.pid());
  process.vdso = vdso_table(maps.vdso());
  build(maps.mappings());
  use_files(maps.mappings());
  leave_files(std::exchange(process.mappings, maps.mappings()));
  process.read_ns = maps.read_ns();
  set_mappings(maps.pid(), process);
}

void BpfTables::expect_process(uint32_t pid, bool anew) const {
  const gpuprof_bpf_process without_tables{};
  bpf_map_update_elem(maps_.processes, &pid, &without_tables, anew ? BPF_ANY : BPF_NOEXIST);
  if (anew) {
    bpf_map_delete_elem(maps_.unloads, &pid);
  }
}

// Registers a new process with the BPF programs even if its tables are not built yet.
BpfTables::Process& BpfTables::process_of(uint32_t pid) {
  const auto [found, is_new] = processes_.try_emplace(pid);
  if (is_new) {
    found->second.image = ++last_image_;
    write_process(pid, found->second);
  }
  return found->second;
}

void BpfTables::use_files(const std::vector<symbolize::Mapping>& mappings) {
  for (const symbolize::Mapping& mapping : mappings) {
    if (mapping.file) {
      ++built_.at(mapping.file.get()).users;
    }
  }
}

// Closes files that no process maps any more. Their tables stay in memory while the kernel has copies of them.
void BpfTables::leave_files(const std::vector<symbolize::Mapping>& mappings) {
  for (const symbolize::Mapping& mapping : mappings) {
    const auto found = mapping.file ? built_.find(mapping.file.get()) : built_.end();
    if (found != built_.end() && --found->second.users == 0) {
      built_.erase(found);
    }
  }
}

void BpfTables::on_python(uint32_t pid, const gpuprof_python_layout& layout, const gpuprof_python_threads& threads) {
  Process& process = process_of(pid);
  process.python = layout;
  process.python_threads = threads;
  write_process(pid, process);
}

void BpfTables::on_process_end(uint32_t pid) {
  bpf_map_delete_elem(maps_.processes, &pid);
  bpf_map_delete_elem(maps_.unloads, &pid);
  const auto found = processes_.find(pid);
  if (found == processes_.end()) {
    return;
  }
  bpf_map_delete_elem(maps_.mappings, &pid);
  count_users(found->second.entries, -1);
  leave_files(found->second.mappings);
  processes_.erase(found);
  remove_unused();
}

void BpfTables::set_mappings(uint32_t pid, Process& process) {
  upload_missing(process);
  std::vector<gpuprof_bpf_mapping> entries = entries_of(process);
  const bool same = entries.size() == process.entries.size() &&
                    std::memcmp(entries.data(), process.entries.data(), entries.size() * sizeof(entries[0])) == 0;
  if (same && process.number != 0) {
    write_process(pid, process);
    return;
  }
  if (is_other_image(process.entries, entries)) {
    process.python = {};
    process.python_threads = {};
    process.image = ++last_image_;
  }
  const Change change = change_of(process.entries, entries);
  if (process.number == 0 || change != Change::none) {
    process.number = next_number();
  }
  process.generation += change == Change::replaced ? 1 : 0;
  count_users(entries, 1);
  if (!write_mappings(pid, process, entries)) {
    // Without mappings, the walk follows frame pointers. With the old mappings, it would apply unwind rules of other
    // files.
    bpf_map_delete_elem(maps_.mappings, &pid);
  }
  write_process(pid, process);
  count_users(process.entries, -1);
  process.entries = std::move(entries);
  remove_unused();
}

BpfTables::TablePointer BpfTables::table_of(const Process& process, const symbolize::Mapping& mapping) const {
  if (mapping.file) {
    return built_.at(mapping.file.get()).table;
  }
  return mapping.name == "[vdso]" ? process.vdso : nullptr;
}

std::vector<gpuprof_bpf_mapping> BpfTables::entries_of(const Process& process) const {
  std::vector<gpuprof_bpf_mapping> entries;
  for (const symbolize::Mapping& mapping : process.mappings) {
    if (entries.size() == GPUPROF_BPF_MAX_MAPPINGS) {
      break;
    }
    const uint64_t offset = mapping.file ? mapping.offset : 0;
    gpuprof_bpf_mapping entry{};
    entry.begin = mapping.start;
    entry.end = mapping.end;
    entry.pool = kNoPool;
    entry.inode = mapping.file ? mapping.file->inode : 0;
    entry.offset = offset;
    entry.gone = mapping.gone ? 1 : 0;
    const auto found = uploaded_.find(table_of(process, mapping).get());
    if (found != uploaded_.end()) {
      const Uploaded& uploaded = found->second;
      const unwind::Table& table = *uploaded.table;
      if (const auto vaddr = table.vaddr_of(offset, offset); vaddr) {
        entry.relative_begin = *vaddr - table.base();
        entry.pool = uploaded.pool;
        entry.words_at = uploaded.words_at;
        entry.page_count = static_cast<uint32_t>(table.page_count());
        entry.rules_at =
            static_cast<uint32_t>(uploaded.words_at + table.pages().size()) + static_cast<uint32_t>(table.pcs().size());
      }
    }
    if (mapping.file || entry.pool != kNoPool) {
      entries.push_back(entry);
    }
  }
  return entries;
}

// Uploads the tables that the process needs and the kernel lacks. They form one pool.
void BpfTables::upload_missing(const Process& process) {
  constexpr size_t kMaxWords = UINT32_MAX / sizeof(uint64_t);
  std::vector<TablePointer> missing;
  std::unordered_set<const unwind::Table*> seen;
  size_t words = 0;
  for (const symbolize::Mapping& mapping : process.mappings) {
    TablePointer table = table_of(process, mapping);
    if (!table || table->pages().empty() || table->pcs().empty() || uploaded_.contains(table.get()) ||
        !seen.insert(table.get()).second) {
      continue;
    }
    const size_t more = words_of(*table);
    if (more <= kMaxWords - words && kernel_bytes_ + (words + more) * sizeof(uint64_t) <= kMaxKernelBytes) {
      words += more;
      missing.push_back(std::move(table));
    } else if (!std::exchange(warned_full_, true)) {
      log::warn(
          "unwind tables have reached their kernel memory limit: frames in more files are walked by frame pointers");
    }
  }
  auto free = std::find_if(pools_.begin(), pools_.end(), [](const Pool& pool) { return pool.tables.empty(); });
  if (missing.empty() || (free == pools_.end() && pools_.size() == GPUPROF_BPF_MAX_POOLS)) {
    return;
  }
  if (free == pools_.end()) {
    free = pools_.emplace(pools_.end());
  }
  const auto number = static_cast<uint32_t>(free - pools_.begin());
  if (!upload(number, missing, words)) {
    return;
  }
  uint32_t at = 0;
  for (const TablePointer& table : missing) {
    uploaded_[table.get()] = {table, number, at};
    free->tables.push_back(table.get());
    at += static_cast<uint32_t>(words_of(*table));
  }
  free->bytes = words * sizeof(uint64_t);
  kernel_bytes_ += free->bytes;
}

// Writes the words of the tables one after the other, in the format of wire/bpf_events.h.
bool BpfTables::upload(uint32_t pool, const std::vector<TablePointer>& tables, size_t words) const {
  const UniqueFd map = create_inner_map("gpuprof_rows", sizeof(uint64_t), words, BPF_F_INNER_MAP | BPF_F_MMAPABLE);
  if (!worked("make a map for unwind tables", map.get() >= 0)) {
    return false;
  }
  void* memory = ::mmap(nullptr, words * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, map.get(), 0);
  if (!worked("fill a map of unwind tables", memory != MAP_FAILED)) {
    return false;
  }
  auto* word = static_cast<uint64_t*>(memory);
  for (const TablePointer& table : tables) {
    static_assert(unwind::Table::kPageShift == GPUPROF_BPF_PAGE_SHIFT);
    word = std::copy(table->pages().begin(), table->pages().end(), word);
    for (size_t i = 0; i < table->pcs().size(); ++i) {
      *word++ = uint64_t{table->pcs()[i]} << 32 | table->rule_indexes()[i];
    }
    word = std::copy(table->rules().begin(), table->rules().end(), word);
  }
  ::munmap(memory, words * sizeof(uint64_t));
  const int fd = map.get();
  return worked("add unwind tables", bpf_map_update_elem(maps_.pools, &pool, &fd, BPF_ANY) == 0);
}

void BpfTables::count_users(const std::vector<gpuprof_bpf_mapping>& entries, int change) {
  for (const gpuprof_bpf_mapping& entry : entries) {
    if (entry.pool != kNoPool) {
      pools_.at(entry.pool).users += static_cast<uint32_t>(change);
    }
  }
}

void BpfTables::remove_unused() {
  if (kernel_bytes_ <= kKeptBytes) {
    return;
  }
  for (uint32_t number = 0; number < pools_.size(); ++number) {
    Pool& pool = pools_[number];
    if (pool.users != 0 || pool.tables.empty()) {
      continue;
    }
    bpf_map_delete_elem(maps_.pools, &number);
    for (const unwind::Table* table : pool.tables) {
      uploaded_.erase(table);
    }
    kernel_bytes_ -= pool.bytes;
    pool = {};
  }
}

bool BpfTables::write_mappings(uint32_t pid, const Process& process,
                               const std::vector<gpuprof_bpf_mapping>& entries) const {
  if (entries.empty()) {
    bpf_map_delete_elem(maps_.mappings, &pid);
    return true;
  }
  const UniqueFd map =
      create_inner_map("gpuprof_maps", sizeof(gpuprof_bpf_mapping), entries.size() + 1, BPF_F_INNER_MAP);
  if (!worked("make a map for mappings", map.get() >= 0)) {
    return false;
  }
  static_assert(sizeof(gpuprof_bpf_mappings) == sizeof(gpuprof_bpf_mapping));
  const gpuprof_bpf_mappings head{entries.size(), process.read_ns, process.number, process.generation, {}};
  for (uint32_t i = 0; i <= entries.size(); ++i) {
    const void* entry = i == 0 ? static_cast<const void*>(&head) : &entries[i - 1];
    if (!worked("write a mapping", bpf_map_update_elem(map.get(), &i, entry, BPF_ANY) == 0)) {
      return false;
    }
  }
  const int fd = map.get();
  return worked("add the mappings of a process", bpf_map_update_elem(maps_.mappings, &pid, &fd, BPF_ANY) == 0);
}

void BpfTables::write_process(uint32_t pid, const Process& process) const {
  gpuprof_bpf_process value{};
  value.number = process.number;
  value.image = process.image;
  value.read_ns = process.read_ns;
  value.frame_bytes = frame_bytes(process.python);
  value.code_bytes = code_bytes(process.python);
  value.python = process.python;
  value.python_threads = process.python_threads;
  if (value.frame_bytes == 0 || value.code_bytes == 0) {
    value.python.version = 0;  // disables Python frames, because no real interpreter has objects of this size
  }
  (void)worked("add a process", bpf_map_update_elem(maps_.processes, &pid, &value, BPF_ANY) == 0);
}

// Process numbers start again after 65535. Then the cache of rules is cleared, because it may hold rules of earlier
// processes.
uint32_t BpfTables::next_number() {
  const auto taken = [&](uint32_t number) {
    return std::any_of(processes_.begin(), processes_.end(),
                       [&](const auto& entry) { return entry.second.number == number; });
  };
  do {
    if (++last_number_ > kMaxNumber) {
      last_number_ = 1;
      constexpr uint64_t kNothing[2] = {0, 0};
      for (uint32_t i = 0; i < maps_.cached_rules; ++i) {
        bpf_map_update_elem(maps_.rule_cache, &i, kNothing, BPF_ANY);
      }
    }
  } while (taken(last_number_));
  return last_number_;
}

BpfTables::TablePointer BpfTables::vdso_table(const std::vector<uint8_t>& image) {
  if (image.empty()) {
    return nullptr;
  }
  const auto found =
      std::find_if(vdsos_.begin(), vdsos_.end(), [&](const auto& known) { return known.first == image; });
  if (found != vdsos_.end()) {
    return found->second;
  }
  // A kernel has one vdso, but a process can map other bytes under its name.
  constexpr size_t kMaxVdsos = 16;
  if (vdsos_.size() >= kMaxVdsos) {
    return nullptr;
  }
  return vdsos_.emplace_back(image, unwind::Table::build(std::span<const uint8_t>(image))).second;
}

}  // namespace gpuprof::record
