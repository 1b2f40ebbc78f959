// Which loaded file an address lies in, for code that may run at any moment: without the loader's lock.
#pragma once

#include <cstdint>

#include "unwind/cfi.h"
#include "wire/wire.h"

namespace gpuprof::injection {

struct Module {
  uint64_t begin;  // mapped addresses, [begin, end)
  uint64_t end;
  uint64_t header;    // of its .eh_frame_hdr
  uint64_t identity;  // differs for most files that come to the same place one after the other
};

// False: in none that has a .eh_frame_hdr. From any thread and signal handler.
bool find_module(uint64_t pc, Module* module);

// What is looked at in a module.
struct ModuleParts {
  unwind::Bytes tables;  // the segment that holds its unwind tables
  uint64_t marks[4];     // addresses of 16 bytes each that differ from file to file; 0: none
};
constexpr size_t kMarkBytes = 16;

// False: the module has gone meanwhile.
bool find_parts(const Module& module, ModuleParts* parts);

// A hash of the marks, by which a file is told from another one that is loaded to the same place later. 0: gone.
uint64_t fingerprint_of(const ModuleParts& parts);

// What tells the file apart from all others that may come to the same place.
uint64_t content_of(const Module& module, uint64_t fingerprint);

// What the recorder needs to know of a module that is on the calling thread's stack: fills in all but the header and
// the number. `path` has room for GPUPROF_WIRE_MAX_PATH bytes. False: the loader does not say which file it is.
bool describe_module(const Module& module, const ModuleParts& parts, gpuprof_module* record, char* path);

// How often files have been loaded and unloaded so far. Takes the loader's lock.
uint64_t count_loads();

// Off the launch path: where libc has no _dl_find_object (before 2.35), find_module() knows what was there at the last
// call of this.
void refresh_modules();

// A forked child: another thread may have been in the middle of a change.
void reset_modules();

// As if there were no such function: for tests.
void use_module_list();

}  // namespace gpuprof::injection
