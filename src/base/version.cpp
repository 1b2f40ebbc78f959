#include "base/version.h"

namespace gpuprof {

std::string_view version() {
  return GPUPROF_VERSION;
}

std::string_view commit() {
  return
#include "commit.inc"
      ;
}

}  // namespace gpuprof
