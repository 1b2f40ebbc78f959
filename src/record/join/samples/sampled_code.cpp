#include "record/join/samples/sampled_code.h"

#include <algorithm>
#include <tuple>

namespace gpuprof::record {

bool SampledCode::may_come(const CodeLocation& at) const {
  const CodeReader* const reader = join_.options.code_reader;
  return reader != nullptr && at.module != 0 && reader->may_come(at.source, at.module);
}

NameIndex SampledCode::kernel_of(backend::SourceId source, uint64_t module, NameIndex function) {
  CodeReader* const reader = join_.options.code_reader;
  NameTable& names = producers_.names();
  const std::string kernel =
      reader == nullptr || module == 0 ? "" : reader->kernel_of(source, module, names.text(function));
  return kernel.empty() ? function : names.intern(kernel);
}

profile::GpuModuleId SampledCode::module_of(Code& code, const CodeLocation& at) {
  const std::pair key(at.source, at.module);
  if (const auto known = code.modules.find(key); known != code.modules.end()) {
    return known->second;
  }
  CodeReader* const reader = join_.options.code_reader;
  const CodeFacts* const facts = reader == nullptr || at.module == 0 ? nullptr : reader->facts(at.source, at.module);
  if (facts == nullptr) {
    return {};
  }
  return code.modules[key] = producers_.gpu_code().intern({.name = facts->name, .hash = facts->hash});
}

profile::GpuPlaceId SampledCode::place(const Source& source, const CodeLocation& at) {
  Code& code = code_[source.id];
  if (code.places.size() >= GpuCode::kMaxPlaces || !join_.memory().admit()) {
    const auto known = code.places.find(at);
    return known == code.places.end() ? profile::GpuPlaceId{} : known->second;
  }
  const auto [known, fresh] = code.places.emplace(at, profile::GpuPlaceId{});
  if (!fresh) {
    return known->second;
  }
  join_.memory().grew(sizeof(*known) + 4 * sizeof(void*));
  const profile::GpuModuleId module = module_of(code, at);
  const std::string function(producers_.names().text(at.function));
  std::vector<symbolize::SourceFrame> lines;
  if (CodeReader* const reader = join_.options.code_reader; reader != nullptr && at.module != 0) {
    lines = reader->frames(at.source, at.module, function, at.offset);
  }
  known->second = producers_.gpu_code().intern(module, function, at.offset, lines);
  return known->second;
}

void SampledCode::add_samples(const Source& source, const CodeLocation& at, profile::GpuPlaceId place, NameIndex reason,
                              uint64_t samples) {
  const auto& modules = code_[source.id].modules;
  const auto module = modules.find({at.source, at.module});
  if (profile::index(place) == 0 || module == modules.end()) {
    return;
  }
  const auto [known, fresh] = sampled_.try_emplace(place, Sampled{.at = at, .in = module->second, .reasons = {}});
  auto& reasons = known->second.reasons;
  const auto same = std::find_if(reasons.begin(), reasons.end(), [&](const auto& one) { return one.first == reason; });
  if (same != reasons.end()) {
    same->second += samples;
  } else {
    reasons.emplace_back(reason, samples);
    join_.memory().grew(sizeof(reasons.back()) + (fresh ? sizeof(*known) : 0));
  }
}

std::vector<SampledFunction> SampledCode::most_sampled(size_t most) const {
  std::map<std::tuple<backend::SourceId, uint64_t, NameIndex>, SampledFunction> functions;
  for (const auto& [place, code] : sampled_) {
    SampledPlace sampled{.place = place, .offset = code.at.offset};
    uint64_t largest = 0;
    for (const auto& [reason, samples] : code.reasons) {
      sampled.samples += samples;
      sampled.reason = samples > largest ? reason : sampled.reason;
      largest = std::max(largest, samples);
    }
    SampledFunction& function = functions[{code.at.source, code.at.module, code.at.function}];
    function.source = code.at.source;
    function.module = code.at.module;
    function.in = code.in;
    function.name = producers_.names().text(code.at.function);
    function.samples += sampled.samples;
    function.places.push_back(sampled);
  }
  std::vector<SampledFunction> ordered;
  for (auto& [key, function] : functions) {
    std::sort(function.places.begin(), function.places.end(), [](const SampledPlace& a, const SampledPlace& b) {
      return std::pair(b.samples, a.offset) < std::pair(a.samples, b.offset);
    });
    ordered.push_back(std::move(function));
  }
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const SampledFunction& a, const SampledFunction& b) { return a.samples > b.samples; });
  ordered.resize(std::min(ordered.size(), most));
  return ordered;
}

}  // namespace gpuprof::record
