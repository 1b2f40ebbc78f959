#include "symbolize/gpu/xe_disassembler.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>

namespace gpuprof::symbolize {
namespace {

// Newest first. The process that disassembles has no LD_LIBRARY_PATH, so it finds them only in the system's folders.
constexpr std::array<const char*, 2> kLibraries = {"libiga64.so.2", "libiga64.so.1"};
constexpr size_t kMaxText = 1024;
constexpr size_t kMaxCode = size_t{16} << 20;

using Context = void*;
struct ContextOptions {
  size_t bytes;
  uint32_t version;
};
struct DisassembleOptions {
  uint32_t bytes;  // size of this struct; in older libraries it lacks the last field
  uint32_t formatting;
  uint32_t reserved[2];
  uint32_t decoding;
  uint32_t base;
};
constexpr uint32_t kOlderBytes = sizeof(DisassembleOptions) - sizeof(uint32_t);
constexpr uint32_t kNumericLabels = 1;
constexpr int kSuccess = 0;
constexpr int kVersionError = 7;
using LabelName = const char* (*)(int32_t, void*);
using Create = int (*)(const ContextOptions*, Context*);
using Release = int (*)(Context);
using Disassemble = int (*)(Context, const DisassembleOptions*, const void*, LabelName, void*, char**);

uint32_t version_of(GpuPlatform platform) {
  constexpr auto version = [](uint32_t major, uint32_t minor) { return major << 24U | minor; };
  switch (platform) {
    case GpuPlatform::xe:
      return version(1, 0);
    case GpuPlatform::xe_hp:
      return version(1, 1);
    case GpuPlatform::xe_hpg:
      return version(1, 2);
    case GpuPlatform::xe_hpc:
      return version(1, 4);
    case GpuPlatform::xe2:
      return version(2, 0);
    case GpuPlatform::xe3:
      return version(3, 0);
    case GpuPlatform::unknown:
      break;
  }
  return 0;
}

void* open_library() {
  for (const char* name : kLibraries) {
    if (void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL); library != nullptr) {
      return library;
    }
  }
  return nullptr;
}

class Library {
 public:
  explicit Library(GpuPlatform platform) {
    void* const library = open_library();
    if (library == nullptr || platform == GpuPlatform::unknown) {
      return;
    }
    const auto create = reinterpret_cast<Create>(::dlsym(library, "iga_context_create"));
    disassemble_ = reinterpret_cast<Disassemble>(::dlsym(library, "iga_context_disassemble_instruction"));
    release_ = reinterpret_cast<Release>(::dlsym(library, "iga_context_release"));
    const ContextOptions options{sizeof(options), version_of(platform)};
    usable_ =
        create != nullptr && disassemble_ != nullptr && release_ != nullptr && create(&options, &context_) == kSuccess;
  }
  ~Library() {
    if (usable_) {
      release_(context_);
    }
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  [[nodiscard]] bool usable() const { return usable_; }

  // Returns the instruction as text, which is valid until the next call. Returns null if the bytes are not an
  // instruction.
  const char* text(const void* instruction) {
    char* text = nullptr;
    int status = disassemble_(context_, &options_, instruction, nullptr, nullptr, &text);
    if (status == kVersionError && options_.bytes != kOlderBytes) {
      options_.bytes = kOlderBytes;
      status = disassemble_(context_, &options_, instruction, nullptr, nullptr, &text);
    }
    return status == kSuccess ? text : nullptr;
  }

 private:
  Disassemble disassemble_ = nullptr;
  Release release_ = nullptr;
  Context context_ = nullptr;
  DisassembleOptions options_{sizeof(DisassembleOptions), kNumericLabels, {0, 0}, 0, 0};
  bool usable_ = false;
};

std::vector<uint8_t> read_code(int file) {
  std::vector<uint8_t> bytes;
  std::array<uint8_t, 65536> chunk{};
  while (bytes.size() < kMaxCode) {
    const ssize_t got = ::pread(file, chunk.data(), chunk.size(), static_cast<off_t>(bytes.size()));
    if (got <= 0) {
      break;
    }
    bytes.insert(bytes.end(), chunk.begin(), chunk.begin() + got);
  }
  return bytes;
}

std::string plain(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, std::min({text.find("//"), text.find('\n'), kMaxText}))) {
    const bool blank = c == ' ' || c == '\t';
    if (!blank) {
      result += c;
    } else if (!result.empty() && result.back() != ' ') {
      result += ' ';
    }
  }
  if (result.ends_with(' ')) {
    result.pop_back();
  }
  return result;
}

}  // namespace

std::string find_xe_assembler() {
  void* const library = open_library();
  void* const function = library == nullptr ? nullptr : ::dlsym(library, "iga_context_create");
  Dl_info info = {};
  std::string path;
  if (function != nullptr && ::dladdr(function, &info) != 0 && info.dli_fname != nullptr) {
    path = info.dli_fname;
  }
  if (library != nullptr) {
    ::dlclose(library);
  }
  return path;
}

bool disassemble_xe(GpuPlatform platform, const std::function<bool()>& confine, int code, int output) {
  constexpr size_t kLong = 16;
  constexpr size_t kCompact = 8;
  Library library(platform);
  if (!library.usable() || !confine()) {
    return false;
  }
  std::vector<uint8_t> bytes = read_code(code);
  const size_t size = bytes.size();
  bytes.resize(size + kLong);  // pads a truncated last instruction with zeros
  for (size_t at = 0; size - at >= kCompact;) {
    // A bit in each instruction's first word marks compact instructions.
    const bool compact = (bytes[at + 3] & 0x20U) != 0;
    if (!compact && size - at < kLong) {
      break;
    }
    if (const char* const text = library.text(bytes.data() + at); text != nullptr) {
      ::dprintf(output, "%zx\t%s\n", at, plain(text).c_str());
    }
    at += compact ? kCompact : kLong;
  }
  return true;
}

std::vector<GpuInstruction> parse_xe_disassembly(std::string_view text) {
  std::vector<GpuInstruction> instructions;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    GpuInstruction made;
    const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), made.offset, 16);
    const std::string_view behind = line.substr(static_cast<size_t>(rest - line.data()));
    const bool in_order = instructions.empty() || instructions.back().offset < made.offset;
    if (error == std::errc() && behind.size() > 1 && behind.front() == '\t' && in_order) {
      made.text = behind.substr(1, kMaxText);
      instructions.push_back(std::move(made));
    }
  }
  return instructions;
}

std::vector<GpuInstruction> xe_instructions(std::span<const std::byte> kernel, GpuPlatform platform,
                                            const ReaderLimits& limits) {
  if (platform == GpuPlatform::unknown || kernel.empty() || kernel.size() > kMaxCode) {
    return {};
  }
  const std::vector<std::string> arguments = {std::string(kDisassembleXe), std::string(platform_name(platform))};
  return parse_xe_disassembly(run_on_code(std::string(kOwnProgram), arguments, code_file(kernel).get(), limits));
}

GpuPlatform platform_of(uint64_t number) {
  return number <= static_cast<uint64_t>(GpuPlatform::xe3) ? static_cast<GpuPlatform>(number) : GpuPlatform::unknown;
}

GpuPlatform platform_of(std::string_view name) {
  for (auto platform = GpuPlatform::xe; platform <= GpuPlatform::xe3;
       platform = static_cast<GpuPlatform>(static_cast<uint8_t>(platform) + 1)) {
    if (platform_name(platform) == name) {
      return platform;
    }
  }
  return GpuPlatform::unknown;
}

}  // namespace gpuprof::symbolize
