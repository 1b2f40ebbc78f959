// Fuzzes sources of names other than ELF files: lines of /proc/PID/maps, /tmp/perf-PID.map, and line tables of Python
// code objects. The first byte selects the source.
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "symbolize/maps_line.h"
#include "symbolize/perf_map.h"
#include "symbolize/python_lines.h"

namespace {

using namespace gpuprof::symbolize;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

template <typename Use>
void each_line(std::string_view text, Use use) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    use(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// Formats the mapping as the kernel prints it in /proc/PID/maps.
std::string printed(const MapsLine& line) {
  char numbers[128];
  std::snprintf(numbers, sizeof numbers, "%" PRIx64 "-%" PRIx64 " r-%cp %" PRIx64 " %x:%x %" PRIu64 " ", line.start,
                line.end, line.executable ? 'x' : '-', line.offset, gnu_dev_major(line.device),
                gnu_dev_minor(line.device), line.inode);
  std::string text = numbers;
  for (const char c : line.path) {
    text += c == '\n' ? std::string("\\012") : std::string(1, c);
  }
  return text;
}

void maps_lines(std::string_view text) {
  each_line(text, [](std::string_view line) {
    MapsLine parsed;
    if (!parse_maps_line(line, parsed)) {
      return;
    }
    require(parsed.start < parsed.end && parsed.path.size() <= line.size());
    MapsLine again;
    require(parse_maps_line(printed(parsed), again));
    require(again.start == parsed.start && again.end == parsed.end && again.offset == parsed.offset &&
            again.device == parsed.device && again.inode == parsed.inode && again.executable == parsed.executable &&
            again.path == parsed.path);
  });
}

class File {
 public:
  File() : fd_(::mkstemp(path_)) { require(fd_ >= 0); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { ::unlink(path_); }
  void write(std::string_view text) const {
    require(::ftruncate(fd_, 0) == 0);
    append(text, 0);
  }
  void append(std::string_view text, size_t at) const {
    require(::pwrite(fd_, text.data(), text.size(), static_cast<off_t>(at)) == static_cast<ssize_t>(text.size()));
  }
  [[nodiscard]] std::string path() const { return path_; }

 private:
  char path_[32] = "/tmp/gpuprof-fuzz-XXXXXX";
  int fd_;
};

// Returns the numbers at the beginnings of lines, which may be addresses of functions.
std::vector<uint64_t> addresses_in(std::string_view text) {
  constexpr size_t kMost = 64;
  std::vector<uint64_t> addresses = {0, 1, UINT64_MAX};
  each_line(text, [&](std::string_view line) {
    const std::string begin(line.substr(0, 20));
    const uint64_t address = std::strtoull(begin.c_str(), nullptr, 16);
    if (addresses.size() < kMost) {
      addresses.insert(addresses.end(), {address, address + 1, address - 1});
    }
  });
  return addresses;
}

// Reading a file in steps, while a compiler appends to it, must give the same result as reading it once.
void perf_map(std::string_view text) {
  static const File file;
  ReadingBudget budget({}, {});
  PerfMap at_once(file.path(), ::geteuid());
  PerfMap in_parts(file.path(), ::geteuid());
  file.write(text.substr(0, text.size() / 2));
  in_parts.open({});
  require(in_parts.is_open());
  in_parts.refresh(budget);
  file.append(text.substr(text.size() / 2), text.size() / 2);
  in_parts.refresh(budget);
  at_once.open({});
  at_once.refresh(budget);
  for (const uint64_t address : addresses_in(text)) {
    require(at_once.find(address) == in_parts.find(address));
  }
}

void python(std::span<const uint8_t> bytes) {
  if (bytes.size() < 3) {
    return;
  }
  constexpr uint32_t kVersion3 = 0x03000000;
  PythonLines lines;
  lines.version = kVersion3 | static_cast<uint32_t>(bytes[0] % 16) << 16U;
  lines.first_line = bytes[1] | static_cast<uint32_t>(bytes[2]) << 24U;
  lines.table = bytes.subspan(3);
  for (const uint32_t offset : {0U, 2U, 100U, 65536U, UINT32_MAX - 1, UINT32_MAX}) {
    const uint32_t line = python_line(lines, offset);
    require(line <= INT32_MAX || line == lines.first_line);
    require(line == python_line(lines, offset));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::span<const uint8_t> rest(data + 1, size - 1);
  const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
  switch (data[0] % 3) {
    case 0:
      maps_lines(text);
      break;
    case 1:
      perf_map(text);
      break;
    default:
      python(rest);
  }
  return 0;
}
