#pragma once

#include <cstdint>
#include <cstdio>

namespace gpuprof::injection {

struct UuidText {
  // `prefix` has at most 4 characters.
  UuidText(const char* prefix, const void* uuid) {
    const auto* bytes = static_cast<const uint8_t*>(uuid);
    char* to = text + snprintf(text, 5, "%s", prefix);
    for (int i = 0; i < 16; ++i) {
      const char* separator = i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
      to += snprintf(to, 4, "%s%02x", separator, bytes[i]);
    }
  }
  char text[48];
};

}  // namespace gpuprof::injection
