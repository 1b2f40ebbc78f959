// Launches kernels of PTX on the mock GPU (record --probe=blocks).
//
//   mock_blocks_app [--launches N] [--blocks N] [--shared BYTES] [--pause-us N] [--library] [--reset] [--refused]
//
// Each of two kernels is launched N times. --library: loads the PTX as a library. --reset: destroys the context before
// the end. --refused: the driver refuses the PTX if it is compiled by its linker. Exit status 1 if a launch had other
// arguments than the program gave it.
#include <cuda.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "check.h"
#include "mock_gpu.h"

namespace {

constexpr const char* kPtx = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry scale(.param .u64 scale_param_0, .param .u32 scale_param_1)
{
	ret;
}
.visible .entry copy(.param .u64 copy_param_0)
{
	ret;
}
)";

bool has(int argc, char** argv, const std::string& option) {
  for (int i = 1; i < argc; ++i) {
    if (argv[i] == option) {
      return true;
    }
  }
  return false;
}

unsigned number(int argc, char** argv, const std::string& option, unsigned otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (argv[i] == option) {
      return static_cast<unsigned>(std::strtoul(argv[i + 1], nullptr, 10));
    }
  }
  return otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned launches = number(argc, argv, "--launches", 10);
  const unsigned blocks = number(argc, argv, "--blocks", 9);
  const unsigned pause = number(argc, argv, "--pause-us", 0);
  const unsigned shared = number(argc, argv, "--shared", 0);
  const std::string ptx = has(argc, argv, "--refused") ? std::string(kPtx) + "// MOCK_REFUSE_PTX\n" : kPtx;
  CUfunction scale = nullptr;
  CUfunction copy = nullptr;
  gpuprof::mock_app::open_context();
  if (has(argc, argv, "--library")) {
    CUlibrary library = nullptr;
    CHECK(cuLibraryLoadData(&library, ptx.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    CHECK(cuLibraryGetKernel(reinterpret_cast<CUkernel*>(&scale), library, "scale"));
    CHECK(cuLibraryGetKernel(reinterpret_cast<CUkernel*>(&copy), library, "copy"));
  } else {
    CUmodule module = nullptr;
    CHECK(cuModuleLoadData(&module, ptx.c_str()));
    CHECK(cuModuleGetFunction(&scale, module, "scale"));
    CHECK(cuModuleGetFunction(&copy, module, "copy"));
  }
  uint64_t sum = 0;
  for (uint64_t i = 0; i < launches; ++i) {
    uint32_t factor = 2;
    void* of_scale[] = {&i, &factor};
    void* of_copy[] = {&i};
    CHECK(cuLaunchKernel(scale, blocks, 1, 1, 32, 1, 1, shared, nullptr, of_scale, nullptr));
    CHECK(cuLaunchKernel(copy, 2, 3, 1, 32, 1, 1, 0, nullptr, of_copy, nullptr));
    sum += 2 * i;
    usleep(pause);
  }
  CHECK(cuCtxSynchronize());
  if (has(argc, argv, "--reset")) {
    CHECK(cuDevicePrimaryCtxReset(0));
  }
  return mock_cuda_argument_sum() == sum ? 0 : 1;
}
