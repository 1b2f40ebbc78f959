#include "record/process/process_table.h"

#include <fcntl.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/files/file.h"
#include "record/process/ancestry.h"
#include "record/process/rank.h"

namespace gpuprof::record {
namespace {

constexpr uint64_t kRefreshIntervalNs = 20'000'000;
constexpr uint64_t kChangedIntervalNs = 100'000'000;
constexpr size_t kMaxFormer = 16;
constexpr uint64_t kCheckIntervalNs = 1'000'000'000;
constexpr size_t kMaxCommand = 4096;  // limit in bytes, because some command lines have megabytes
constexpr size_t kMaxEnvironment = size_t{1} << 20;

std::string read_proc(uint32_t pid, const char* file, size_t limit) {
  return read_text("/proc/" + std::to_string(pid) + "/" + file, limit);
}

void describe(uint32_t pid, ProcessImage& image) {
  image.ppid = static_cast<uint32_t>(parent_of(static_cast<pid_t>(pid)));
  image.name = read_proc(pid, "comm", 64);
  while (!image.name.empty() && image.name.back() == '\n') {
    image.name.pop_back();
  }
  image.command = read_proc(pid, "cmdline", kMaxCommand);
  while (!image.command.empty() && image.command.back() == '\0') {
    image.command.pop_back();
  }
  std::replace(image.command.begin(), image.command.end(), '\0', ' ');
  image.rank = rank_of(read_proc(pid, "environ", kMaxEnvironment));
}

bool same(const std::vector<symbolize::Mapping>& a, const std::vector<symbolize::Mapping>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& one, const auto& other) {
    return one.start == other.start && one.end == other.end && one.offset == other.offset && one.file == other.file &&
           one.gone == other.gone;
  });
}

}  // namespace

ProcessTable::ProcessTable(const MemoryBudget* memory) : memory_(memory), files_(symbolize::make_file_cache()) {}

std::shared_ptr<ProcessGuard> ProcessTable::guard_of(uint32_t pid) const {
  const auto known = guards_.find(pid);
  return known == guards_.end() ? nullptr : known->second;
}

ProcessTable::Entry ProcessTable::make(uint32_t pid) {
  Entry entry;
  entry.guard = guard_of(pid);
  auto image = std::make_shared<ProcessImage>();
  auto maps = std::make_shared<symbolize::ProcessMaps>(pid, files_);
  if (entry.guard && entry.guard->state() == ProcessGuard::State::same) {
    describe(pid, *image);
    if (!MemoryBudget::limits(memory_)) {
      maps->refresh();
    }
    if (entry.guard->state() != ProcessGuard::State::same) {  // exec, changed rights, or a new process with this pid
      *image = {};
      maps = std::make_shared<symbolize::ProcessMaps>(pid, files_);
    }
  }
  image->id = profile::ProcessId{next_id_++};
  image->pid = pid;
  image->start_ns = monotonic_ns();
  entry.image = std::move(image);
  entry.since_ns = maps->read_ns();
  entry.maps = std::move(maps);
  entry.next_check_ns = monotonic_ns() + kCheckIntervalNs;
  return entry;
}

ProcessTable::Entry& ProcessTable::by_pid(uint32_t pid) {
  const auto found = by_pid_.find(pid);
  return found != by_pid_.end() ? found->second : by_pid_.emplace(pid, make(pid)).first->second;
}

ProcessTable::Entry& ProcessTable::on_source(uint32_t pid, std::string_view backend) {
  Entry* entry = &by_pid(pid);
  if (entry->backends.contains(backend)) {
    *entry = make(pid);
  }
  entry->backends.emplace(backend);
  return *entry;
}

// Creates a new object, because the writer thread may be reading the old one. `anew`: also if the mappings are
// unchanged.
bool ProcessTable::read(Entry& entry, uint64_t now, bool anew) {
  if (MemoryBudget::limits(memory_)) {
    entry.former.clear();
    entry.next_check_ns = now + kCheckIntervalNs;
    entry.last_read_ns = now;
    return false;
  }
  const auto is_same = [&entry] { return entry.guard && entry.guard->state() == ProcessGuard::State::same; };
  auto maps = is_same() ? entry.maps->newer() : nullptr;
  if (maps && !entry.guard->was_same()) {
    maps.reset();
  }
  entry.alive = maps != nullptr;
  entry.last_read_ns = now;
  entry.read_took_ns = monotonic_ns() - now;
  entry.next_check_ns = now + kCheckIntervalNs;
  if (!entry.alive) {
    return false;
  }
  const bool changed = !same(maps->mappings(), entry.maps->mappings());
  if (changed) {
    entry.former.push_back({std::exchange(entry.since_ns, maps->read_ns()), entry.maps});
    if (entry.former.size() > kMaxFormer) {
      entry.former.pop_front();
    }
  }
  if (changed || anew) {
    entry.maps = std::move(maps);
  }
  return changed || anew;
}

bool ProcessTable::read_again(Entry& entry) {
  const uint64_t now = monotonic_ns();
  return now >= entry.last_read_ns + kRefreshIntervalNs && read(entry, now);
}

bool ProcessTable::read_anew(Entry& entry) {
  const uint64_t now = monotonic_ns();
  const uint64_t pause = std::max(kRefreshIntervalNs, 20 * entry.read_took_ns);
  return now >= entry.last_read_ns + pause && (read(entry, now, true) || !entry.alive);
}

std::shared_ptr<const symbolize::ProcessMaps> ProcessTable::other_view(const Entry& entry, uint64_t read_ns,
                                                                       std::span<const uint64_t> addresses) {
  const auto former = std::find_if(entry.former.rbegin(), entry.former.rend(),
                                   [&](const auto& one) { return one.since_ns <= read_ns; });
  if (read_ns >= entry.since_ns || former == entry.former.rend()) {
    return nullptr;
  }
  const bool other = std::any_of(addresses.begin(), addresses.end(), [&](uint64_t address) {
    const symbolize::Mapping* was = former->maps->find(address);
    const symbolize::Mapping* is = entry.maps->find(address);
    return was != nullptr && is != nullptr &&
           (was->file != is->file || was->offset - was->start != is->offset - is->start);
  });
  return other ? former->maps : nullptr;
}

bool ProcessTable::on_changed(Entry& entry) {
  const uint64_t now = monotonic_ns();
  const uint64_t next = entry.last_read_ns + kChangedIntervalNs;
  if (now >= next) {
    return read(entry, now);
  }
  entry.next_check_ns = std::min(entry.next_check_ns, next);
  return false;
}

bool ProcessTable::know_mappings(Entry& entry, std::span<const uint64_t> addresses) {
  const auto unknown = [&] {
    return std::count_if(addresses.begin(), addresses.end(),
                         [&](uint64_t address) { return entry.maps->find(address) == nullptr; });
  };
  const auto before = unknown();
  const uint64_t now = monotonic_ns();
  if (now < (before == 0 ? entry.next_check_ns : entry.next_refresh_ns)) {
    return entry.alive;
  }
  read(entry, now);
  if (before != 0 && unknown() >= before) {
    entry.next_refresh_ns = now + kRefreshIntervalNs;
  }
  return entry.alive;
}

void ProcessTable::forget(uint32_t pid) {
  by_pid_.erase(pid);
  guards_.erase(pid);
}

}  // namespace gpuprof::record
