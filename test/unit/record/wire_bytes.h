// Builds wire records in the same way as an injection library.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
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
  // Adds a STACK record. Its header states `claimed` words; 0 means the real number.
  WireBytes& stack(uint64_t id, uint16_t flags, const std::vector<uint64_t>& words, uint32_t claimed = 0) {
    const std::string_view text(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint64_t));
    return add(GPUPROF_RECORD_STACK,
               gpuprof_stack{{}, id, claimed != 0 ? claimed : static_cast<uint32_t>(words.size()), flags, 0}, text);
  }
  // Adds a STACK record of one word. Its header states `claimed` modules; 0 means the real number.
  WireBytes& stack_in(uint64_t id, uint64_t word, const std::vector<uint64_t>& modules, uint16_t claimed = 0) {
    std::vector<uint64_t> words = {word};
    words.insert(words.end(), modules.begin(), modules.end());
    const std::string_view text(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint64_t));
    return add(GPUPROF_RECORD_STACK,
               gpuprof_stack{{}, id, 1, 0, claimed != 0 ? claimed : static_cast<uint16_t>(modules.size())}, text);
  }
  static gpuprof_module module(uint32_t number) {
    gpuprof_module made{};
    made.module = number;
    made.start = 0x7f0000001000;
    made.end = 0x7f0000003000;
    made.offset = 0x1000;
    made.path_bytes = 10;
    for (gpuprof_module_mark& mark : made.marks) {
      mark.offset = UINT64_MAX;
    }
    made.marks[1] = {0x238, {1, 2, 3}};
    return made;
  }
  WireBytes& code(uint32_t id, const std::string& name, const std::string& file, const std::string& lines) {
    return add(GPUPROF_RECORD_CODE,
               gpuprof_code{{},
                            id,
                            3,
                            0x030c0000,
                            static_cast<uint32_t>(name.size()),
                            static_cast<uint32_t>(file.size()),
                            static_cast<uint32_t>(lines.size())},
               name + file + lines);
  }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace gpuprof::test
