// Modules that come and go while their kernels' records are still on the way, eager and in graphs; each kernel has a
// name of its own, so a profile can be held against what was launched.
//
//   example_cuda_modules [--rounds N]
#include "modules.h"
#include "setup.h"

namespace {

// A module that the driver compiles: a kernel that counts to 200.
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
