#include "cupti/cubin.h"

#include <elf.h>

#include <cstring>

namespace gpuprof::injection::cupti {
namespace {

// A cubin has a section named after each of its functions. This function is a part of CUDA's device runtime. So if its
// section exists, the device runtime is linked in.
constexpr char kDeviceLaunch[] = "__cudaCDP2LaunchDevice";

}  // namespace

bool can_launch_kernels(const char* cubin, size_t size) {
  Elf64_Ehdr header;
  if (cubin == nullptr || size < sizeof(header)) {
    return false;
  }
  memcpy(&header, cubin, sizeof(header));
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shentsize != sizeof(Elf64_Shdr) ||
      header.e_shoff > size || header.e_shstrndx >= (size - header.e_shoff) / sizeof(Elf64_Shdr)) {
    return false;
  }
  Elf64_Shdr names;
  memcpy(&names, cubin + header.e_shoff + header.e_shstrndx * sizeof(names), sizeof(names));
  return names.sh_offset <= size && names.sh_size <= size - names.sh_offset &&
         memmem(cubin + names.sh_offset, names.sh_size, kDeviceLaunch, sizeof(kDeviceLaunch) - 1) != nullptr;
}

}  // namespace gpuprof::injection::cupti
