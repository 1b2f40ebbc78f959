#include "record/ipc/handshake.h"

#include <algorithm>
#include <cstring>

namespace gpuprof::record {
namespace {

bool same_token(const char* said, std::string_view token) {
  if (token.size() != sizeof(gpuprof_hello::token)) {
    return false;  // no token was created, so no caller is accepted
  }
  unsigned difference = 0;
  for (size_t i = 0; i < token.size(); ++i) {
    difference |= static_cast<unsigned char>(said[i]) ^ static_cast<unsigned char>(token[i]);
  }
  return difference == 0;
}

// Returns whether the text is a valid name of a backend. The profile uses it as a part of other names.
bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

Hello parse_hello(std::span<const std::byte> packet, std::string_view token) {
  gpuprof_hello said{};
  if (packet.size() != sizeof(said)) {
    return {.fault = HelloFault::size, .backend = {}};
  }
  std::memcpy(&said, packet.data(), sizeof(said));
  if (said.magic != GPUPROF_WIRE_MAGIC) {
    return {.fault = HelloFault::not_ours, .backend = {}};
  }
  if (said.version != GPUPROF_WIRE_VERSION) {
    return {.fault = HelloFault::version, .backend = {}};
  }
  if (!same_token(said.token, token)) {
    return {.fault = HelloFault::token, .backend = {}};
  }
  const std::string_view backend(said.backend, ::strnlen(said.backend, sizeof(said.backend)));
  if (backend.size() == sizeof(said.backend) || !is_name(backend)) {
    return {.fault = HelloFault::backend, .backend = {}};
  }
  return {.backend = std::string(backend), .python = said.python};
}

std::optional<CodeOffer> parse_code_offer(std::span<const std::byte> packet, std::string_view token) {
  gpuprof_code_offer said{};
  if (packet.size() != sizeof(said)) {
    return std::nullopt;
  }
  std::memcpy(&said, packet.data(), sizeof(said));
  if (said.magic != GPUPROF_CODE_MAGIC || said.version != GPUPROF_WIRE_VERSION || !same_token(said.token, token) ||
      said.kind == 0 || said.kind >= GPUPROF_CODE_KINDS) {
    return std::nullopt;
  }
  return CodeOffer{said.source_id, said.kind, said.module, said.bytes, code_hash_of(said.hash)};
}

}  // namespace gpuprof::record
