// Fuzzes call frame information as a section, as a loaded module, as a file and as a cached table. Nothing beyond the
// input may be read, and a table must have the same rules as the section that it was made from.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <span>
#include <vector>

#include "unwind/cache/table_file.h"
#include "unwind/cfi.h"
#include "unwind/table.h"

namespace {

using namespace gpuprof::unwind;

constexpr uint64_t kAddress = 0x10000;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

class Sink final : public RuleSink {
 public:
  void on_rule(uint64_t pc, uint64_t rule) override {
    require(GPUPROF_UNWIND_RULE_KIND(rule) <= GPUPROF_UNWIND_END);
    require(GPUPROF_UNWIND_RULE_FP(rule) <= GPUPROF_UNWIND_FP_AT_FP);
    if (pcs_.size() < 64) {
      pcs_.push_back(pc);
    }
  }
  [[nodiscard]] const std::vector<uint64_t>& pcs() const { return pcs_; }

 private:
  std::vector<uint64_t> pcs_;
};

// Reads the input as a loaded module, with .eh_frame_hdr at its beginning, in its middle, at its end, or missing.
void module(const Bytes& bytes, const std::vector<uint64_t>& pcs) {
  for (const uint64_t header : {kAddress, kAddress + bytes.size / 2, kAddress + bytes.size, uint64_t{0}}) {
    for (const uint64_t pc : pcs) {
      rule_of(bytes, header, pc);
    }
    rule_of(bytes, header, kAddress + bytes.size / 3);
    rule_of(bytes, header, 0);
  }
}

void check_table(const Table& table) {
  require(table.pcs().size() == table.rule_indexes().size() && !table.pcs().empty());
  require(table.pages().size() == table.page_count() + 1);
  for (size_t row = 0; row < table.pcs().size(); ++row) {
    require(row == 0 || table.pcs()[row - 1] < table.pcs()[row]);
    require(table.find(table.base() + table.pcs()[row]) == table.rules()[table.rule_indexes()[row]]);
  }
}

void table_file(std::span<const uint8_t> bytes) {
  TableFile::decode(bytes, {});
  // Fixes the checksum, so that the rest of the decoder is reached.
  std::vector<uint8_t> sealed(bytes.begin(), bytes.end());
  TableFile::seal(sealed);
  TableFile::Source source{};
  if (sealed.size() >= 32 + source.size()) {
    std::memcpy(source.data(), sealed.data() + 32, source.size());
  }
  if (const auto table = TableFile::decode(sealed, source); table) {
    check_table(*table);
    require(TableFile::decode(TableFile::encode(*table, source), source) != nullptr);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::span<const uint8_t> rest(data + 1, size - 1);
  const Bytes bytes{rest.data(), rest.size(), kAddress};
  Sink sink;
  switch (data[0] % 4) {
    case 0:
      read_section(bytes, Section::eh_frame, sink);
      break;
    case 1:
      read_section(bytes, Section::debug_frame, sink);
      break;
    case 2:
      table_file(rest);
      break;
    default:
      if (const auto table = Table::build(rest); table) {
        check_table(*table);
      }
  }
  module(bytes, sink.pcs());
  return 0;
}
