// Removes from names what compilers, autotuners and caches change from build to build.
#pragma once

#include <string>
#include <string_view>

namespace gpuprof::compare {

// Normalizes a GPU kernel's name: removes the return type, template arguments, parameters, "[clone ...]", lambda
// numbers and Triton's suffixes ("_0d1d2d3de", "__1e2c", a trailing "_12"). Hashes, tile sizes and stage counts become
// "#". "[copy HtoD]" stays unchanged. The result is empty only for an empty name. Takes linear time, and only the first
// kMostNameBytes matter.
std::string normalized_kernel(std::string_view name);

// Normalizes a CPU function's name: removes template arguments, parameters, "[clone ...]" and lambda numbers.
std::string normalized_function(std::string_view name);

inline constexpr size_t kMostNameBytes = 16384;

}  // namespace gpuprof::compare
