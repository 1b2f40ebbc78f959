// Lower-case hexadecimal digits, of given or of random bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace gpuprof {

std::string hex_text(std::span<const uint8_t> bytes);

// Returns random digits, for an id that is unique and that nobody can guess. Returns "" if the kernel provides no
// random bytes.
std::string random_hex(size_t digits);

}  // namespace gpuprof
