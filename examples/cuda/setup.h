// Code shared by the CUDA examples: checked calls and options with numbers.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <string>

inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    std::exit(1);
  }
}

// Returns the number after an option such as --launches, or `otherwise` if the option is missing. Exits if the number
// is not positive.
inline long option(int argc, char** argv, const std::string& name, long otherwise) {
  long value = otherwise;
  for (int i = 1; i + 1 < argc; ++i) {
    if (argv[i] == name) {
      value = std::strtol(argv[i + 1], nullptr, 10);
    }
  }
  if (value <= 0) {
    std::fprintf(stderr, "%s wants a positive number\n", name.c_str());
    std::exit(2);
  }
  return value;
}
