#include "symbolize/elf/byte_source.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace gpuprof::symbolize {

ByteSource ByteSource::file(int fd) {
  ByteSource source;
  struct stat status {};
  if (fd >= 0 && ::fstat(fd, &status) == 0 && status.st_size > 0) {
    source.fd_ = fd;
    source.size_ = static_cast<uint64_t>(status.st_size);
  }
  return source;
}

ByteSource ByteSource::memory(std::span<const uint8_t> bytes) {
  ByteSource source;
  source.bytes_ = bytes;
  source.size_ = bytes.size();
  return source;
}

size_t ByteSource::read_some(uint64_t offset, void* buffer, size_t size) const {
  if (offset >= size_ || size == 0) {
    return 0;
  }
  size = static_cast<size_t>(std::min<uint64_t>(size, size_ - offset));
  if (fd_ < 0) {
    std::memcpy(buffer, bytes_.data() + offset, size);
    return size;
  }
  size_t done = 0;
  while (done < size) {
    const ssize_t n = ::pread(fd_, static_cast<char*>(buffer) + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      break;
    }
    done += static_cast<size_t>(n);
  }
  return done;
}

bool ByteSource::read_range(uint64_t offset, uint64_t size, uint64_t limit, std::vector<uint8_t>& out) const {
  out.clear();
  if (size > limit || offset > size_ || size > size_ - offset) {
    return false;
  }
  out.resize(size);
  if (!read(offset, out.data(), out.size())) {
    out.clear();
    return false;
  }
  return true;
}

std::string ByteSource::read_string(uint64_t offset, uint64_t end, size_t limit) const {
  std::string text;
  std::array<char, 256> chunk{};
  while (offset < end && text.size() < limit) {
    const auto want = std::min<uint64_t>({chunk.size(), end - offset, limit - text.size()});
    const size_t got = read_some(offset, chunk.data(), want);
    const size_t length = ::strnlen(chunk.data(), got);
    text.append(chunk.data(), length);
    if (length < got || got < want) {
      break;
    }
    offset += got;
  }
  return text;
}

}  // namespace gpuprof::symbolize
