// Lays out the segments of a file in memory like the loader.
#pragma once

#include <elf.h>
#include <fcntl.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "symbolize/elf/byte_source.h"
#include "unwind/cfi.h"

namespace gpuprof::unwind {

struct LoadedImage {
  std::vector<uint8_t> memory;
  uint64_t bias = 0;    // added to the file's addresses
  uint64_t header = 0;  // address of .eh_frame_hdr in the layout; 0 if missing

  [[nodiscard]] Bytes module() const { return {memory.data(), memory.size(), bias}; }
  [[nodiscard]] uint64_t rule_at(uint64_t vaddr) const { return rule_of(module(), header, vaddr + bias); }

  static std::optional<LoadedImage> of(const std::string& path) {
    constexpr uint64_t kLimit = uint64_t{1} << 30;
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const symbolize::ByteSource source = symbolize::ByteSource::file(fd.get());
    Elf64_Ehdr header{};
    if (!fd || !source.read(0, &header, sizeof header)) {
      return std::nullopt;
    }
    LoadedImage image;
    image.bias = header.e_type == ET_DYN ? 0x7f0000000000 : 0;
    std::vector<Elf64_Phdr> segments(header.e_phnum);
    if (!source.read(header.e_phoff, segments.data(), segments.size() * sizeof(Elf64_Phdr))) {
      return std::nullopt;
    }
    for (const Elf64_Phdr& one : segments) {
      if (one.p_type == PT_GNU_EH_FRAME) {
        image.header = one.p_vaddr + image.bias;
      }
      if (one.p_type != PT_LOAD || one.p_vaddr + one.p_memsz > kLimit) {
        continue;
      }
      if (image.memory.size() < one.p_vaddr + one.p_memsz) {
        image.memory.resize(one.p_vaddr + one.p_memsz);
      }
      if (!source.read(one.p_offset, image.memory.data() + one.p_vaddr, one.p_filesz)) {
        return std::nullopt;
      }
    }
    return image;
  }
};

}  // namespace gpuprof::unwind
