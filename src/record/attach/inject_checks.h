// What must be so before code can be brought into a process, and where in it that is done.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "record/attach/inject_thread.h"
#include "symbolize/process_maps.h"

namespace gpuprof::record {

// The process is of our kind of processor, can reach our socket, and may be traced as far as can be told before
// trying.
Status check_process(uint32_t pid);

// What opens libraries in it.
struct Loader {
  std::shared_ptr<symbolize::MappedFile> library;  // that holds the functions
  uint64_t open = 0;                               // dlopen
  uint64_t error = 0;                              // dlerror; 0: not found
};
// `stop`: ends the search with an error.
Result<Loader> find_loader(const symbolize::ProcessMaps& maps, const std::function<bool()>& stop);

// Stops a thread that waits in the kernel, or else one that runs code in which no lock of libc's or of the loader's can
// be held. Tries for five seconds, or until `stop` says so.
Result<TracedThread> stop_safe_thread(const TracedIdentity& who, symbolize::ProcessMaps& maps,
                                      const std::function<bool()>& stop);

// Where a function of a mapped file lies in the process; 0 if it is not there, or `stop` ended the search.
uint64_t symbol_address(const symbolize::ProcessMaps& maps, const symbolize::MappedFile& file, std::string_view symbol,
                        const std::function<bool()>& stop = {});

}  // namespace gpuprof::record
