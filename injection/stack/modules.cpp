#include "stack/modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/atomics.h"
#include "base/cpu_arch.h"
#include "base/keep_errno.h"
#include "base/map_once.h"
#include "base/safe_read.h"
#include "wire/hash.h"

namespace gpuprof::injection {
namespace {

// struct dl_find_object of glibc 2.35 and later, on architectures without dlfo_eh_dbase and dlfo_eh_count.
struct FoundObject {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  void* link_map;
  void* eh_frame;
  unsigned long long reserved[7];
};
using FindObject = int (*)(void*, FoundObject*);

FindObject find_object = nullptr;

// glibc keeps the number of files that it has ever loaded, and the number of files that are loaded, in _rtld_global.
// From 2.35 on, they are at kLoaderAddsOffset and kLoadedOffset. Each module scan checks this by dl_iterate_phdr(),
// which returns the same numbers. Unlike it, a launch can read them without a lock.
constexpr uint64_t kLoadedOffset = 8;  // _dl_ns[0]._ns_nloaded
const char* loader_numbers = nullptr;  // _rtld_global, if its numbers are right
uint32_t list_only = 0;

// If glibc has no _dl_find_object(), this table holds the modules of the last module scan. `version` is odd during a
// write. A reader that sees a change of `version` tries again. All accesses are acquires or releases, so none is
// reordered with `version`.
constexpr uint32_t kMaxListed = 4096;
struct List {
  uint32_t version;
  uint32_t lock;
  uint32_t count;
  uint64_t adds;  // number of files that the loader has loaded since the process started; `subs` counts unloaded ones
  uint64_t subs;
  Module modules[kMaxListed];  // sorted by address
};
List* list = nullptr;

struct Collected {
  List* to;
  uint32_t count;
  bool changed;
};

// Reads the memory of a module. A module from the table may be unmapped by now, so safe_read() reads it. A module that
// the loader has just reported is mapped.
bool read_module(uint64_t from, void* to, size_t bytes) {
  if (find_object == nullptr) {
    return safe_read(reinterpret_cast<const void*>(from), to, bytes);
  }
  memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return true;
}

// Hashes the bytes at parts.marks, which identify the module's file. Returns 0 if the module was unloaded.
uint64_t hash_marks(const ModuleParts& parts) {
  uint64_t hash = 1;
  for (const uint64_t mark : parts.marks) {
    uint64_t words[kMarkBytes / sizeof(uint64_t)];
    if (mark == 0) {
      continue;
    }
    if (!read_module(mark, words, sizeof(words))) {
      return 0;
    }
    hash ^= gpuprof_fold_multiply(hash ^ words[0], words[1] ^ GPUPROF_HASH_MULTIPLIER);
  }
  return hash | 1;
}

bool module_of(const dl_phdr_info& info, Module* module) {
  *module = {UINT64_MAX, 0, 0, info.dlpi_addr};
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    const uint64_t begin = info.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD) {
      module->begin = std::min(module->begin, begin & ~uint64_t{4095});
      module->end = std::max(module->end, begin + segment.p_memsz);
    } else if (segment.p_type == PT_GNU_EH_FRAME) {
      module->header = begin;
    } else if (segment.p_type == PT_DYNAMIC) {
      module->identity ^= begin;
    }
  }
  return module->header != 0 && module->begin < module->end;
}

int collect(dl_phdr_info* info, size_t size, void* data) {
  auto* collected = static_cast<Collected*>(data);
  if (collected->count == 0 && size >= offsetof(dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs)) {
    if (!collected->changed && info->dlpi_adds == collected->to->adds && info->dlpi_subs == collected->to->subs) {
      return 1;
    }
    collected->to->adds = info->dlpi_adds;
    collected->to->subs = info->dlpi_subs;
  }
  collected->changed = true;
  Module module;
  ModuleParts parts;
  if (collected->count < kMaxListed && module_of(*info, &module) && find_parts(module, &parts)) {
    module.identity ^= hash_marks(parts);
    collected->to->modules[collected->count++] = module;
  }
  return 0;
}

void copy_module(const Module& from, Module* to) {
  *to = {load_acquire(&from.begin), load_acquire(&from.end), load_acquire(&from.header), load_acquire(&from.identity)};
}

// Returns false if no module contains `pc`. Sets `*steady` to false if the table changed during the search, so that the
// result is not valid.
bool find_listed(const List& table, uint64_t pc, Module* module, bool* steady) {
  const uint32_t version = load_acquire(&table.version);
  uint32_t low = 0;
  uint32_t high = std::min(load_relaxed(&table.count), kMaxListed);
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (load_acquire(&table.modules[middle].begin) <= pc) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  bool found = false;
  if (low > 0) {
    copy_module(table.modules[low - 1], module);
    found = pc < module->end;
  }
  *steady = version % 2 == 0 && load_relaxed(&table.version) == version;
  return found;
}

void write_list(List* to, const List& from, uint32_t count) {
  const uint32_t version = load_relaxed(&to->version);
  store_relaxed(&to->version, version + 1);
  for (uint32_t i = 0; i < count; ++i) {
    const Module& module = from.modules[i];
    store_release(&to->modules[i].begin, module.begin);
    store_release(&to->modules[i].end, module.end);
    store_release(&to->modules[i].header, module.header);
    store_release(&to->modules[i].identity, module.identity);
  }
  store_release(&to->count, count);
  store_release(&to->version, version + 2);
}

// The mapping holds two tables: one that readers use, and one into which this function collects the modules.
void refresh_list() {
  List* seen = map_once(&list, 2);
  if (seen == nullptr || !swap_if(&seen->lock, 0, 1)) {
    return;  // memory is exhausted, or another thread is refreshing the table
  }
  List* scratch = seen + 1;
  Collected collected = {scratch, 0, seen->version == 0};
  dl_iterate_phdr(collect, &collected);
  if (collected.changed) {
    std::sort(scratch->modules, scratch->modules + collected.count,
              [](const Module& a, const Module& b) { return a.begin < b.begin; });
    write_list(seen, *scratch, collected.count);
  }
  unlock(&seen->lock);
}

// Returns the address of 16 bytes of the build id, or 0 if the notes lack a build id.
uint64_t find_build_id(uint64_t notes, uint64_t bytes) {
  constexpr uint32_t kOwner = 'G' | 'N' << 8 | 'U' << 16;
  struct {
    Elf64_Nhdr head;
    uint32_t owner;
  } note;
  constexpr uint64_t kMaxNotes = 1024;
  const uint64_t end = notes + std::min(bytes, kMaxNotes);
  for (uint64_t at = notes; at + sizeof(note) + kMarkBytes <= end;) {
    if (!read_module(at, &note, sizeof(note))) {
      return 0;
    }
    if (note.head.n_type == NT_GNU_BUILD_ID && note.head.n_namesz == sizeof(kOwner) && note.owner == kOwner &&
        note.head.n_descsz >= kMarkBytes) {
      return at + sizeof(note);
    }
    at += sizeof(note.head) + (uint64_t{note.head.n_namesz} + 3) / 4 * 4 + (uint64_t{note.head.n_descsz} + 3) / 4 * 4;
  }
  return 0;
}

// Returns the address of the last two entries of the .eh_frame_hdr table. Returns 0 if the table has an unusual format.
uint64_t find_last_entries(const Module& module, const unwind::Bytes& tables) {
  struct {
    uint8_t version, pointer, count, table;
    int32_t frames;
    uint32_t entries;
  } header = {};
  constexpr uint8_t kOffset4 = 0x1b;
  constexpr uint8_t kCount4 = 0x03;
  constexpr uint8_t kTable4 = 0x3b;
  constexpr uint64_t kEntryBytes = 8;
  const uint64_t offset = module.header - tables.address;
  if (tables.size - offset < sizeof(header) || !read_module(module.header, &header, sizeof(header)) ||
      header.version != 1 || header.pointer != kOffset4 || header.count != kCount4 || header.table != kTable4 ||
      header.entries < 2 || header.entries > (tables.size - offset - sizeof(header)) / kEntryBytes) {
    return 0;
  }
  return module.header + sizeof(header) + (uint64_t{header.entries} - 2) * kEntryBytes;
}

// Reads program headers one at a time, because the thread's stack may be small. Finds only headers in the first page of
// the file, where they usually are. For other files, the walk uses only .eh_frame_hdr.
class Segments {
 public:
  explicit Segments(const Module& module) : at_(module.begin) {
    Elf64_Ehdr elf;
    ok_ = read_module(module.begin, &elf, sizeof(elf));
    constexpr uint64_t kFirstPage = 4096;
    if (ok_ && memcmp(elf.e_ident, ELFMAG, SELFMAG) == 0 && elf.e_phentsize == sizeof(Elf64_Phdr) &&
        elf.e_phnum <= kFirstPage / sizeof(Elf64_Phdr) &&
        elf.e_phoff <= kFirstPage - elf.e_phnum * sizeof(Elf64_Phdr)) {
      left_ = elf.e_phnum;
      at_ += elf.e_phoff;
    }
  }
  [[nodiscard]] bool ok() const { return ok_; }

  bool next(Elf64_Phdr* segment) {
    ok_ = ok_ && (left_ == 0 || read_module(at_, segment, sizeof(*segment)));
    if (!ok_ || left_ == 0) {
      return false;
    }
    --left_;
    at_ += sizeof(*segment);
    return true;
  }

 private:
  uint64_t at_;
  uint32_t left_ = 0;
  bool ok_ = false;
};

// Finds the offset from file addresses to memory addresses. The first PT_LOAD segment is at the start of the module.
bool find_bias(const Module& module, uint64_t* bias) {
  Elf64_Phdr segment;
  for (Segments segments(module); segments.next(&segment);) {
    if (segment.p_type == PT_LOAD) {
      *bias = module.begin - (segment.p_vaddr & ~uint64_t{4095});
      return true;
    }
  }
  return false;
}

// Reads a text that may be unmapped. Its length is unknown, so it is read page by page. Returns its length, or 0 if it
// is not readable or too long.
uint32_t read_text(const char* from, char* to, uint32_t capacity) {
  uint32_t length = 0;
  while (length < capacity) {
    const char* at = from + length;
    const auto to_page_end = static_cast<uint32_t>(4096 - reinterpret_cast<uintptr_t>(at) % 4096);
    const uint32_t part = std::min(capacity - length, to_page_end);
    if (!safe_read(at, to + length, part)) {
      return 0;
    }
    if (const void* end = memchr(to + length, 0, part); end != nullptr) {
      return static_cast<uint32_t>(static_cast<const char*>(end) - to);
    }
    length += part;
  }
  return 0;
}

char* put_hex(char* to, uint64_t value) {
  int shift = 60;
  while (shift > 0 && value >> shift == 0) {
    shift -= 4;
  }
  for (; shift >= 0; shift -= 4) {
    *to++ = "0123456789abcdef"[value >> shift & 15U];
  }
  return to;
}

// Asks the kernel for the path of the file that is mapped at [start, end). This works for the program, and for
// libraries that were opened by a relative path. Returns the path's length, or 0 if it is unknown.
uint32_t read_mapped_path(uint64_t start, uint64_t end, char* path) {
  constexpr char kFolder[] = "/proc/self/map_files/";
  constexpr char kDeleted[] = " (deleted)";
  constexpr size_t kSuffix = sizeof(kDeleted) - 1;
  char link[sizeof(kFolder) + 33] = {};
  memcpy(link, kFolder, sizeof(kFolder));
  char* at = put_hex(link + sizeof(kFolder) - 1, start);
  *at++ = '-';
  put_hex(at, end);
  const KeepErrno keep_errno;
  const long got = syscall(SYS_readlinkat, AT_FDCWD, link, path, GPUPROF_WIRE_MAX_PATH);
  if (got <= 0 || got >= static_cast<long>(GPUPROF_WIRE_MAX_PATH) || path[0] != '/') {
    return 0;
  }
  const auto length = static_cast<size_t>(got);
  const bool deleted = length > kSuffix && memcmp(path + length - kSuffix, kDeleted, kSuffix) == 0;
  return static_cast<uint32_t>(length - (deleted ? kSuffix : 0));
}

void read_marks(const ModuleParts& parts, const Elf64_Phdr& segment, uint64_t begin, gpuprof_module* record) {
  for (int i = 0; i < GPUPROF_MODULE_MARKS; ++i) {
    const uint64_t offset = parts.marks[i] - begin;
    if (parts.marks[i] >= begin && offset < segment.p_filesz && segment.p_filesz - offset >= kMarkBytes &&
        read_module(parts.marks[i], record->marks[i].bytes, kMarkBytes)) {
      record->marks[i].offset = segment.p_offset + offset;
    }
  }
}

int take_loads(dl_phdr_info* info, size_t size, void* data) {
  if (size >= offsetof(dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs)) {
    *static_cast<uint64_t*>(data) = info->dlpi_adds + info->dlpi_subs;
  }
  return 1;
}

uint64_t adds_of(const char* numbers) {
  return load_acquire(reinterpret_cast<const uint64_t*>(numbers + kLoaderAddsOffset));
}

uint32_t loaded_of(const char* numbers) {
  return load_acquire(reinterpret_cast<const uint32_t*>(numbers + kLoadedOffset));
}

// Sets `*data` to null if it is not the address of the loader's numbers. They do not change during this call.
int check_numbers(dl_phdr_info* info, size_t size, void* data) {
  auto* numbers = static_cast<const char**>(data);
  if (size < offsetof(dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs) || adds_of(*numbers) != info->dlpi_adds ||
      loaded_of(*numbers) != info->dlpi_adds - info->dlpi_subs) {
    *numbers = nullptr;
  }
  return 1;
}

void verify_numbers(const char* numbers) {
  if (numbers != nullptr) {
    dl_iterate_phdr(check_numbers, static_cast<void*>(&numbers));
    store_release(&loader_numbers, numbers);
  }
}

// Returns null if the loader has no such numbers.
const char* find_numbers() {
  Dl_info info = {};
  ElfW(Sym)* symbol = nullptr;
  const void* numbers = dlsym(RTLD_DEFAULT, "_rtld_global");
  const bool large =
      numbers != nullptr && dladdr1(numbers, &info, reinterpret_cast<void**>(&symbol), RTLD_DL_SYMENT) != 0 &&
      symbol != nullptr && info.dli_saddr == numbers && symbol->st_size >= kLoaderAddsOffset + sizeof(uint64_t);
  return large ? static_cast<const char*>(numbers) : nullptr;
}

}  // namespace

uint64_t loads_so_far() {
  if (find_object != nullptr) {
    const char* numbers = load_acquire(&loader_numbers);
    constexpr uint32_t kLoadedBits = 24;
    return numbers == nullptr ? 0 : adds_of(numbers) << kLoadedBits | loaded_of(numbers) % (1U << kLoadedBits);
  }
  const List* table = load_acquire(&list);
  const uint32_t version = table == nullptr ? 1 : load_acquire(&table->version);
  return version % 2 != 0 ? 0 : version;
}

uint64_t content_of(const Module& module, uint64_t fingerprint) {
  return find_object == nullptr ? module.identity : fingerprint;
}

bool describe_module(const Module& module, const ModuleParts& parts, gpuprof_module* record, char* path) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const auto* map = reinterpret_cast<const link_map*>(module.identity);
  const char* name = nullptr;
  uint64_t bias = 0;
  if (find_object == nullptr || !safe_read(&map->l_name, &name, sizeof(name)) || !find_bias(module, &bias)) {
    return false;
  }
  record->start = record->end = 0;
  for (gpuprof_module_mark& mark : record->marks) {
    mark = {UINT64_MAX, {}};
  }
  Elf64_Phdr segment;
  for (Segments segments(module); segments.next(&segment);) {
    const uint64_t begin = bias + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || begin < module.begin || segment.p_filesz > module.end - begin) {
      continue;
    }
    read_marks(parts, segment, begin, record);
    if ((segment.p_flags & PF_X) != 0 && record->end == 0) {
      record->start = begin & ~(page - 1);
      record->end = (begin + segment.p_filesz + page - 1) & ~(page - 1);
      record->offset = segment.p_offset & ~(page - 1);
    }
  }
  record->path_bytes = record->end == 0 ? 0 : read_mapped_path(record->start, record->end, path);
  if (record->end != 0 && record->path_bytes == 0) {  // /proc is missing, or the mapping was split
    record->path_bytes = read_text(name, path, GPUPROF_WIRE_MAX_PATH);
  }
  return memchr(path, '/', record->path_bytes) != nullptr;  // false for the vdso, whose name has no slash
}

uint64_t count_loads() {
  uint64_t loads = 0;
  dl_iterate_phdr(take_loads, &loads);
  return loads;
}

bool find_parts(const Module& module, ModuleParts* parts) {
  *parts = {};
  parts->tables = {reinterpret_cast<const uint8_t*>(module.begin), module.end - module.begin, module.begin};
  parts->marks[2] = module.header;
  uint64_t bias = 0;
  Segments segments(module);
  if (find_bias(module, &bias)) {
    parts->marks[0] = module.begin + offsetof(Elf64_Ehdr, e_phoff);  // the 16 bytes are e_phoff and e_shoff
    Elf64_Phdr segment;
    while (segments.next(&segment)) {
      const uint64_t begin = bias + segment.p_vaddr;
      const bool inside = begin >= module.begin && begin < module.end && segment.p_filesz <= module.end - begin;
      if (segment.p_type == PT_LOAD && inside && module.header - begin < segment.p_filesz) {
        parts->tables = {reinterpret_cast<const uint8_t*>(begin), segment.p_filesz, begin};
      } else if (segment.p_type == PT_NOTE && inside && parts->marks[1] == 0) {
        parts->marks[1] = find_build_id(begin, segment.p_filesz);
      }
    }
  }
  parts->marks[3] = find_last_entries(module, parts->tables);
  return segments.ok();
}

// Returns a hash of the module's contents. Returns 1 for a module from a table of loaded modules: it may be unmapped by
// now, so its contents must not be read. Such modules differ only in `identity`.
uint64_t fingerprint_of(const ModuleParts& parts) {
  return find_object == nullptr ? 1 : hash_marks(parts);
}

bool find_module(uint64_t pc, Module* module) {
  if (find_object != nullptr) {
    FoundObject found;
    if (find_object(reinterpret_cast<void*>(pc), &found) != 0 || found.eh_frame == nullptr) {
      return false;
    }
    *module = {reinterpret_cast<uint64_t>(found.map_start), reinterpret_cast<uint64_t>(found.map_end),
               reinterpret_cast<uint64_t>(found.eh_frame), reinterpret_cast<uint64_t>(found.link_map)};
    return true;
  }
  const List* table = load_acquire(&list);
  constexpr int kTries = 1000;  // limited, because this may run in a signal handler that has interrupted the writer
  for (int i = 0; table != nullptr && i < kTries; ++i) {
    bool steady = false;
    const bool found = find_listed(*table, pc, module, &steady);
    if (steady) {
      return found;
    }
    cpu_pause();
  }
  return false;
}

void refresh_modules() {
  if (load_relaxed(&list_only) == 0 && find_object == nullptr) {
    find_object = reinterpret_cast<FindObject>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
    store_relaxed(&list_only, find_object == nullptr ? 1U : 0U);
    verify_numbers(find_object == nullptr ? nullptr : find_numbers());
    dlerror();  // clears the error of a failed dlsym(), so that the target's dlerror() does not return it
  }
  if (find_object == nullptr) {
    refresh_list();
  }
  verify_numbers(load_relaxed(&loader_numbers));
}

void reset_modules() {
  List* seen = load_acquire(&list);
  if (seen == nullptr) {
    return;
  }
  if (seen->version % 2 != 0) {
    store_release(&seen->count, 0U);
    store_release(&seen->version, seen->version + 1);
  }
  unlock(&seen->lock);
}

void use_module_list() {
  find_object = nullptr;
  store_relaxed(&list_only, 1U);
  refresh_modules();
}

}  // namespace gpuprof::injection
