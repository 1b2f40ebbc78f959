#include <string>

#include "analyze/rows/latency.h"
#include "catch.h"
#include "output/latency.h"
#include "profile/log_buckets.h"
#include "profile/text_input.h"

using namespace gpuprof;
using analyze::latency_lines;
using analyze::LatencyLine;

namespace {

analyze::Aggregate read(const std::string& text) {
  auto reader = test::open_text(text);
  REQUIRE(reader);
  auto rows = analyze::aggregate(*reader, {.latency = true});
  INFO((rows ? std::string() : rows.error().message));
  REQUIRE(rows);
  return std::move(rows).value();
}

const std::string kBase =
    "GPUPROF;3.0\nSTRING;1;app\nSTRING;2;main\nSTRING;3;gemm\nSTRING;4;relu\nFRAME;1;native;2;0;0;0;0;0\nUSTACK;1;1\n"
    "PROCESS;1;7;1;5;1;0;0;0\nWORK;1;1;7;0;1;0;0;0;0;4;kernel;3;0\nWORK;2;1;7;0;0;0;0;0;0;4;kernel;3;0\n"
    "WORK;3;1;7;0;1;0;0;0;0;4;kernel;4;0\n";

std::string latency(int work, const char* phase, std::initializer_list<uint64_t> values) {
  uint64_t sum = 0;
  std::string buckets;
  for (const uint64_t value : values) {
    sum += value;
    buckets += ";" + std::to_string(profile::LatencyBuckets::of(value)) + ";1";
  }
  return "LATENCY;" + std::to_string(work) + ";" + phase + ";" + std::to_string(values.size()) + ";" +
         std::to_string(sum) + ";" + std::to_string(std::min(values)) + ";" + std::to_string(std::max(values)) +
         buckets + "\n";
}

}  // namespace

TEST_CASE("latencies are grouped by kernel or by call path, the longest first") {
  const auto rows = read(kBase + latency(1, "call_to_start", {1, 2, 3}) + latency(2, "call_to_start", {100}) +
                         latency(3, "call_to_start", {50}) + latency(3, "call_to_queued", {7}));
  const auto work = latency_lines(rows, {});
  REQUIRE(work.size() == 2);
  CHECK(work[0].work == "gemm");
  CHECK(work[0].count() == 4);
  CHECK(work[0].phases[3].sum_ns == 106);
  CHECK(work[0].phases[3].min_ns == 1);
  CHECK(work[0].phases[3].max_ns == 100);
  CHECK(work[0].phases[0].count == 0);
  CHECK(work[1].phases[0].max_ns == 7);
  CHECK(work[0].path.empty());
  const auto paths = latency_lines(rows, {.paths = true});
  REQUIRE(paths.size() == 3);
  CHECK(paths[0].path.frames() == std::vector<std::string_view>{"[no CPU stack]"});
  CHECK(paths[1].work == "relu");
  CHECK(paths[2].path.frames() == std::vector<std::string_view>{"main"});
  CHECK(paths[2].process == "app");
  CHECK(latency_lines(rows, {.top = 1}).size() == 1);
  const auto only = latency_lines(rows, {.wanted = [](std::string_view name) { return name == "relu"; }});
  REQUIRE(only.size() == 1);
  CHECK(only[0].work == "relu");
}

TEST_CASE("a percentile is never too low, and at most an eighth too high") {
  std::string text = kBase;
  for (uint64_t value = 1; value <= 1000; ++value) {
    text += latency(1, "submitted_to_start", {value});
  }
  const auto lines = latency_lines(read(text), {});
  REQUIRE(lines.size() == 1);
  const auto& stats = lines[0].phases[2];
  CHECK(stats.count == 1000);
  const std::pair<uint64_t, uint64_t> percentiles[] = {{stats.p50_ns, 500}, {stats.p90_ns, 900}, {stats.p99_ns, 990}};
  for (const auto& [got, exact] : percentiles) {
    CHECK(got >= exact);
    CHECK(got <= exact + exact / 8);
    CHECK(got <= stats.max_ns);
  }
  CHECK(stats.max_ns == 1000);
  // A single value is equal to all of its percentiles.
  const auto one = latency_lines(read(kBase + latency(1, "call_to_start", {777})), {});
  CHECK(one[0].phases[3].p50_ns == 777);
  CHECK(one[0].phases[3].p99_ns == 777);
}

TEST_CASE("the table has a row for each power of two and a column for each phase with values") {
  const auto rows =
      read(kBase + latency(1, "call_to_start", {0, 5, 6, 1000, 1023, 1024}) + latency(1, "submitted_to_start", {600}));
  const std::string table =
      collect_text([&](TextStream& out) { output::latency_table(latency_lines(rows, {}), 100, out); });
  CHECK(table.starts_with("gemm\n  phase"));
  CHECK(table.find("call to queued") == std::string::npos);
  CHECK(table.find("\n                 0 ns" + std::string(34, ' ') + "        1 ####") != std::string::npos);
  CHECK(table.find("512 ns .. 1.02 us        1 ####") != std::string::npos);
  CHECK(table.find("1.02 us .. 2.05 us") != std::string::npos);
  for (size_t at = 0; at < table.size();) {
    const size_t end = table.find('\n', at);
    CHECK(end - at <= 100);
    at = end + 1;
  }
}

TEST_CASE("latencies in JSON have every bucket") {
  const auto rows = read(kBase + latency(1, "call_to_start", {5, 600}));
  CHECK(collect_text(
            [&](TextStream& out) { output::latency_json(latency_lines(rows, {.paths = true}), rows.info, out); }) ==
        "{\"schema_version\":1,\"missing\":[\"the profile is cut short: it has no END "
        "record\"],\"latencies\":[{\"name\":\"gemm\",\"process\":\"app\",\"path\":[\"main\"],\"phases\":{"
        "\"call_to_start\":{\"count\":2,\"sum_ns\":605,\"min_ns\":5,\"p50_ns\":5,\"p90_ns\":600,\"p99_ns\":600,"
        "\"max_ns\":600,\"buckets\":[[5,5,1],[576,639,1]]}}}]}\n");
}
