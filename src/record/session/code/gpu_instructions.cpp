#include "record/session/code/gpu_instructions.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "symbolize/gpu/disassembler.h"
#include "symbolize/gpu/sass_slice.h"

namespace gpuprof::record {
namespace {

// Time limit for all functions of a recording. nvdisasm takes 0.5 s per function, during which the user waits for the
// prompt.
constexpr uint64_t kTimeNs = 4'000'000'000;
constexpr size_t kMostFunctions = 8;
// add_cause() runs for at most this many code locations per function.
constexpr size_t kMostWaits = 64;

// Adds the CUDA toolkit's folder to PATH, because the toolkit's installer does not do so.
std::string disassembler_path() {
  const char* const path = std::getenv("PATH");
  return std::string(path == nullptr ? "" : path) + ":/usr/local/cuda/bin";
}

class Function {
 public:
  Function(Correlator& correlator, GpuLines& code, const SampledFunction& sampled)
      : correlator_(correlator), code_(code), sampled_(sampled) {}

  void add(const std::vector<symbolize::GpuInstruction>& instructions) {
    const bool is_sass = code_.is_cubin(sampled_.source, sampled_.module);
    const std::span<const symbolize::GpuInstruction> sass(instructions.data(), is_sass ? instructions.size() : 0);
    const symbolize::SassSlice slice(sass);
    size_t waits = 0;
    for (const SampledPlace& place : sampled_.places) {
      const auto found = std::lower_bound(instructions.begin(), instructions.end(), place.offset,
                                          [](const auto& one, uint64_t offset) { return one.offset < offset; });
      if (found == instructions.end() || found->offset != place.offset) {
        continue;
      }
      profile::GpuInstruction made{.place = place.place, .text = name_id(correlator_.names().intern(found->text))};
      if (is_sass && ++waits <= kMostWaits) {
        add_cause(slice, place, made);
      }
      correlator_.gpu_code().add(made);
    }
  }

 private:
  // Adds the nearest instruction whose result the sampled instruction may wait for.
  void add_cause(const symbolize::SassSlice& slice, const SampledPlace& place, profile::GpuInstruction& made) {
    const auto waits = slice.waits_for(place.offset, correlator_.names().text(place.reason));
    if (waits.producers.empty()) {
      return;
    }
    const symbolize::SassProducer& producer = waits.producers.front();
    made.waits_for =
        correlator_.gpu_code().intern(sampled_.in, sampled_.name, producer.offset,
                                      code_.frames(sampled_.source, sampled_.module, sampled_.name, producer.offset));
    if (profile::index(made.waits_for) != 0) {
      made.what = name_id(correlator_.names().intern(symbolize::sass_kind_word(producer.kind)));
    }
  }

  Correlator& correlator_;
  GpuLines& code_;
  const SampledFunction& sampled_;
};

}  // namespace

void add_gpu_instructions(Correlator& correlator, GpuLines& code) {
  const auto functions = correlator.most_sampled(kMostFunctions);
  const auto disassembler = functions.empty() ? std::nullopt : symbolize::Disassembler::find(disassembler_path());
  const uint64_t until = monotonic_ns() + kTimeNs;
  for (const SampledFunction& function : functions) {
    const uint64_t now = monotonic_ns();
    if (now >= until) {
      return;
    }
    const symbolize::ReaderLimits limits{
        .time = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::nanoseconds(until - now))};
    const auto instructions = code.instructions(function.source, function.module, function.name, disassembler, limits);
    Function(correlator, code, function).add(instructions);
  }
}

}  // namespace gpuprof::record
