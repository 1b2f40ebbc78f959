#include "output/export/work_facts.h"

#include "analyze/rows/dimensions.h"
#include "output/text.h"
#include "profile/keywords.h"

namespace gpuprof::output {

namespace p = gpuprof::profile;

FactTexts::FactTexts(const analyze::Walk& walk)
    : tables_(walk.rows().tables), host_(analyze::host_of(walk.rows().info)) {}

template <typename Make>
std::string_view FactTexts::TextCache::find(uint32_t id, Make make) {
  if (const auto known = texts_.find(id); known != texts_.end()) {
    return known->second;
  }
  if (bytes_ > kMostBytes) {
    texts_.clear();
    bytes_ = 0;
  }
  const std::string& text = texts_.emplace(id, shown_text(make())).first->second;
  bytes_ += sizeof(std::string) + text.size();
  return text;
}

WorkFacts FactTexts::of(const p::Work& work) {
  WorkFacts facts;
  if (const p::Process* const process = tables_.process(work.process)) {
    facts.process = tables_.text(process->name);
    facts.pid = process->pid;
    facts.rank = tables_.text(process->rank);
    facts.host = tables_.text(process->host);
  }
  facts.host = facts.host.empty() ? host_ : facts.host;
  facts.tid = work.tid;
  facts.thread = tables_.text(work.thread);
  if (index(work.device) != 0) {
    facts.device = devices_.find(index(work.device), [&] { return analyze::device_label(tables_, work.device); });
    facts.stream = work.stream;
  }
  if (index(work.range) != 0) {
    facts.range = ranges_.find(index(work.range), [&] { return analyze::range_path(tables_, work.range); });
  }
  facts.op = p::word(work.op);
  facts.name = tables_.text(work.name);
  return facts;
}

std::string_view frame_kind(analyze::FrameClass cls) {
  // In the order of the enumerators of FrameClass. No export has events.
  static constexpr std::array<std::string_view, analyze::kFrameClasses> kKinds = {
      "process",   "native", "inlined",    "python", "interpreter", "kernel",
      "separator", "gpu",    "gpu_detail", "note",   "mark",        "mark"};
  return kKinds.at(static_cast<size_t>(cls));
}

const WeightName& main_weight(const analyze::WalkWeight& total) {
  constexpr size_t kTime = 0;
  constexpr size_t kLaunches = 1;
  constexpr size_t kSamples = 4;
  return kWeightNames[total.ns > 0 ? kTime : total.launches > 0 || total.samples == 0 ? kLaunches : kSamples];
}

std::string_view first_meta(const analyze::ProfileInfo& info, const char* key) {
  const auto found = info.meta.find(key);
  return found == info.meta.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace gpuprof::output
