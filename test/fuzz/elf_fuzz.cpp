// Fuzzes files that a target has mapped: symbols, build id, notes, compressed debug information and DWARF. libdw and
// liblzma are not sanitized, so only crashes reveal their errors.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "symbolize/elf/elf_functions.h"
#include "symbolize/elf/elf_image.h"
#include "symbolize/elf/elf_module.h"
#include "symbolize/process_maps.h"

namespace {

using namespace gpuprof::symbolize;

constexpr size_t kMaxAddresses = 32;
constexpr uint64_t kMebi = 1 << 20;
// These limits are above the size of any input, so no input is rejected for its size.
constexpr ReadingLimits kLimits{
    .debug_info_bytes = 16 * kMebi, .others_debug_info_bytes = 16 * kMebi, .symbols = 1 << 16};

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

// Returns addresses to look up: 0, the maximum, the input's middle and end, and each section's beginning and middle.
std::vector<uint64_t> addresses_in(const ElfImage& image, size_t size) {
  std::vector<uint64_t> addresses = {0, size / 2, size, UINT64_MAX};
  for (const ElfSection& section : image.sections()) {
    if (addresses.size() >= kMaxAddresses) {
      break;
    }
    addresses.push_back(section.header.sh_addr);
    addresses.push_back(section.header.sh_addr + section.header.sh_size / 2);
  }
  return addresses;
}

void look_for_functions(std::span<const uint8_t> bytes) {
  constexpr std::array<std::string_view, 3> kNames = {"main", "outer", "clEnqueueNDRangeKernel"};
  const std::vector<std::string_view> names(kNames.begin(), kNames.end());
  if (const auto found = find_functions(ByteSource::memory(bytes), names); found) {
    for (const ElfFunction& function : *found) {
      require(function.wanted < names.size() && function.file_offset < bytes.size());
    }
  }
}

void check_frames(ElfModule& module, const std::vector<uint64_t>& addresses) {
  for (const uint64_t address : addresses) {
    const std::vector<SymbolizedFrame> frames = module.frames(address, nullptr);
    require(!frames.empty() && !frames.front().name.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  look_for_functions(bytes);
  const auto image = ElfImage::parse(ByteSource::memory(bytes));
  if (!image) {
    return 0;
  }
  const std::vector<uint64_t> addresses = addresses_in(*image, size);
  for (const uint64_t address : addresses) {
    if (const auto vaddr = image->vaddr_of(address, 0); vaddr) {
      static_cast<void>(image->code_offset_of(*vaddr));
    }
  }
  ReadingBudget in_memory(kLimits, {});
  if (const auto module = ElfModule::of_memory({bytes.begin(), bytes.end()}, "[vdso]", in_memory); module) {
    check_frames(*module, addresses);
  }
  // libdw reads only files, so the input is written to a file in memory.
  const auto file = std::make_shared<MappedFile>();
  file->path = "/mapped/file.so";
  file->fd.reset(::memfd_create("fuzz", MFD_CLOEXEC));
  require(file->fd && ::write(file->fd.get(), data, size) == static_cast<ssize_t>(size));
  ReadingBudget budget(kLimits, {});
  if (const auto module = ElfModule::of_file(file, true, {}, budget); module) {
    check_frames(*module, addresses);
  }
  return 0;
}
