// SHA-256 (FIPS 180-4), for hashes that browsers check, and for keys of caches. Do not use it for secrets.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpuprof {

std::array<uint8_t, 32> sha256(std::string_view bytes);
std::string base64(std::string_view bytes);  // RFC 4648, with padding

}  // namespace gpuprof
