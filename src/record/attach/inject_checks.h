// Checks whether a process can be injected, and finds a thread in which that is safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "record/attach/inject_thread.h"
#include "symbolize/process_maps.h"

namespace gpuprof::record {

// Checks that the process has 64-bit code, can reach the recorder's socket and, as far as known, may be traced.
Status check_process(uint32_t pid);

// The functions that open libraries in the target.
struct Loader {
  std::shared_ptr<symbolize::MappedFile> library;  // holds the functions below
  uint64_t open = 0;                               // address of dlopen
  uint64_t error = 0;                              // address of dlerror; 0: not found
};
// Finds dlopen in the process. Once `stop` returns true, the search ends with an error.
Result<Loader> find_loader(const symbolize::ProcessMaps& maps, const std::function<bool()>& stop);

// Stops a thread that waits in the kernel, or one that runs code in which it can hold no lock of libc or the loader.
// Fails after 5 s, or once `stop` returns true.
Result<TracedThread> stop_safe_thread(const TracedIdentity& who, symbolize::ProcessMaps& maps,
                                      const std::function<bool()>& stop);

// Returns the function's address in the process; 0 if it was not found or `stop` ended the search.
uint64_t symbol_address(const symbolize::ProcessMaps& maps, const symbolize::MappedFile& file, std::string_view symbol,
                        const std::function<bool()>& stop = {});

}  // namespace gpuprof::record
