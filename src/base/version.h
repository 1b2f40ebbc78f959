// The version of this gpuprof, from project() in CMakeLists.txt.
#pragma once

#include <string_view>

namespace gpuprof {

std::string_view version();

// The git commit of the build: "33c7669b1c2d", plus ", dirty" after changes; empty for a tarball. See Commit.cmake.
std::string_view commit();

}  // namespace gpuprof
