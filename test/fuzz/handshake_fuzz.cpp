// Fuzzes the messages of a connecting process, and the parsing of its /proc/PID/stat and status.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include "base/process/credentials.h"
#include "record/ipc/handshake.h"
#include "record/process/ancestry.h"

namespace {

constexpr std::string_view kToken = "0123456789abcdef0123456789abcdef";

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

void check_hello(std::span<const std::byte> bytes) {
  using gpuprof::record::HelloFault;
  const auto hello = gpuprof::record::parse_hello(bytes, kToken);
  if (hello.fault != HelloFault::none) {
    require(hello.backend.empty() && hello.python.version == 0);
    return;
  }
  gpuprof_hello said{};
  require(bytes.size() == sizeof(said));
  std::memcpy(&said, bytes.data(), sizeof(said));
  require(said.magic == GPUPROF_WIRE_MAGIC && said.version == GPUPROF_WIRE_VERSION);
  require(std::string_view(said.token, sizeof(said.token)) == kToken);
  require(!hello.backend.empty() && hello.backend.size() < sizeof(said.backend));
  require(hello.backend == said.backend);
  require(gpuprof::record::parse_hello(bytes, {}).fault == HelloFault::token);
}

void check_code_offer(std::span<const std::byte> bytes) {
  const auto offer = gpuprof::record::parse_code_offer(bytes, kToken);
  if (!offer) {
    return;
  }
  gpuprof_code_offer said{};
  require(bytes.size() == sizeof(said));
  std::memcpy(&said, bytes.data(), sizeof(said));
  require(said.magic == GPUPROF_CODE_MAGIC && said.version == GPUPROF_WIRE_VERSION);
  require(std::string_view(said.token, sizeof(said.token)) == kToken);
  require(offer->kind != 0 && offer->kind < GPUPROF_CODE_KINDS && offer->bytes == said.bytes);
  require(!gpuprof::record::parse_code_offer(bytes, {}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  check_hello(bytes);
  check_code_offer(bytes);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  require(gpuprof::record::parse_parent(text) >= 0);
  if (const auto users = gpuprof::parse_users(text)) {
    require(text.find("\nUid:\t") != std::string_view::npos && text.find("\nGid:\t") != std::string_view::npos);
  }
  return 0;
}
