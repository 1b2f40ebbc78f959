// What `ranks` shows of a job.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analyze/ranks/job.h"
#include "analyze/ranks/verdict.h"
#include "base/text/text_stream.h"

namespace gpuprof::output {

struct RanksView {
  analyze::Job& job;  // the texts of its paths are made when they are asked for
  const analyze::JobVerdict& verdict;
  std::string collective;          // the regular expression
  std::vector<std::string> notes;  // what is missing
  size_t top = 16;                 // ranks in the table; 0: all
  size_t width = 80;
};

void ranks_text(const RanksView& view, TextStream& out);
void ranks_json(const RanksView& view, TextStream& out);  // docs/schema/ranks.json

// Ranks x time: how much of each stretch a rank worked by itself. One self-contained SVG.
std::string ranks_svg(const RanksView& view);

// "Rank 2 lags since 3.4s: ..." in one line.
std::string verdict_line(const RanksView& view);

// The share of its time that a rank spends before collectives; without collectives, in GPU work.
double own_share(const RanksView& view, const analyze::RankCell& cell, uint64_t ns);

}  // namespace gpuprof::output
