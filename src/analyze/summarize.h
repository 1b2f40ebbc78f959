// The rows of a profile, grouped for a report.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/aggregate.h"
#include "analyze/call_path.h"
#include "analyze/stack_view.h"

namespace gpuprof::analyze {

// One line of a report: GPU or host work, or such work together with the call path that launched it.
struct SummaryLine {
  std::string_view process;  // of a call path; empty where several processes are added up
  std::string_view work;     // kernel, "[copy HtoD]", launched function; or a stall reason
  CallPath path;             // CPU frames, root first; of a call path
  Weight weight;
  uint64_t min_ns = 0;  // of one record; 0 and 0 where nothing was timed
  uint64_t max_ns = 0;
};

// busy_ns + idle_ns is how long the device was watched.
struct DeviceLine {
  std::string name;  // "device 0 NVIDIA H200"
  Weight weight;
  uint64_t busy_ns = 0;
  uint64_t idle_ns = 0;
};

// The nodes of CUDA graphs, which are part of the other GPU work.
struct GraphSummary {
  Weight weight;
  uint64_t captured = 0;  // how many of them have the stack of their capture
};

// A place in GPU code; texts are empty where they are not known.
struct PlaceLine {
  std::string_view function;
  uint64_t offset = 0;
  std::string_view instruction;
  std::string_view source_function;  // the innermost one that was inlined there
  std::string_view file;
  uint32_t line = 0;
  uint64_t samples = 0;
};

struct Summary {
  ProfileInfo info;
  std::shared_ptr<PathTexts> texts;  // what its lines refer to, besides the rows
  Weight total;
  std::vector<SummaryLine> work;        // every one, by weight, heaviest first
  std::vector<SummaryLine> call_paths;  // the same
  bool timed = false;                   // lines are in the order of ns; otherwise in that of count
  std::vector<DeviceLine> devices;      // in the order of the profile; none where it does not say how they were shared
  GraphSummary graphs;
  // Samples of GPU code, heaviest first. In a profile that has nothing else, `total`, `work` and `call_paths` are
  // theirs.
  std::vector<SummaryLine> sampled_work;
  std::vector<SummaryLine> sample_reasons;
  std::vector<PlaceLine> sample_places;
  // Not GPU work, and in no sum of it. Of profiles that were read with AggregateOptions::host.
  std::vector<SummaryLine> host_work;    // waits, allocations, frees, page faults, migrations; by ns, then bytes
  std::vector<SummaryLine> waits;        // call paths of blocking calls, by ns
  std::vector<SummaryLine> allocations;  // call paths, by bytes
  Weight wait_total;
  Weight allocation_total;
  StackView::Trimmed trimmed;
};

// Call paths are those of one process name, CPU stack as it is shown, and work. `top`: at most so many lines of each,
// the heaviest; 0 for all. The summary's texts are those of `rows`.
Summary summarize(const Aggregate& rows, size_t top, const StackOptions& stacks = {});

}  // namespace gpuprof::analyze
