// The first words of a process that connects, to be recorded or to hand over code: nothing else of it is looked at
// before they are right.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "wire/code.h"
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

using CodeHash = std::array<uint64_t, 2>;

inline CodeHash code_hash_of(const gpuprof_code_hash& hash) {
  return {hash.words[0], hash.words[1]};
}

// What a process says of an object: nothing of it is known to be true.
struct CodeOffer {
  uint32_t source = 0;
  uint32_t kind = 0;  // enum gpuprof_code_kind
  uint64_t module = 0;
  uint64_t bytes = 0;
  CodeHash hash{};
};

// Nothing: it is no offer, or not one for us.
std::optional<CodeOffer> parse_code_offer(std::span<const std::byte> packet, std::string_view token);

}  // namespace gpuprof::record
