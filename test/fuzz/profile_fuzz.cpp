// Fuzzes the reading of profiles: reading and folding must not crash or lose a nanosecond, and rewriting must be
// stable. output_fuzz.cpp tests the outputs.
#include <cstdint>
#include <string>
#include <string_view>

#include "analyze/paths/fold.h"
#include "profile/log_buckets.h"
#include "profile/writer.h"
#include "profile_input.h"

namespace {

using namespace gpuprof;
using fuzz::require;

// Returns the records of `text` before the first error as lines of the current version, or "" if it is not a profile.
std::string rewrite(std::string_view text) {
  std::string out;
  auto reader = fuzz::open(text);
  if (!reader) {
    return out;
  }
  out.reserve(text.size() + 64);
  profile::format_header(out);
  for (;;) {
    auto next = reader->next();
    if (!next || !next->has_value()) {
      return out;
    }
    profile::format_line(**next, out);
  }
}

void write_and_read_again(std::string_view text) {
  const std::string once = rewrite(text);
  require(once.empty() || once == text || rewrite(once) == once);
}

void require_sums(const analyze::Aggregate& rows) {
  uint64_t ns = 0;
  uint64_t busy = 0;
  uint64_t exclusive = 0;
  for (const analyze::Row& row : rows.rows) {
    require(row.min_ns <= row.max_ns);
    ns += row.weight.ns;
    busy += row.busy_ns;
    exclusive += row.exclusive_ns;
  }
  require(ns == rows.total.ns && busy == rows.busy_ns && exclusive == rows.exclusive_ns);
  uint64_t host = 0;
  for (const analyze::Row& row : rows.host) {
    host += row.weight.ns;
  }
  uint64_t idle = 0;
  for (const analyze::IdleRow& row : rows.idle) {
    idle += row.ns;
  }
  require(host == rows.host_total.ns && idle == rows.idle_ns);
  for (const analyze::LatencyRow& row : rows.latencies) {
    uint64_t count = 0;
    for (const profile::Latency::Bucket& bucket : row.buckets) {
      require(bucket.bucket < profile::LatencyBuckets::kCount);
      count += bucket.count;
    }
    require(count == row.count);
  }
  require(rows.info.covered.percent() >= 0 && rows.info.covered.percent() <= 100);
}

analyze::Weight folded(const analyze::Aggregate& rows, analyze::Measure measure, bool lines) {
  return analyze::fold(rows, {.stacks = {.lines = lines}, .measure = measure}).tree.total();
}

void require_folded_sums(const analyze::Aggregate& rows, bool lines) {
  using analyze::Measure;
  const analyze::Weight gpu = folded(rows, Measure::gpu, lines);
  const bool samples = rows.info.kind == analyze::ProfileKind::stall_samples;
  require(gpu.ns == rows.total.ns && gpu.count == (samples ? rows.sample_count : rows.total.count));
  if (!samples && !rows.samples.empty()) {
    require(folded(rows, Measure::samples, lines).count == rows.sample_count);
  }
  if (rows.has_shares) {
    require(folded(rows, Measure::busy, lines).ns == rows.busy_ns);
    require(folded(rows, Measure::exclusive, lines).ns == rows.exclusive_ns);
  }
  if (!rows.idle.empty()) {
    require(folded(rows, Measure::idle, lines).ns == rows.idle_ns);
  }
}

// Adjacent windows must contain all work exactly once, and cells of the time series must sum up to the rows.
void require_window_sums(std::string_view text, const analyze::Aggregate& all) {
  // Between two slices, because a window is widened to complete slices.
  const uint64_t border = all.grid.slice_with(1 + text.size() / 8 % 4);
  uint64_t cut = 0;
  if (__builtin_mul_overflow(border == 0 ? all.grid.width(0) : border, all.grid.interval_ns, &cut)) {
    return;
  }
  uint64_t ns = 0;
  uint64_t samples = 0;
  for (const analyze::TimeWindow& window : {analyze::TimeWindow{.to_ns = cut}, analyze::TimeWindow{.from_ns = cut}}) {
    auto reader = fuzz::open(text, {.lenient = true});
    const auto rows = analyze::aggregate(*reader, {.slices = analyze::Measure::gpu, .window = window});
    if (!rows) {
      return;
    }
    uint64_t in_cells = 0;
    for (const analyze::Weight& cell : rows->slices.blocks()) {
      in_cells += cell.ns;
    }
    require(in_cells == rows->total.ns);
    ns += rows->total.ns;
    samples += rows->sample_count;
  }
  require(ns == all.total.ns && samples == all.sample_count);
}

// Without --lenient the first bad line must be an error. Texts without bad lines are tested by rewrite().
void require_refused(std::string_view text) {
  auto reader = fuzz::open(text);
  if (reader) {
    const auto rows = analyze::aggregate(*reader);
    require(!rows && !rows.error().message.empty());
  }
}

void add_up(std::string_view text) {
  auto reader = fuzz::open(text, {.lenient = true});
  if (!reader) {
    return;
  }
  const auto rows = analyze::aggregate(*reader, {.host = true, .idle = true, .latency = true});
  if (!rows) {
    require(!rows.error().message.empty());
    return;
  }
  require_sums(*rows);
  require_folded_sums(*rows, text.size() % 2 != 0);
  if (rows->grid.interval_ns > 0 && text.size() % 8 == 0) {
    require_window_sums(text, *rows);
  }
  if (reader->skipped_bad() > 0) {
    require_refused(text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  add_up(text);
  write_and_read_again(text);
  return 0;
}
