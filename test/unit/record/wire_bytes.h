// Builds wire records as an injection library would.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

#include "wire/wire.h"

namespace gpuprof::test {

class WireBytes {
 public:
  template <typename T>
  WireBytes& add(uint16_t type, T record, std::string_view text = {}) {
    const size_t bytes = (sizeof(T) + text.size() + 7) / 8 * 8;
    const gpuprof_record header{type, 0, static_cast<uint32_t>(bytes)};
    const size_t at = bytes_.size();
    bytes_.resize(at + bytes);
    std::memcpy(bytes_.data() + at, &record, sizeof(T));
    std::memcpy(bytes_.data() + at, &header, sizeof(header));
    if (!text.empty()) {
      std::memcpy(bytes_.data() + at + sizeof(T), text.data(), text.size());
    }
    return *this;
  }
  WireBytes& name(uint32_t id, std::string_view text) {
    return add(GPUPROF_RECORD_NAME, gpuprof_name{{}, id, static_cast<uint32_t>(text.size())}, text);
  }
  WireBytes& kernel(uint64_t correlation, uint64_t start, uint64_t end, uint32_t name_id) {
    gpuprof_gpu_op op{};
    op.correlation = correlation;
    op.start_ns = start;
    op.end_ns = end;
    op.name_id = name_id;
    return add(GPUPROF_RECORD_GPU_OP, op);
  }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace gpuprof::test
