#include <algorithm>
#include <array>
#include <bit>

#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "output/latency.h"
#include "output/text.h"
#include "profile/log_buckets.h"

namespace gpuprof::output {
namespace {

using analyze::kPhases;
using analyze::LatencyLine;
using analyze::LatencyStats;

constexpr std::array<const char*, kPhases> kNames = {"call to queued", "queued to submitted", "submitted to start",
                                                     "call to start"};
constexpr size_t kNameColumn = 21;
constexpr size_t kCount = 12;
constexpr size_t kTime = 11;
constexpr size_t kRange = 21;  // maximum width of a range such as "512 ns .. 1.02 us"
constexpr size_t kNumber = 8;
constexpr size_t kLeastBar = 4;
constexpr size_t kMostBar = 24;
constexpr size_t kRows = 65;  // one row for 0 ns, and one for each power of two

// Returns counts by power of two: row 0 counts 0 ns, and row n counts times in [2^(n-1), 2^n) ns.
std::array<uint64_t, kRows> rows_of(const LatencyStats& stats) {
  std::array<uint64_t, kRows> rows{};
  for (const auto& bucket : stats.buckets) {
    if (bucket.bucket < profile::LatencyBuckets::kCount) {
      rows[static_cast<size_t>(std::bit_width(profile::LatencyBuckets::low(bucket.bucket)))] += bucket.count;
    }
  }
  return rows;
}

std::string range_text(size_t row) {
  if (row == 0) {
    return "0 ns";
  }
  const uint64_t low = uint64_t{1} << (row - 1);
  return duration_text(low) + " .. " + duration_text(low <= UINT64_MAX / 2 ? 2 * low : UINT64_MAX);
}

void append_stats(const LatencyLine& line, std::string& out) {
  out.append(2, ' ').append("phase").append(kNameColumn - 5, ' ');
  append_right("launches", kCount, out);
  for (const char* column : {"avg", "p50", "p90", "p99", "max"}) {
    append_right(column, kTime, out);
  }
  out += '\n';
  for (size_t i = 0; i < kPhases; ++i) {
    const LatencyStats& stats = line.phases[i];
    if (stats.count == 0) {
      continue;
    }
    const std::string name = kNames[i];
    out.append(2, ' ').append(name).append(kNameColumn - name.size(), ' ');
    append_right(count_text(stats.count), kCount, out);
    append_right(duration_text(stats.sum_ns / stats.count), kTime, out);
    for (const uint64_t ns : {stats.p50_ns, stats.p90_ns, stats.p99_ns, stats.max_ns}) {
      append_right(duration_text(ns), kTime, out);
    }
    out += '\n';
  }
}

// The longest bar of a phase has the full width, and the other bars are in proportion. Each count above 0 has a bar.
void append_histogram(const LatencyLine& line, size_t width, std::string& out) {
  std::vector<size_t> shown;
  std::array<std::array<uint64_t, kRows>, kPhases> rows{};
  size_t first = kRows;
  size_t last = 0;
  for (size_t i = 0; i < kPhases; ++i) {
    if (line.phases[i].count == 0) {
      continue;
    }
    shown.push_back(i);
    rows[i] = rows_of(line.phases[i]);
    for (size_t row = 0; row < kRows; ++row) {
      if (rows[i][row] > 0) {
        first = std::min(first, row);
        last = std::max(last, row);
      }
    }
  }
  if (shown.empty() || first > last) {
    return;
  }
  const size_t room = width > kRange ? (width - kRange) / shown.size() : 0;
  const size_t bar =
      std::clamp(room > kNumber + 2 ? room - kNumber - 2 : 0, std::max(kLeastBar, size_t{19} - kNumber), kMostBar);
  append_right("", kRange, out);
  for (const size_t phase : shown) {
    const std::string name = kNames[phase];
    out.append("  ").append(name).append(kNumber + bar - std::min(kNumber + bar, name.size()), ' ');
  }
  out.erase(out.find_last_not_of(' ') + 1).append("\n");
  for (size_t row = first; row <= last; ++row) {
    append_right(range_text(row), kRange, out);
    for (const size_t phase : shown) {
      const uint64_t most = *std::max_element(rows[phase].begin(), rows[phase].end());
      const uint64_t count = rows[phase][row];
      const auto share = static_cast<size_t>(
          static_cast<double>(count) / static_cast<double>(std::max<uint64_t>(most, 1)) * static_cast<double>(bar));
      const size_t length = count == 0 ? 0 : std::max<size_t>(share, 1);
      out.append("  ");
      append_right(count == 0 ? "" : short_count_text(count), kNumber - 1, out);
      out.append(" ").append(length, '#').append(bar - length, ' ');
    }
    out.erase(out.find_last_not_of(' ') + 1).append("\n");
  }
}

}  // namespace

void latency_table(const std::vector<LatencyLine>& lines, size_t width, TextStream& stream) {
  std::string& out = stream.text();
  for (const LatencyLine& line : lines) {
    if (&line != lines.data()) {
      out += '\n';
    }
    out.append(cut_middle(shown_name(shown_ends(line.work)), std::max<size_t>(width, 24))).append("\n");
    if (!line.path.empty()) {
      out.append(callers_text("    " + cut_middle(shown_name(shown_ends(line.process)), 44) + ":",
                              callers_of(line.path), width))
          .append("\n");
    }
    append_stats(line, out);
    append_histogram(line, width, out);
    stream.checkpoint();
    if (stream.failed()) {
      return;
    }
  }
}

}  // namespace gpuprof::output
