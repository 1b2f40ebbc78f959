// The version of this gpuprof, from project() in CMakeLists.txt.
#pragma once

#include <string_view>

namespace gpuprof {

std::string_view version();

// The git commit of the build, "33c7669b1c2d", with ", dirty" if files had been changed. Empty for a build from a
// tarball. cmake/Commit.cmake generates this function.
std::string_view commit();

}  // namespace gpuprof
