// Fuzzes the parser of nvdisasm's output, and the search for the instructions that a stall waits for. The search must
// be repeatable, and find only instructions of the stall's function, each once.
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string_view>
#include <vector>

#include "symbolize/gpu/sass_slice.h"

namespace {

using namespace gpuprof::symbolize;

constexpr size_t kMostAsked = 64;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

void look(const SassSlice& slice, const std::set<uint64_t>& offsets, uint64_t offset, std::string_view reason) {
  const SassWaits found = slice.waits_for(offset, reason);
  require(found.producers.size() <= SassSlice::kMostProducers);
  std::set<uint64_t> once;
  for (const SassProducer& each : found.producers) {
    require(offsets.contains(each.offset) && once.insert(each.offset).second);
    require(!sass_kind_word(each.kind).empty());
  }
  require(slice.waits_for(offset, reason).producers.size() == found.producers.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  CubinFunction function;
  function.name = "k";
  function.size = 65536;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<GpuInstruction> all = parse_disassembly(text, function);
  std::set<uint64_t> offsets;
  for (const GpuInstruction& each : all) {
    const SassInstruction parsed = parse_sass(each.text);
    require((parsed.writes & parsed.may_write).none());
    require(parsed.understood || (parsed.reads.none() && parsed.writes.none()));
    offsets.insert(each.offset);
  }
  const SassSlice slice(all);
  for (size_t i = 0; i < all.size() && i < kMostAsked; ++i) {
    for (const char* reason : {"long_scoreboard", "short_scoreboard_not_issued", "wait", "barrier"}) {
      look(slice, offsets, all[i].offset, reason);
    }
  }
  return 0;
}
