#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "analyze/rows/time_window.h"
#include "base/text/numbers.h"
#include "output/picture/svg_parts.h"
#include "output/picture/svg_text.h"
#include "output/ranks/ranks.h"

extern "C" {
extern const char gpuprof_time_series_style_begin[];
extern const char gpuprof_time_series_style_end[];
}

namespace gpuprof::output {
namespace {

constexpr int kRankLevels = 8;
constexpr int kLabelPx = 100;
constexpr int kRankAxisPx = 24;
constexpr int kMapPx = 480;  // intended height of the map; the height of a row is limited to 1 to kMostRowPx px
constexpr int kMostRowPx = 28;
constexpr int kLeastLabelled = 11;
constexpr size_t kLabelColumns = 12;
constexpr size_t kMostCells = 120'000;
constexpr double kLeastTickPx = 90;  // smallest distance between the labels of ticks
// Styles of this picture, which are added to those of heat maps.
constexpr const char* kStyle =
    ".gp-lag{fill:none;stroke:#0b57d0;stroke-width:2}\n#gp-ranks text{font-size:11px}\n"
    "@media (prefers-color-scheme:dark){.gp-lag{stroke:#8ab4f8}}\n";

struct RankMap {
  const RanksView& view;
  int row_px = 1;
  size_t blocks_in_cell = 1;
  size_t cells = 0;
  double cell_px = 1;

  [[nodiscard]] size_t ranks() const { return view.job.ranks().size(); }
  [[nodiscard]] int height() const { return static_cast<int>(ranks()) * row_px; }
  [[nodiscard]] double block_px() const { return cell_px / static_cast<double>(blocks_in_cell); }
  [[nodiscard]] double x_of_block(uint64_t block) const { return kLabelPx + block_px() * static_cast<double>(block); }
};

RankMap rank_map_of(const RanksView& view) {
  RankMap map{.view = view};
  map.row_px =
      std::clamp(kMapPx / static_cast<int>(std::max<size_t>(1, std::min<size_t>(map.ranks(), kMapPx))), 1, kMostRowPx);
  const size_t most = std::max<size_t>(1, kMostCells / std::max<size_t>(1, map.ranks()));
  map.blocks_in_cell = (view.job.blocks() + most - 1) / most;
  map.blocks_in_cell = std::max<size_t>(1, map.blocks_in_cell);
  map.cells = (view.job.blocks() + map.blocks_in_cell - 1) / map.blocks_in_cell;
  map.cell_px =
      static_cast<double>(kSvgWidth - kLabelPx - kSvgPad) / static_cast<double>(std::max<size_t>(1, map.cells));
  return map;
}

// Returns 0 if the rank did nothing in the cell; otherwise its level, from 1 to kRankLevels.
int rank_level_of(const RankMap& map, const analyze::JobRank& rank, size_t cell) {
  analyze::RankCell sum;
  const size_t begin = cell * map.blocks_in_cell;
  const size_t end = std::min(begin + map.blocks_in_cell, rank.cells.size());
  for (size_t block = begin; block < end; ++block) {
    sum.busy += rank.cells[block].busy;
    sum.collective += rank.cells[block].collective;
    sum.waits += rank.cells[block].waits;
  }
  if (begin >= end || sum.busy + sum.collective + sum.waits == 0) {
    return 0;
  }
  const double share = own_share(map.view, sum, (end - begin) * map.view.job.block_ns());
  return std::clamp(static_cast<int>(std::ceil(share * kRankLevels)), 1, kRankLevels);
}

void write_row(std::string& out, const RankMap& map, const analyze::JobRank& rank, int y) {
  const int height = map.row_px > 4 ? map.row_px - 1 : map.row_px;
  std::vector<int> levels(map.cells);
  for (size_t cell = 0; cell < map.cells; ++cell) {
    levels[cell] = rank_level_of(map, rank, cell);
  }
  for (size_t begin = 0; begin < map.cells;) {  // adjacent cells of one colour become one box
    size_t end = begin + 1;
    while (end < map.cells && levels[end] == levels[begin]) {
      ++end;
    }
    out += "<g class=\"h" + std::to_string(levels[begin]) + "\"><rect x=\"" +
           px(kLabelPx + map.cell_px * static_cast<double>(begin)) + "\" y=\"" + std::to_string(y) + "\" width=\"" +
           px(map.cell_px * static_cast<double>(end - begin)) + "\" height=\"" + std::to_string(height) + "\"/></g>\n";
    begin = end;
  }
}

void write_rank_legend(SvgHeader& header) {
  constexpr int kLegendRow = 20;
  constexpr double kKey = 92;
  constexpr double kMore = 56;  // the first label is longer than the others
  std::string keys;
  for (int level = 0; level <= kRankLevels; ++level) {
    const std::string label =
        level == 0 ? "nothing recorded" : "up to " + std::to_string(100 * level / kRankLevels) + "%";
    keys += SvgHeader::key(kSvgPad + kKey * level + (level == 0 ? 0 : kMore), "h" + std::to_string(level), label);
  }
  header.block("gp-legend", kLegendRow, keys);
}

// Returns the smallest number that is at least `least`, of 1, 2 or 5 times a power of ten up to 10^18.
uint64_t round_step(double least) {
  constexpr uint64_t kMost = 1'000'000'000'000'000'000;
  for (uint64_t power = 1;; power *= 10) {
    for (const uint64_t factor : {1, 2, 5}) {
      if (static_cast<double>(factor * power) >= least || power == kMost) {
        return factor * power;
      }
    }
  }
}

// Labels round times at equal distances. The first block can begin between two of them.
void write_axis(std::string& out, const RankMap& map, int y) {
  const uint64_t begin = map.view.job.begin_ns(0);
  const uint64_t span = map.view.job.blocks() * map.view.job.block_ns();
  const double ns_px = map.block_px() / static_cast<double>(std::max<uint64_t>(1, map.view.job.block_ns()));
  const uint64_t step = round_step(kLeastTickPx / ns_px);
  out += "<g id=\"gp-axes\">\n";
  uint64_t after = (step - begin % step) % step;
  for (double x = kLabelPx + ns_px * static_cast<double>(after); after < span && x + kLeastTickPx <= kSvgWidth;) {
    out += SvgHeader::text_at(x, y + 15, analyze::exact_seconds(begin + after));
    after += step;
    x += ns_px * static_cast<double>(step);
  }
  out += "</g>\n";
}

}  // namespace

std::string ranks_svg(const RanksView& view) {
  const RankMap map = rank_map_of(view);
  const std::string title = view.verdict.by_collectives ? "Ranks over time: share of the time before collectives"
                                                        : "Ranks over time: share of the time with GPU work";
  std::string header;
  SvgHeader head(header);
  head.titles(title, verdict_line(view));
  for (const std::string& note : view.notes) {
    head.notice(printable(note));
  }
  write_rank_legend(head);
  const int top = head.height() + 8;
  std::string out;
  begin_svg(out,
            {.height = top + map.height() + kRankAxisPx + kSvgPad,
             .title = title,
             .description = printable(verdict_line(view)),
             .style = std::string(embedded(gpuprof_time_series_style_begin, gpuprof_time_series_style_end)) + kStyle});
  out += "<g id=\"gp-ranks\">\n";
  for (size_t i = 0; i < map.ranks(); ++i) {
    const analyze::JobRank& rank = view.job.ranks()[i];
    const int y = top + static_cast<int>(i) * map.row_px;
    if (map.row_px >= kLeastLabelled) {
      out += "<text x=\"" + std::to_string(kSvgPad) + "\" y=\"" + std::to_string(y + map.row_px / 2 + 4) + "\">" +
             xml_escaped(cut_to_columns(printable(rank.name), kLabelColumns)) + "</text>\n";
    }
    write_row(out, map, rank, y);
  }
  for (const analyze::LaggingRank& one : view.verdict.laggards) {
    const double x = map.x_of_block(one.lag.first);
    out += "<rect class=\"gp-lag\" x=\"" + px(x) + "\" y=\"" +
           std::to_string(top + static_cast<int>(one.lag.rank) * map.row_px) + "\" width=\"" +
           px(map.x_of_block(one.lag.last + 1) - x) + "\" height=\"" + std::to_string(map.row_px) + "\"/>\n";
  }
  out += "</g>\n";
  write_axis(out, map, top + map.height());
  write_head(out, header, head.height());
  end_svg(out, {});
  return out;
}

}  // namespace gpuprof::output
