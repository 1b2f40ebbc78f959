// Finds the loaded file that contains an address, without the loader's lock, so it is callable at any moment.
#pragma once

#include <cstdint>

#include "unwind/cfi.h"
#include "wire/wire.h"

namespace gpuprof::injection {

struct Module {
  uint64_t begin;  // mapped addresses, [begin, end)
  uint64_t end;
  uint64_t header;    // address of the module's .eh_frame_hdr
  uint64_t identity;  // a value that differs for most files that are loaded to the same address one after the other
};

// Returns false if no file with .eh_frame_hdr contains `pc`. Callable from any thread and signal handler.
bool find_module(uint64_t pc, Module* module);

struct ModuleParts {
  unwind::Bytes tables;  // the segment that holds the module's unwind tables
  uint64_t marks[4];     // each is the address of 16 bytes that differ between files; 0: unused
};
constexpr size_t kMarkBytes = 16;

// Returns false if the module was unloaded.
bool find_parts(const Module& module, ModuleParts* parts);

// Returns a hash of the bytes at the marks. It differs for files that are loaded to the same address later. Returns 0
// if the module was unloaded.
uint64_t fingerprint_of(const ModuleParts& parts);

// Returns a value that distinguishes the file from all others that may be loaded at the same address.
uint64_t content_of(const Module& module, uint64_t fingerprint);

// Fills in a MODULE record (except header and number) for a module on this thread's stack. `path` has
// GPUPROF_WIRE_MAX_PATH bytes. Returns false if no file is mapped there.
bool describe_module(const Module& module, const ModuleParts& parts, gpuprof_module* record, char* path);

// Returns how many libraries were loaded and unloaded so far. Takes the loader's lock.
uint64_t count_loads();

// Returns a number that changes whenever the loader loads or unloads a file, or 0 if it is unknown. So if the number is
// the same as before, find_module() and fingerprint_of() return the same. Takes no lock.
uint64_t loads_so_far();

// If glibc has no _dl_find_object() (before 2.35), find_module() finds only modules that were loaded at the last call
// of refresh_modules(). Never call refresh_modules() at a launch.
void refresh_modules();

// Resets the list in a forked child, because at the fork another thread may have been changing it.
void reset_modules();

// Disables the use of _dl_find_object, for tests.
void use_module_list();

}  // namespace gpuprof::injection
