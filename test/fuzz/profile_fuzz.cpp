// Any bytes as a profile: reading, folding and reporting must neither crash nor lose a nanosecond, and what was read
// must come back the same after it is written and read again.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "analyze/fold.h"
#include "analyze/summarize.h"
#include "base/unique_fd.h"
#include "output/folded.h"
#include "output/report.h"
#include "profile/latency_bucket.h"
#include "profile/reader.h"
#include "profile/writer.h"

namespace {

using namespace gpuprof;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

UniqueFd input(std::string_view text) {
  UniqueFd fd(::memfd_create("fuzz", MFD_CLOEXEC));
  require(::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  require(::lseek(fd.get(), 0, SEEK_SET) == 0);
  return fd;
}

// One input in 64 comes through a descriptor, the others from memory: a file costs more than most inputs do.
Result<profile::Reader> open(std::string_view text, profile::ReaderOptions options = {}) {
  return text.size() % 64 == 0 ? profile::Reader::open(input(text), "fuzz", options)
                               : profile::Reader::open_text(text, "fuzz", options);
}

// The records of `text` up to the first error, as lines of the current version; empty where it is no profile.
std::string rewrite(std::string_view text) {
  std::string out;
  auto reader = open(text);
  if (!reader) {
    return out;
  }
  profile::format_header(out);
  for (;;) {
    auto next = reader->next();
    if (!next || !next->has_value()) {
      return out;
    }
    profile::format_line(**next, out);
  }
}

uint64_t sum_of_lines(const std::string& folded) {
  uint64_t sum = 0;
  for (size_t at = 0; at < folded.size();) {
    const size_t end = folded.find('\n', at);
    require(end != std::string::npos);
    const size_t space = folded.rfind(' ', end);
    sum += std::strtoull(folded.c_str() + space + 1, nullptr, 10);
    at = end + 1;
  }
  return sum;
}

void fold(std::string_view text, bool lenient) {
  auto reader = open(text, {.lenient = lenient});
  if (!reader) {
    return;
  }
  auto result = analyze::fold(*reader, analyze::FoldOptions{.stacks = {.lines = lenient}});
  if (!result) {
    require(!result.error().message.empty());
    return;
  }
  using output::TimeUnit;
  using output::WeightKind;
  const analyze::Weight total = result->tree.total();
  require(sum_of_lines(output::folded(result->tree, {WeightKind::time, TimeUnit::ns})) == total.ns);
  require(sum_of_lines(output::folded(result->tree, {WeightKind::time, TimeUnit::us})) == total.ns / 1000);
  require(sum_of_lines(output::folded(result->tree, {WeightKind::count})) == total.count);
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
      require(bucket.bucket < profile::kLatencyBuckets);
      count += bucket.count;
    }
    require(count == row.count);
  }
  require(rows.info.covered.percent() >= 0 && rows.info.covered.percent() <= 100);
}

void report(std::string_view text) {
  auto reader = open(text, {.lenient = true});
  if (!reader) {
    return;
  }
  const auto rows = analyze::aggregate(*reader, {.host = true, .idle = true, .latency = true});
  if (rows) {
    require_sums(rows.value());
    const analyze::Summary summary = analyze::summarize(rows.value(), 10);
    collect_text([&](TextStream& out) { output::report_table(summary, 100, out); });
    collect_text([&](TextStream& out) { output::report_json(summary, out); });
    using analyze::Measure;
    for (const auto& [measure, expected] :
         {std::pair(Measure::busy, rows->busy_ns), std::pair(Measure::exclusive, rows->exclusive_ns),
          std::pair(Measure::idle, rows->idle_ns)}) {
      require(analyze::fold(rows.value(), {.measure = measure}).tree.total().ns == expected);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  fold(text, false);
  fold(text, true);
  report(text);
  const std::string once = rewrite(text);
  require(once.empty() || rewrite(once) == once);
  return 0;
}
