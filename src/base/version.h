// The version of this gpuprof, from CMake's project().
#pragma once

#include <string_view>

namespace gpuprof {

std::string_view version();

}  // namespace gpuprof
