#include "record/ipc/mapped_code.h"

#include <sys/mman.h>
#include <unistd.h>

namespace gpuprof::record {

MappedCode::MappedCode(int fd, uint64_t offset, uint64_t bytes) {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t before = offset % page;
  void* const mapping =
      ::mmap(nullptr, before + bytes, PROT_READ, MAP_PRIVATE, fd, static_cast<off_t>(offset - before));
  if (bytes == 0 || mapping == MAP_FAILED) {
    return;
  }
  mapping_ = {static_cast<std::byte*>(mapping), before + bytes};
  bytes_ = mapping_.subspan(before);
}

MappedCode::~MappedCode() {
  if (!mapping_.empty()) {
    ::munmap(mapping_.data(), mapping_.size());
  }
}

}  // namespace gpuprof::record
