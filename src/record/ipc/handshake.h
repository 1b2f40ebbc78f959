// The first words of a process that connects: nothing else of it is looked at before they are right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "wire/wire.h"

namespace gpuprof::record {

enum class HelloFault : uint8_t { none, size, not_ours, version, token, backend };

struct Hello {
  HelloFault fault = HelloFault::none;  // then the rest is not to be believed
  std::string backend;                  // letters, digits and '_'
  gpuprof_python_layout python{};       // as the process says: see is_python_layout()
};

// `packet` is all that came. How long this takes does not tell how much of the token was right.
Hello parse_hello(std::span<const std::byte> packet, std::string_view token);

}  // namespace gpuprof::record
