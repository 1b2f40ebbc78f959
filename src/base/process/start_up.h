// Recognizes the functions that start programs and threads.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace gpuprof {

// Returns whether libc calls this function before main, or before the function of a new thread.
inline bool is_start_up_function(std::string_view name) {
  constexpr std::string_view kNames[] = {"_start",           "__clone",      "clone",        "__clone3",      "clone3",
                                         "__clone_internal", "start_thread", "thread_start", "_dl_start_user"};
  return name.starts_with("__libc_start_") || std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace gpuprof
