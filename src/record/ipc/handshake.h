// Parses the first packet of a connecting process: a hello or an offer of GPU code. Until this packet has been found
// valid, the recorder reads nothing else from the process.
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
  HelloFault fault = HelloFault::none;  // if not `none`, the other fields are invalid
  std::string backend;                  // letters, digits and '_'
  gpuprof_python_layout python{};       // not validated; call is_python_layout()
};

// `packet` is everything that was received. The time to compare the token does not depend on its content.
Hello parse_hello(std::span<const std::byte> packet, std::string_view token);

using CodeHash = std::array<uint64_t, 2>;

inline CodeHash code_hash_of(const gpuprof_code_hash& hash) {
  return {hash.words[0], hash.words[1]};
}

// A process's unverified claims about a code object.
struct CodeOffer {
  uint32_t source = 0;
  uint32_t kind = 0;  // enum gpuprof_code_kind
  uint64_t module = 0;
  uint64_t bytes = 0;
  CodeHash hash{};
};

// Returns nullopt if the packet is not a valid offer with this token.
std::optional<CodeOffer> parse_code_offer(std::span<const std::byte> packet, std::string_view token);

}  // namespace gpuprof::record
