#include "output/report/stalls.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "analyze/stalls/stall_reasons.h"
#include "base/text/numbers.h"
#include "output/json_stream.h"
#include "output/text.h"
#include "output/trust.h"

namespace gpuprof::output {
namespace {

using analyze::AwaitedLine;
using analyze::HotLine;
using analyze::KernelStalls;
using analyze::StallLine;
using analyze::StallReason;

constexpr size_t kHotLines = 3;
constexpr const char* kStallsBelow = "          ";

std::string percent_digits(double share) {
  char text[16];
  std::snprintf(text, sizeof text, "%.2f", 100 * share);
  return text;
}

double share_of(uint64_t part, uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);  // whole > 0, because every listed kernel has samples
}

std::string stall_place_text(std::string_view file, uint32_t line, size_t most, const Page& page) {
  const std::string shown = shown_name(shown_ends(file));
  return (page.full() ? shown : cut_front(shown, most)) + (line == 0 ? "" : ":" + std::to_string(line));
}

// Formats the lines with most samples: "at stalls.cu:9 58.13%, math.cuh:2 8.20%".
std::string hot_lines(const KernelStalls& stalls, const Page& page) {
  constexpr size_t kFile = 40;
  std::string text;
  for (size_t i = 0; i < std::min(kHotLines, stalls.lines.size()); ++i) {
    const HotLine& line = stalls.lines[i];
    text.append(text.empty() ? "at " : ", ");
    text.append(stall_place_text(line.file.empty() ? line.function : line.file, line.line, kFile, page)).append(" ");
    text.append(percent_text(line.samples, stalls.samples));
  }
  return text;
}

// Formats what lines wait for: "stalls.cu:9 waits for the load, at stalls.cu:7: 41.20%".
std::string awaited_lines(const KernelStalls& stalls, const Page& page) {
  constexpr size_t kFile = 24;
  constexpr size_t kWhat = 16;  // length of the longest text that AwaitedLine::what can have
  const size_t most = page.fits() ? 1 : kHotLines;
  std::string text;
  for (size_t i = 0; i < std::min(most, stalls.awaited.size()); ++i) {
    const AwaitedLine& line = stalls.awaited[i];
    const std::string what = shown_name(shown_ends(line.what));
    text.append(text.empty() ? "" : ", ").append(stall_place_text(line.file, line.line, kFile, page));
    text.append(" waits for the ").append(page.full() ? what : cut_front(what, kWhat)).append(", at ");
    text.append(stall_place_text(line.awaited_file, line.awaited_line, kFile, page)).append(": ");
    text.append(percent_text(line.samples, stalls.samples));
  }
  return text;
}

bool waits(const StallLine& line) {
  const StallReason* const reason = analyze::stall_reason(line.reason);
  return reason == nullptr || reason->waits;
}

// Returns the waiting reason with most samples if its share is at least a fifth, with 95% confidence; else nullptr.
const StallLine* dominant(const KernelStalls& stalls) {
  constexpr double kLeast = 0.2;
  const auto first = std::find_if(stalls.reasons.begin(), stalls.reasons.end(), waits);
  return first == stalls.reasons.end() || first->share.low < kLeast ? nullptr : &*first;
}

size_t shown_reasons(const KernelStalls& stalls, const Page& page) {
  return page.fits() ? std::min(stalls.reasons.size(), page.detail().stall_reasons) : stalls.reasons.size();
}

void print_kernel(const KernelStalls& stalls, Page& page) {
  page.work_row({"", "", "", short_count_text(stalls.samples)}, stalls.kernel);
  if (stalls.estimated > 0) {
    page.dim_line(kStallsBelow + percent_text_up(stalls.estimated, stalls.samples) + " of them attributed by estimate");
  }
  for (size_t i = 0; i < shown_reasons(stalls, page); ++i) {
    const StallLine& line = stalls.reasons[i];
    page.row({percent_text(line.samples, stalls.samples), percent_digits(line.share.low) + "%",
              percent_digits(line.share.high) + "%", short_count_text(line.samples)},
             "  " + page.name(line.reason, width_behind(4, page.width()) - 2, Naming::plain));
  }
  if (!stalls.lines.empty()) {
    page.clauses(hot_lines(stalls, page), kStallsBelow);
  }
  if (!stalls.awaited.empty() && (!page.fits() || page.detail().awaited)) {
    page.clauses(awaited_lines(stalls, page), kStallsBelow);
  }
}

void add_once(const StallLine& line, std::vector<const StallReason*>& reasons) {
  const StallReason* const reason = analyze::stall_reason(line.reason);
  if (reason != nullptr && std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) {
    reasons.push_back(reason);
  }
}

// Returns the reasons to explain: with --explain, all that are shown; otherwise, the dominant one of each kernel.
std::vector<const StallReason*> explained(const analyze::Summary& summary, const Page& page) {
  std::vector<const StallReason*> reasons;
  const size_t most = page.fits() ? page.detail().explained : summary.stalls.size();
  for (size_t at = 0; at < summary.stalls.size(); ++at) {
    const KernelStalls& stalls = summary.stalls[at];
    if (page.explain()) {
      for (size_t i = 0; i < shown_reasons(stalls, page); ++i) {
        add_once(stalls.reasons[i], reasons);
      }
    } else if (const StallLine* const line = dominant(stalls); line != nullptr && at < most) {
      add_once(*line, reasons);
    }
  }
  return reasons;
}

}  // namespace

void print_stalls(const analyze::Summary& summary, Page& page) {
  if (summary.stalls.empty()) {
    return;
  }
  page.title("Stalls of kernels, as shares of their samples, with 95% intervals", summary.stalls.size(),
             summary.found.stalls);
  page.columns({"share", "from", "to", "samples"}, "kernel, and what it waited for");
  for (const KernelStalls& stalls : summary.stalls) {
    print_kernel(stalls, page);
  }
  // Imported stall samples never have source lines.
  const bool can_have = summary.info.kind != analyze::ProfileKind::stall_samples;
  if (can_have && summary.stalls_without_lines > 0) {
    page.prose(without_lines_text(summary.stalls_without_lines, summary.samples, summary.stalls_without_in_zebins));
  }
  for (const StallReason* const reason : explained(summary, page)) {
    std::string text(reason->word);
    text.append(": ").append(reason->meaning);
    for (const std::string_view more : {reason->cause, reason->advice}) {
      text.append(more.empty() ? "" : " ").append(more);
    }
    page.prose(text);
  }
}

void put_stalls(const KernelStalls& stalls, TextStream& stream) {
  stream.checkpoint();
  JsonObject object(stream.text());
  object.text("kernel", shown_text(stalls.kernel));
  object.number("samples", stalls.samples);
  object.number("estimated", stalls.estimated);
  object.number("without_lines", stalls.without_lines);
  json_array(stalls.reasons, object.key("reasons"), [&](const StallLine& line) {
    JsonObject reason(stream.text());
    reason.text("reason", shown_text(line.reason));
    reason.number("samples", line.samples);
    reason.key("percent") += percent_digits(share_of(line.samples, stalls.samples));
    reason.key("low_percent") += percent_digits(line.share.low);
    reason.key("high_percent") += percent_digits(line.share.high);
  });
  json_array(stalls.lines, object.key("lines"), [&](const HotLine& line) {
    JsonObject hot(stream.text());
    hot.text("function", shown_text(line.function));
    hot.text("file", shown_text(line.file));
    hot.number("line", line.line);
    hot.number("samples", line.samples);
    hot.key("percent") += percent_digits(share_of(line.samples, stalls.samples));
  });
  json_array(stalls.awaited, object.key("waits"), [&](const AwaitedLine& line) {
    JsonObject wait(stream.text());
    wait.text("file", shown_text(line.file));
    wait.number("line", line.line);
    wait.text("what", shown_text(line.what));
    wait.text("awaited_file", shown_text(line.awaited_file));
    wait.number("awaited_line", line.awaited_line);
    wait.number("samples", line.samples);
    wait.key("percent") += percent_digits(share_of(line.samples, stalls.samples));
  });
}

}  // namespace gpuprof::output
