#include "base/version.h"

namespace gpuprof {

std::string_view version() {
  return GPUPROF_VERSION;
}

}  // namespace gpuprof
