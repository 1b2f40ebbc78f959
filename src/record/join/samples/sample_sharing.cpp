#include "record/join/samples/sample_sharing.h"

#include <algorithm>
#include <string>

#include "record/process/gpu_code.h"

namespace gpuprof::record {
namespace {

constexpr const char* kNobody = "[unknown]";
constexpr uint64_t kLookNs = 200'000'000;         // from one try to the next
constexpr uint64_t kLongestNs = 600'000'000'000;  // that a kernel may run on after a window, and still be waited for
constexpr size_t kMaxRefusing = 65536;            // open windows; of more than these nothing is kept

uint64_t sum_of(const auto& counts) {
  uint64_t sum = 0;
  for (const auto& count : counts) {
    sum += count.samples;
  }
  return sum;
}

}  // namespace

void SampleSharing::on_samples(const Source& source, const backend::PlaceSamples& samples) {
  const uint64_t sum = sum_of(samples.reasons);
  if (!out_.admit(&source, sum)) {
    return;
  }
  const WindowKey key{source.id, samples.window};
  if (counts_ >= kMaxCounts || !join_.memory().admit()) {
    // Or they would be missing once more when the window is closed.
    if (open_.contains(key) || open_.size() < kMaxRefusing) {
      open_[key].told += sum;
    }
    out_.drop(&source, sum);
    return;
  }
  OpenWindow& window = open_[key];
  window.told += sum;
  auto& counts = window.functions[{samples.module, samples.function_id, samples.correlation}];
  for (const auto& reason : samples.reasons) {
    counts.push_back(
        {samples.offset, samples.address, reason.reason_id, reason.samples, samples.estimated, samples.low_address});
  }
  counts_ += samples.reasons.size();
  join_.memory().grew(samples.reasons.size() * sizeof(Count));
}

void SampleSharing::on_window(const Source& source, const backend::SampleWindow& window) {
  OpenWindow samples;
  if (auto found = open_.extract({source.id, window.window}); !found.empty()) {
    samples = std::move(found.mapped());
  }
  for (auto& [key, counts] : samples.functions) {
    waiting_.push_back({.source = source.id,
                        .module = std::get<0>(key),
                        .function_id = std::get<1>(key),
                        .correlation = std::get<2>(key),
                        .window = window,
                        .closed_ns = join_.now_ns,
                        .sampling = out_.sampling(window.period, window.unit),
                        .counts = std::move(counts)});
  }
  // What is missing did not fit into the ring.
  const uint64_t missing = window.dropped + (window.handed > samples.told ? window.handed - samples.told : 0);
  if (missing > 0 && out_.admit(&source, missing)) {
    out_.drop(&source, missing);
  }
  if (out_.admit(&source, window.foreign)) {
    join_.tally.coverage(source.id).samples_foreign(window.foreign);
  }
}

SampleSharing::Patience SampleSharing::patience_of(const Group& group, bool last) const {
  if (last || counts_ >= kMaxCounts) {
    return Patience::none;
  }
  return join_.now_ns < group.closed_ns + kTimesNs ? Patience::waits : Patience::enough;
}

void SampleSharing::settle(bool last, backend::SourceId only) {
  loaded_.settle();
  if (!last && join_.now_ns < next_look_ns_) {
    return;
  }
  next_look_ns_ = join_.now_ns + kLookNs;
  std::erase_if(waiting_, [&](Group& group) {
    const bool asked = only == 0 || group.source == only;
    const Patience patience = patience_of(group, last);
    const bool taken = asked && patience != Patience::waits && take(group, patience);
    counts_ -= taken ? group.counts.size() : 0;
    return taken;
  });
}

// Accounts for the samples. False: they have to wait.
bool SampleSharing::take(Group& group, Patience patience) {
  Source* source = parts_.producers.find(group.source);
  if (source == nullptr) {
    out_.drop(nullptr, sum_of(group.counts));
    return true;
  }
  if (group.function_id == 0) {
    return take_addresses(*source, group, patience);
  }
  if (group.correlation != 0 && !parts_.kernel_times.expects(group.source, group.correlation)) {
    // Of a launch that was not to be sampled, of which only a part is here; or there was no room to expect it.
    if (parts_.kernel_times.is_full()) {
      out_.drop(source, sum_of(group.counts));
    }
    return true;
  }
  const uint64_t waited = join_.now_ns - std::min(join_.now_ns, group.closed_ns);
  if (patience != Patience::none && waited < kCodeNs &&
      (!source->knows_name(group.function_id) || code_may_come(*source, group))) {
    return false;
  }
  std::vector<KernelShare> shares =
      shares_of(*source, group, patience, parts_.producers.names().text(source->name(group.function_id)));
  if (shares.empty() && patience != Patience::none && waited < kLongestNs) {
    return false;  // it may be running still
  }
  if (shares.empty()) {
    shares.push_back(unknown_work(*source, group));
    join_.tally.coverage(source->id).samples_without_launch(sum_of(group.counts));
  }
  give(*source, group, shares);
  return true;
}

// Each of its samples for itself: those that have to wait stay in the group.
bool SampleSharing::take_addresses(Source& source, Group& group, Patience patience) {
  if (patience != Patience::none && join_.now_ns < group.next_look_ns) {
    return false;
  }
  const uint64_t waited = join_.now_ns - std::min(join_.now_ns, group.closed_ns);
  // Less and less often, but before a run that has ended meanwhile is forgotten.
  group.next_look_ns = join_.now_ns + std::min(waited / 4, KernelTimes::kKeepNs / 2);
  AddressLookup lookup(loaded_, parts_.kernel_times, source, group.window);
  const size_t before = group.counts.size();
  std::erase_if(group.counts, [&](const Count& count) {
    const AddressLookup::Answer& answer = lookup.find(count.address, count.low_address);
    if (must_wait(answer, waited, patience)) {
      return false;
    }
    if (answer.ran.empty()) {
      give_to_nobody(source, group, count);
    } else {
      give(source, group, count, answer.ran);
    }
    return true;
  });
  const bool taken = group.counts.empty();
  counts_ -= before - group.counts.size();
  return taken;
}

// For code that is on its way, and for a kernel that may be running still.
bool SampleSharing::must_wait(const AddressLookup::Answer& answer, uint64_t waited, Patience patience) const {
  const CodeReader* const reader = join_.options.code_reader;
  const auto may_come = [reader](const Where& at) {
    return reader != nullptr && at.module != 0 && reader->may_come(at.source, at.module);
  };
  if (patience == Patience::none || answer.places.empty()) {
    return false;
  }
  return answer.ran.empty() ? waited < kLongestNs
                            : waited < kCodeNs && std::any_of(answer.places.begin(), answer.places.end(), may_come);
}

void SampleSharing::give(Source& source, const Group& group, const Count& count,
                         const std::vector<AddressLookup::Candidate>& candidates) {
  std::vector<uint64_t> weights;
  weights.reserve(candidates.size());
  for (const AddressLookup::Candidate& candidate : candidates) {
    weights.push_back(std::min(candidate.share.ns, UINT64_MAX / candidates.size()));  // one may be here several times
  }
  const auto parts = split_.split(count.samples, weights);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] > 0) {
      const AddressLookup::Candidate& to = candidates[i];
      const SampleKey key{.work = to.share.work,
                          .place = place(source, to.at),
                          .reason = source.name(count.reason_id),
                          .sampling = group.sampling,
                          .flags = candidates.size() > 1 || count.estimated ? profile::kSampleEstimated : 0};
      tally(source, to.at, key, parts[i]);
      out_.add(key, to.share.at_ns, parts[i], to.share.has_stack);
    }
  }
}

// The hardware samples whatever runs on the device: other processes, too, and what nobody has told of.
void SampleSharing::give_to_nobody(Source& source, const Group& group, const Count& count) {
  WorkKey work{.process = source.process(),
               .device = source.device(group.window.device),
               .name = parts_.producers.names().intern(kNobody)};
  out_.add({.work = parts_.rows.intern(work), .reason = source.name(count.reason_id), .sampling = group.sampling},
           group.window.start_ns, count.samples, false);
}

bool SampleSharing::code_may_come(const Source& source, const Group& group) const {
  const CodeReader* const reader = join_.options.code_reader;
  return reader != nullptr && std::any_of(group.counts.begin(), group.counts.end(), [&](const Count& count) {
           const Where at = where(source, group, count);
           return at.module != 0 && reader->may_come(at.source, at.module);
         });
}

// What has no module may be in another source's code.
SampleSharing::Where SampleSharing::where(const Source& source, const Group& group, const Count& count) const {
  if (group.module == 0 && count.address != 0) {
    if (const auto loaded = loaded_.find(source.process(), count.address, group.window.start_ns, group.window.end_ns)) {
      return *loaded;
    }
  }
  return {source.id, group.module, source.name(group.function_id), count.offset};
}

// As what its launch ran, or the function, or the kernel that it is a part of, in the window.
std::vector<KernelShare> SampleSharing::shares_of(const Source& source, const Group& group, Patience patience,
                                                  std::string_view function) {
  CodeReader* const reader = join_.options.code_reader;
  NameTable& names = parts_.producers.names();
  std::vector<NameIndex> kernels = {source.name(group.function_id)};
  if (reader != nullptr && group.module != 0) {
    if (const std::string kernel = reader->kernel_of(group.source, group.module, function); !kernel.empty()) {
      kernels.push_back(names.intern(kernel));
    }
  }
  const KernelTimes& times = parts_.kernel_times;
  if (times.expects(group.source, group.correlation)) {
    auto ran = times.of_launch(group.source, group.correlation);
    if (!ran.empty() || patience != Patience::none) {
      return ran;
    }
  }
  for (const NameIndex name : kernels) {
    const KernelId kernel{group.source, group.window.device, name};
    auto shares = times.within(kernel, group.window.start_ns, group.window.end_ns);
    // A source whose work is told once it is done says its windows as they are: what ran in one may run still.
    if (shares.empty() && (!source.traits.takes_samples || patience == Patience::none)) {
      shares = times.before(kernel, group.window.end_ns);
    }
    if (!shares.empty()) {
      return shares;
    }
  }
  // The last chance: clocks that do not agree.
  const KernelId kernel{group.source, group.window.device, kernels.front()};
  return patience == Patience::none ? times.before(kernel, UINT64_MAX) : std::vector<KernelShare>();
}

// Work of nobody: the kernel is known, and no launch of it.
KernelShare SampleSharing::unknown_work(Source& source, const Group& group) {
  const LaunchSite site{
      .source = source.id, .device = group.window.device, .name_id = group.function_id, .is_sample = true};
  WorkKey key = work_.key_of(source, site, nullptr);
  return {.work = parts_.rows.intern(key), .ns = 1, .at_ns = group.window.start_ns, .has_stack = false};
}

void SampleSharing::give(Source& source, const Group& group, const std::vector<KernelShare>& shares) {
  std::vector<uint64_t> weights;
  weights.reserve(shares.size());
  for (const KernelShare& share : shares) {
    weights.push_back(share.ns);
  }
  const uint32_t flags = shares.size() > 1 ? profile::kSampleEstimated : 0;
  for (const Count& count : group.counts) {
    const Where at = where(source, group, count);
    SampleKey key{.place = place(source, at),
                  .reason = source.name(count.reason_id),
                  .sampling = group.sampling,
                  .flags = flags | (count.estimated ? profile::kSampleEstimated : 0)};
    tally(source, at, key, count.samples);
    const auto parts = split_.split(count.samples, weights);
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i] > 0) {
        key.work = shares[i].work;
        out_.add(key, shares[i].at_ns, parts[i], shares[i].has_stack);
      }
    }
  }
}

void SampleSharing::tally(const Source& source, const Where& where, const SampleKey& key, uint64_t samples) {
  if (where.module == 0 || profile::index(key.place) == 0 || join_.options.code_reader == nullptr) {
    return;
  }
  const auto& modules = code_[source.id].modules;
  const auto module = modules.find({where.source, where.module});
  if (module == modules.end()) {
    return;  // its code has not come
  }
  const auto [known, fresh] = tallies_.try_emplace(
      profile::index(key.place), Tally{.where = where, .in = source.gpu_code.module(module->second), .reasons = {}});
  auto& reasons = known->second.reasons;
  const auto reason =
      std::find_if(reasons.begin(), reasons.end(), [&key](const auto& one) { return one.first == key.reason; });
  if (reason != reasons.end()) {
    reason->second += samples;
  } else {
    reasons.emplace_back(key.reason, samples);
    join_.memory().grew(sizeof(reasons.back()) + (fresh ? sizeof(*known) : 0));
  }
}

std::vector<SampledFunction> SampleSharing::most_sampled(size_t most) const {
  std::map<std::tuple<backend::SourceId, uint64_t, NameIndex>, SampledFunction> functions;
  for (const auto& [place, tally] : tallies_) {
    SampledPlace sampled{.place = profile::GpuPlaceId{place}, .offset = tally.where.offset};
    uint64_t largest = 0;
    for (const auto& [reason, samples] : tally.reasons) {
      sampled.samples += samples;
      sampled.reason = samples > largest ? reason : sampled.reason;
      largest = std::max(largest, samples);
    }
    SampledFunction& function = functions[{tally.where.source, tally.where.module, tally.where.function}];
    function.source = tally.where.source;
    function.module = tally.where.module;
    function.in = tally.in;
    function.name = parts_.producers.names().text(tally.where.function);
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

profile::GpuPlaceId SampleSharing::place(Source& source, const Where& where) {
  Code& code = code_[source.id];
  if (code.places.size() >= GpuCode::kMaxPlaces || !join_.memory().admit()) {
    const auto known = code.places.find(where);
    return known == code.places.end() ? profile::GpuPlaceId{} : known->second;
  }
  const auto [known, fresh] = code.places.emplace(where, profile::GpuPlaceId{});
  if (!fresh) {
    return known->second;
  }
  join_.memory().grew(sizeof(*known) + 4 * sizeof(void*));
  introduce(source, code, where);
  const std::string name(parts_.producers.names().text(where.function));
  std::vector<symbolize::SourceFrame> lines;
  if (CodeReader* const reader = join_.options.code_reader; reader != nullptr && where.module != 0) {
    lines = reader->frames(where.source, where.module, name, where.offset);
  }
  std::vector<backend::GpuFrame> frames;
  frames.reserve(lines.size());
  for (const symbolize::SourceFrame& line : lines) {
    frames.push_back({line.name, line.file, line.line});
  }
  const auto module = code.modules.find({where.source, where.module});
  const backend::GpuPlace made{.id = ++code.last_place,
                               .module = module == code.modules.end() ? 0 : module->second,
                               .function = name,
                               .offset = where.offset,
                               .instruction = {},
                               .frames = frames};
  parts_.producers.gpu_code().add(source.gpu_code, made);
  known->second = source.gpu_code.place(made.id);
  return known->second;
}

// Tells the session of a module whose code has come.
void SampleSharing::introduce(Source& source, Code& code, const Where& where) {
  CodeReader* const reader = join_.options.code_reader;
  const std::pair key(where.source, where.module);
  const CodeFacts* facts = reader == nullptr || where.module == 0 || code.modules.contains(key)
                               ? nullptr
                               : reader->facts(where.source, where.module);
  if (facts != nullptr) {
    const auto id = static_cast<uint32_t>(code.modules.size() + 1);
    code.modules.emplace(key, id);
    parts_.producers.gpu_code().add(source.gpu_code, {.id = id, .name = facts->name, .hash = facts->hash});
  }
}

void SampleSharing::end_source(backend::SourceId source) {
  // Windows that were never closed: nobody can say when their samples were taken.
  const Source* const owner = parts_.producers.find(source);
  for (auto window = open_.lower_bound({source, 0}); window != open_.end() && window->first.first == source;) {
    for (const auto& [key, counts] : window->second.functions) {
      out_.drop(owner, sum_of(counts));
      counts_ -= counts.size();
    }
    window = open_.erase(window);
  }
  code_.erase(source);
  loaded_.end_source(source);
}

}  // namespace gpuprof::record
