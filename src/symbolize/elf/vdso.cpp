#include "symbolize/elf/vdso.h"

#include <sys/auxv.h>

#include <cstring>
#include <sstream>
#include <string>

#include "base/files/file.h"
#include "symbolize/maps_line.h"

namespace gpuprof::symbolize {
namespace {

constexpr uint64_t kMaxVdsoBytes = 256 << 10;
constexpr size_t kMaxMapsBytes = 16 << 20;

std::vector<uint8_t> read_own() {
  const uint64_t start = ::getauxval(AT_SYSINFO_EHDR);
  std::istringstream maps(read_text("/proc/self/maps", kMaxMapsBytes));
  MapsLine line;
  for (std::string text; start != 0 && std::getline(maps, text);) {
    if (parse_maps_line(text, line) && line.start == start && line.end - start <= kMaxVdsoBytes) {
      std::vector<uint8_t> bytes(line.end - start);
      std::memcpy(bytes.data(), reinterpret_cast<const void*>(start), bytes.size());  // NOLINT: the vdso's address
      return bytes;
    }
  }
  return {};
}

}  // namespace

const std::vector<uint8_t>& own_vdso() {
  static const std::vector<uint8_t> bytes = read_own();
  return bytes;
}

}  // namespace gpuprof::symbolize
