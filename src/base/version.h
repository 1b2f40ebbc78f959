// The version of this gpuprof, from CMake's project().
#pragma once

#include <string_view>

namespace gpuprof {

std::string_view version();

// The git commit that it was built from, "33c7669b1c2d", with ", dirty" when files had been changed. Empty where it was
// built from a tarball. cmake/Commit.cmake writes this function.
std::string_view commit();

}  // namespace gpuprof
