// Loads and unloads modules while records of their kernels are still pending, with and without graphs. Each kernel
// has its own name, so a profile can be compared with what was launched.
//
//   example_cuda_modules [--rounds N]
#include "modules.h"
#include "setup.h"

namespace {

// PTX of a kernel that counts to 200. The driver compiles it.
std::string ptx_of(const std::string& name) {
  return ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry " + name +
         "() {\n"
         "  .reg .pred more;\n"
         "  .reg .u32 count;\n"
         "  mov.u32 count, 0;\n"
         "again:\n"
         "  add.u32 count, count, 1;\n"
         "  setp.lt.u32 more, count, 200;\n"
         "  @more bra again;\n"
         "  ret;\n"
         "}\n";
}

}  // namespace

int main(int argc, char** argv) {
  const long rounds = option(argc, argv, "--rounds", 4);
  check(cudaFree(nullptr), "no CUDA device");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream), "cudaStreamCreate");
  churn::run(rounds, stream, ptx_of);
  return 0;
}
