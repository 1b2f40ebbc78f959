// What is left of a name when all is taken away that compilers, autotuners and caches change from build to build.
#pragma once

#include <string>
#include <string_view>

namespace gpuprof::compare {

// Of a GPU kernel: without return type, template arguments, parameters, "[clone ...]", the numbers of lambdas; without
// what Triton appends ("_0d1d2d3de", "__1e2c", a trailing "_12"); hashes, tile sizes and numbers of stages become "#".
// "[copy HtoD]" stays as it is. Never empty for a name that is not. Linear in the name, of which at most kMostNameBytes
// are looked at: two longer ones are alike if they begin alike.
std::string normalized_kernel(std::string_view name);

// Of a CPU function: without template arguments, parameters, "[clone ...]" and the numbers of lambdas.
std::string normalized_function(std::string_view name);

inline constexpr size_t kMostNameBytes = 16384;

}  // namespace gpuprof::compare
