#include "output/report/blocks.h"

#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "base/text/numbers.h"
#include "output/json_stream.h"
#include "output/text.h"

namespace gpuprof::output {
namespace {

using analyze::BlockLine;
using profile::Blocks;

constexpr const char* kBlocksBelow = "      ";

double over(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string digits(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// Formats a mean number of SMs: "132", "8.96".
std::string sms_text(uint64_t sm_ns, uint64_t ns) {
  constexpr double kWhole = 99.95;
  const double sms = over(sm_ns, ns);
  return digits(sms < kWhole ? "%.3g" : "%.0f", sms);
}

// Returns how many rounds the blocks took, if all of them were equally long.
double waves(const Blocks& sums) {
  return over(sums.blocks, sums.concurrent);
}

// Returns by how many percent the busiest SM worked longer than the mean.
double imbalance_percent(const Blocks& sums) {
  return 100 * over(sums.busiest_ns - sums.mean_ns, sums.mean_ns);
}

std::string known_percentile(const std::optional<uint64_t>& ns) {
  return ns ? short_duration(*ns) : "-";
}

void print_meaning(const Blocks& sums, Page& page) {
  if (sums.tail_ns > 0) {
    page.clauses("last " + percent_text(sums.tail_ns, sums.span_ns) + " of its time: " +
                     sms_text(sums.tail_busy_ns, sums.tail_ns) + " of " + sms_text(sums.tail_sm_ns, sums.tail_ns) +
                     " SMs worked, at most " + percent_text(sums.saved_ns, sums.span_ns) + " could be saved",
                 kBlocksBelow);
  }
  if (sums.blocks > 0) {
    page.clauses("busiest SM " + digits("%.2f%%", imbalance_percent(sums)) + " above the mean, slowest block (" +
                     std::to_string(sums.x) + "," + std::to_string(sums.y) + "," + std::to_string(sums.z) + ")",
                 kBlocksBelow);
  }
  if (sums.span_ns > 0 && profile::Uint128{sums.span_ns} * sums.device_sms > sums.sm_ns) {
    page.clauses("at most " + sms_text(sums.sm_ns, sums.span_ns) + " of the GPU's " + std::to_string(sums.device_sms) +
                     " SMs worked at once",
                 kBlocksBelow);
  }
  if (sums.blocks < sums.grid) {
    page.clauses(count_text(sums.grid - sums.blocks) + " of " + count_text(sums.grid) +
                     " blocks were not recorded, all else here is without them",
                 kBlocksBelow);
  }
}

}  // namespace

void print_blocks(const analyze::Summary& summary, Page& page) {
  if (summary.blocks.empty()) {
    return;
  }
  page.title("Thread blocks", summary.blocks.size(), summary.found.blocks);
  page.columns({"launches", "blocks", "median", "p95", "max", "waves"}, "kernel");
  for (const BlockLine& line : summary.blocks) {
    const Blocks& sums = line.sums;
    const bool known = sums.blocks > 0;
    page.work_row({short_count_text(sums.launches), short_count_text(sums.grid / sums.launches),
                   known_percentile(line.percentiles.median_ns), known_percentile(line.percentiles.p95_ns),
                   known ? short_duration(sums.slowest_ns) : "-", known ? digits("%.2f", waves(sums)) : "-"},
                  line.kernel);
    print_meaning(sums, page);
  }
}

void put_blocks(const BlockLine& line, TextStream& stream) {
  stream.checkpoint();
  const Blocks& sums = line.sums;
  JsonObject object(stream.text());
  object.text("kernel", shown_text(line.kernel));
  object.number("launches", sums.launches);
  object.number("blocks", sums.grid);
  object.number("recorded", sums.blocks);
  object.number("device_sms", sums.device_sms);
  if (sums.blocks == 0) {
    return;
  }
  for (const auto& [name, ns] :
       {std::pair("median_ns", line.percentiles.median_ns), std::pair("p95_ns", line.percentiles.p95_ns)}) {
    if (ns) {
      object.number(name, *ns);
    }
  }
  object.number("max_ns", sums.slowest_ns);
  object.key("slowest_block") +=
      "[" + std::to_string(sums.x) + "," + std::to_string(sums.y) + "," + std::to_string(sums.z) + "]";
  object.number("slowest_correlation", sums.correlation);
  object.key("waves") += digits("%.4f", waves(sums));
  object.key("sms") += digits("%.4f", over(sums.sm_ns, sums.span_ns));
  object.key("imbalance_percent") += digits("%.2f", imbalance_percent(sums));
  object.key("tail_percent") += digits("%.2f", 100 * over(sums.tail_ns, sums.span_ns));
  object.key("tail_working_sms") += digits("%.4f", over(sums.tail_busy_ns, sums.tail_ns));
  object.key("tail_sms") += digits("%.4f", over(sums.tail_sm_ns, sums.tail_ns));
  object.key("saved_percent") += digits("%.2f", 100 * over(sums.saved_ns, sums.span_ns));
}

}  // namespace gpuprof::output
