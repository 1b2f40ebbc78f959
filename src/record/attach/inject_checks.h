// Checks whether gpuprof can inject a library into a process, and finds a thread in which that is safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "record/attach/inject_thread.h"
#include "symbolize/process_maps.h"

namespace gpuprof::record {

// Checks that the recorder may read what the process has loaded. Otherwise it can neither inject nor count launches.
Status check_readable(uint32_t pid);

// Checks that the process has 64-bit code and can reach the recorder's socket. Also fails if it is known that the
// recorder may not trace the process.
Status check_process(uint32_t pid);

struct Loader {
  std::shared_ptr<symbolize::MappedFile> library;
  uint64_t open = 0;
  uint64_t error = 0;  // 0: not found
};
// Fails if the process has no dlopen, or if `stop` returns true during the search.
Result<Loader> find_loader(const symbolize::ProcessMaps& maps, const std::function<bool()>& stop);

// Stops a thread that waits in the kernel, or that runs code in which it can hold no lock of libc or the loader. Fails
// after 5 s, or when `stop` returns true.
Result<TracedThread> stop_safe_thread(const TracedIdentity& who, symbolize::ProcessMaps& maps,
                                      const std::function<bool()>& stop);

// Returns the function's address in the process; 0: not found, or `stop` has ended the search.
uint64_t symbol_address(const symbolize::ProcessMaps& maps, const symbolize::MappedFile& file, std::string_view symbol,
                        const std::function<bool()>& stop = {});

}  // namespace gpuprof::record
