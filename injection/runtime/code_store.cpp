#include "runtime/code_store.h"

#include <sys/mman.h>

#include <cstring>

#include "base/atomics.h"
#include "base/map_once.h"
#include "ipc/emit.h"
#include "runtime/lifecycle.h"

namespace gpuprof::injection {
namespace {

constexpr uint32_t kMaxModules = 1U << 16;
constexpr uint32_t kMaxTries = 64;
// Limit on the code that is stored but not sent; also the recorder's limit for one object.
constexpr size_t kMaxKeptBytes = size_t{256} << 20;

struct Module {
  uint32_t used;
  uint32_t refused;
  uint64_t key;
};

// Header of a module's stored code. Each module has its own mapping, in which the code follows the header.
struct StoredCode {
  StoredCode* next;
  Module* module;
  gpuprof_code_kind kind;
  size_t size;
};

struct KeptCodes {
  uint32_t lock;
  Module* modules;  // hash table; a module's number is its index plus one
  StoredCode* first;
  StoredCode* last;
  size_t kept_bytes;
};
constinit KeptCodes code = {};

// Finds a module. With `add`, adds it if it is missing. Returns null if it is missing or the table is full. Needs the
// lock.
Module* find(uint64_t key, bool add) {
  Module* modules = map_once(&code.modules, kMaxModules);
  for (uint32_t i = 0; modules != nullptr && i < kMaxTries; ++i) {
    Module& module = modules[(key + i) % kMaxModules];
    if (module.used != 0 && module.key == key) {
      return &module;
    }
    if (module.used == 0) {
      if (!add) {
        return nullptr;
      }
      module = {1, 0, key};
      return &module;
    }
  }
  return nullptr;
}

uint64_t number_of(const Module* module) {
  return static_cast<uint64_t>(module - code.modules) + 1;
}

void release(StoredCode* kept) {
  munmap(kept, sizeof(*kept) + kept->size);
}

StoredCode* copy_of(gpuprof_code_kind kind, const void* bytes, size_t size) {
  void* memory = mmap(nullptr, sizeof(StoredCode) + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return nullptr;
  }
  auto* kept = static_cast<StoredCode*>(memory);
  *kept = {nullptr, nullptr, kind, size};
  memcpy(kept + 1, bytes, size);
  return kept;
}

// Queues a copy of the code. Returns false if the size limit is reached or memory is exhausted. Needs the lock.
bool append(Module* module, gpuprof_code_kind kind, const void* bytes, size_t size) {
  StoredCode* kept = size <= kMaxKeptBytes - code.kept_bytes ? copy_of(kind, bytes, size) : nullptr;
  if (kept == nullptr) {
    return false;
  }
  kept->module = module;
  (code.last != nullptr ? code.last->next : code.first) = kept;
  code.last = kept;
  code.kept_bytes += kept->size;
  return true;
}

StoredCode* take_first() {
  StoredCode* kept = nullptr;
  if (try_lock_bounded(&code.lock)) {
    kept = code.first;
    if (kept != nullptr) {
      code.first = kept->next;
      code.last = code.first != nullptr ? code.last : nullptr;
      code.kept_bytes -= kept->size;
    }
    unlock(&code.lock);
  }
  return kept;
}

}  // namespace

void forget_code() {
  for (StoredCode* kept = take_first(); kept != nullptr; kept = take_first()) {
    release(kept);
  }
  if (try_lock_bounded(&code.lock)) {
    if (code.modules != nullptr) {
      // Zeroes the table without unmapping it.
      madvise(code.modules, kMaxModules * sizeof(Module), MADV_DONTNEED);
    }
    unlock(&code.lock);
  }
}

void store_code(gpuprof_code_kind kind, uint64_t key, const void* bytes, size_t size) {
  bool kept = false;
  if (try_lock_bounded(&code.lock)) {
    if (find(key, false) != nullptr) {
      kept = true;
    } else if (Module* added = find(key, true); added != nullptr) {
      kept = append(added, kind, bytes, size);
      added->refused = kept ? 0 : 1;
    }
    unlock(&code.lock);
  }
  if (!kept) {
    lost(GPUPROF_LOSS_DETAIL, 1);
  }
}

void send_stored_code() {
  while (!recorder_silent()) {
    StoredCode* kept = take_first();
    if (kept == nullptr) {
      return;
    }
    const Code object = {kept->kind, number_of(kept->module), kept + 1, kept->size};
    if (!send_code(recorder_address(), source(), object)) {
      store_relaxed(&kept->module->refused, 1U);
      lost(GPUPROF_LOSS_DETAIL, 1);
    }
    release(kept);
  }
}

uint64_t module_of_code(uint64_t key) {
  uint64_t number = 0;
  if (try_lock_bounded(&code.lock)) {
    if (const Module* module = find(key, false); module != nullptr && load_relaxed(&module->refused) == 0) {
      number = number_of(module);
    }
    unlock(&code.lock);
  }
  return number;
}

}  // namespace gpuprof::injection
