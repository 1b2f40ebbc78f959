// Finds the modules that the loader has loaded into this process.
#pragma once

#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/unique_fd.h"
#include "unwind/cfi.h"

namespace gpuprof::unwind {

struct OwnModule {
  Bytes bytes;
  uint64_t header = 0;  // address of .eh_frame_hdr; 0 if it or the module is missing
  uint64_t bias = 0;

  [[nodiscard]] uint64_t rule_at(uint64_t pc) const { return header == 0 ? 0 : rule_of(bytes, header, pc); }

  static OwnModule at(uint64_t address) {
    OwnModule found;
    Search search{address, &found};
    ::dl_iterate_phdr(&visit, &search);
    return found;
  }

 private:
  struct Search {
    uint64_t address;
    OwnModule* found;
  };

  static int visit(dl_phdr_info* info, size_t, void* data) {
    auto& search = *static_cast<Search*>(data);
    uint64_t end = 0;
    uint64_t begin = UINT64_MAX;
    bool inside = false;
    OwnModule module;
    module.bias = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = info->dlpi_phdr[i];
      const uint64_t at = info->dlpi_addr + segment.p_vaddr;
      if (segment.p_type == PT_LOAD) {
        inside = inside || (search.address >= at && search.address - at < segment.p_memsz);
        begin = std::min(begin, at);
        // Writable segments come last and are excluded, as there may be a hole next to them.
        end = (segment.p_flags & PF_W) != 0 ? end : std::max(end, at + segment.p_memsz);
      } else if (segment.p_type == PT_GNU_EH_FRAME) {
        module.header = at;
      }
    }
    if (!inside || end <= begin) {
      return 0;
    }
    module.bytes = {reinterpret_cast<const uint8_t*>(begin), end - begin, begin};  // NOLINT(performance-no-int-to-ptr)
    *search.found = module;
    return 1;
  }
};

// Returns the path of the file of this process whose path contains `part`; empty if there is none. Does not return a
// path that an emulator translates, because other programs get the result.
inline std::string own_file(const char* part) {
  struct Search {
    const char* part;
    std::string path;
  } search{part, {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        if (std::strstr(info->dlpi_name, wanted.part) == nullptr) {
          return 0;
        }
        const UniqueFd fd(::open(info->dlpi_name, O_RDONLY | O_CLOEXEC));
        char path[4096] = {};
        const ssize_t size = ::readlink(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), path, sizeof(path) - 1);
        wanted.path.assign(path, size > 0 ? static_cast<size_t>(size) : 0);
        return 1;
      },
      &search);
  return search.path;
}

}  // namespace gpuprof::unwind
