#include "cupti/cubin.h"

#include <elf.h>

#include <cstring>
#include <random>
#include <string>

#include "catch.h"

using gpuprof::injection::cupti::can_launch_kernels;

namespace {

std::string cubin_with(const std::string& section) {
  Elf64_Ehdr header = {};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_shoff = sizeof(header);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 1;
  Elf64_Shdr names = {};
  names.sh_offset = sizeof(header) + sizeof(names);
  names.sh_size = section.size() + 1;
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) +
         std::string(reinterpret_cast<const char*>(&names), sizeof(names)) + section + '\0';
}

bool can_launch(const std::string& cubin) {
  return can_launch_kernels(cubin.data(), cubin.size());
}

}  // namespace

TEST_CASE("kernels can launch kernels if the device runtime is linked into their module") {
  CHECK(can_launch(cubin_with(".nv.info.__cudaCDP2LaunchDeviceV2")));
  CHECK_FALSE(can_launch(cubin_with(".nv.info._Z6parentPi")));
}

TEST_CASE("bytes that are not a module are read without a crash") {
  const std::string good = cubin_with(".nv.info.__cudaCDP2LaunchDeviceV2");
  CHECK_FALSE(can_launch_kernels(nullptr, 0));
  for (size_t length = 0; length < good.size() - 2; ++length) {
    CHECK_FALSE(can_launch(good.substr(0, length)));
  }
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good;
    for (int changes = 0; changes < 4; ++changes) {
      bytes[random() % (sizeof(Elf64_Ehdr) + sizeof(Elf64_Shdr))] = static_cast<char>(random());
    }
    static_cast<void>(can_launch(std::string(bytes)));  // the sanitizer checks the reads of this call
  }
}
