#pragma once

#include <string_view>

namespace gpuprof {

constexpr std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace gpuprof
