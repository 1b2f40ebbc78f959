#include "output/export/work_facts.h"

#include "analyze/dimensions.h"
#include "profile/words.h"

namespace gpuprof::output {

namespace p = gpuprof::profile;
using analyze::FrameClass;

WorkFacts work_facts(const analyze::Walk& walk, const p::Work& work, std::string_view host) {
  const p::Tables& tables = walk.rows().tables;
  WorkFacts facts;
  if (const p::Process* const process = tables.process(work.process)) {
    facts.process = tables.text(process->name);
    facts.pid = process->pid;
    facts.rank = tables.text(process->rank);
    facts.host = tables.text(process->host);
  }
  facts.host = facts.host.empty() ? host : facts.host;
  facts.tid = work.tid;
  facts.thread = tables.text(work.thread);
  if (index(work.device) != 0) {
    facts.device = analyze::device_label(tables, work.device);
    facts.stream = work.stream;
  }
  if (index(work.range) != 0) {
    facts.range = analyze::range_path(tables, work.range);
  }
  facts.op = p::word(work.op);
  facts.name = tables.text(work.name);
  return facts;
}

std::string_view frame_kind(FrameClass cls) {
  switch (cls) {
    case FrameClass::process:
      return "process";
    case FrameClass::native:
      return "native";
    case FrameClass::inlined:
      return "inlined";
    case FrameClass::python:
      return "python";
    case FrameClass::interpreter:
      return "interpreter";
    case FrameClass::kernel:
      return "kernel";
    case FrameClass::separator:
      return "separator";
    case FrameClass::gpu:
      return "gpu";
    case FrameClass::gpu_detail:
      return "gpu_detail";
    case FrameClass::mark:
      return "mark";
    case FrameClass::note:
      break;
  }
  return "note";
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
