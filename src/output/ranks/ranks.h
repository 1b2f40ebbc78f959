// Writes the results of `ranks`: text, JSON and a picture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyze/ranks/job.h"
#include "analyze/ranks/verdict.h"
#include "base/text/text_stream.h"

namespace gpuprof::output {

struct RanksView {
  analyze::Job& job;  // not const: Job builds the texts of its paths on demand
  const analyze::JobVerdict& verdict;
  std::string collective;          // regular expression that matches the names of collectives
  std::vector<std::string> notes;  // sentences about data that are missing in the profiles
  size_t top = 16;                 // number of ranks in the table; 0: all
  size_t width = 80;
};

// The time from a rank's first work to its last. Idle time before and after that is not part of the job.
struct RankSpan {
  uint64_t ns = 0;
  uint64_t idle_ns = 0;  // idle time of a device, averaged over the rank's devices
};
RankSpan span_of(const analyze::JobRank& rank, uint64_t block_ns);

void ranks_text(const RanksView& view, TextStream& out);
void ranks_json(const RanksView& view, TextStream& out);  // Writes one object, described by docs/schema/ranks.json.

// Draws ranks over time as one self-contained SVG. The colour of a cell shows own_share() of the cell's time interval.
std::string ranks_svg(const RanksView& view);

// Returns the verdict in one line, such as "Rank 2 lags since 3.4s: ...".
std::string verdict_line(const RanksView& view);

// Returns the share of the time `ns` that a rank spends outside collectives. If the job has no collectives, returns the
// share that is GPU work.
double own_share(const RanksView& view, const analyze::RankCell& cell, uint64_t ns);

}  // namespace gpuprof::output
