#include "analyze/rows/aggregate.h"

#include <map>
#include <random>
#include <string>
#include <vector>

#include "analyze/names/labels.h"
#include "catch.h"
#include "profile/log_buckets.h"
#include "profile/random_profile.h"
#include "profile/text_input.h"

using namespace gpuprof;
using namespace gpuprof::analyze;
using test::open_text;

namespace {

constexpr AggregateOptions kAll = {.host = true, .idle = true, .latency = true, .blocks = true};
const std::string kMost = "18446744073709551615";

Aggregate aggregate_text(const std::string& text, const AggregateOptions& options = kAll, bool lenient = false) {
  auto reader = open_text(text, lenient);
  REQUIRE(reader);
  auto result = aggregate(*reader, options);
  INFO((result ? std::string() : result.error().message));
  REQUIRE(result);
  return std::move(result).value();
}

std::string aggregate_error(const std::string& text, const AggregateOptions& options = kAll) {
  auto reader = open_text(text);
  REQUIRE(reader);
  const auto result = aggregate(*reader, options);
  return result ? "" : result.error().message;
}

std::vector<std::string> end_warnings(const Aggregate& rows) {
  std::vector<std::string> found;
  for (const std::string& warning : rows.info.warnings) {
    if (warning.find("END") != std::string::npos) {
      found.push_back(warning);
    }
  }
  return found;
}

// WORK records 1 and 2 are of device 1, 3 is of device 2. 4 is a CPU launch call, 5 and 6 are other CPU work, 7 has no
// sampled stack.
const std::string kAggregateBase =
    "GPUPROF;3.0\nSTRING;1;app\nSTRING;2;main\nSTRING;3;saxpy\nSTRING;4;cudaStreamSynchronize\n"
    "USTACK;1;main\nPROCESS;1;100;1;5;1;0;0;0\nDEVICE;1;0;0;0;0\nDEVICE;2;0;1;0;0\n"
    "WORK;1;1;7;0;1;0;0;0;1;0;kernel;3;0\nWORK;2;1;7;0;0;0;0;0;1;0;copy_htod;0;0\n"
    "WORK;3;1;7;0;1;0;0;0;2;0;kernel;3;0\nWORK;4;1;7;0;1;0;0;0;0;0;launch;4;0\n"
    "WORK;5;1;7;0;1;0;0;0;0;0;sync;4;0\nWORK;6;1;7;0;1;0;0;0;1;0;alloc;0;0\n"
    "WORK;7;1;7;0;0;0;0;0;1;0;kernel;3;2\nGPU_PLACE;1;0;0;0x8;0\n";

}  // namespace

TEST_CASE("each work item has one row, in whatever order its records come") {
  const Aggregate rows = aggregate_text(kAggregateBase +
                                        "GPU;0;2;1;7;7;7;49;0;4096\nGPU;0;1;2;30;10;20;500;0;0\n"
                                        "SHARE;0;1;25;24\nGPU;5;1;1;8;8;8;64;0;1\nSHARE;5;1;8;8\nLAUNCH;0;4;6\n"
                                        "LAUNCH;1;4;1\nEUSTALL;0;1;1;2;0;3;0\nEUSTALL;9;1;1;2;0;2;0\n"
                                        "EUSTALL;9;1;1;2;0;4;1\n");
  REQUIRE(rows.rows.size() == 3);
  CHECK(rows.rows[0].kind == RowKind::gpu);
  CHECK(rows.work(rows.rows[0]).op == profile::Op::copy_htod);
  CHECK(rows.rows[0].weight.bytes == 4096);
  const Row& kernel = rows.rows[1];
  CHECK(index(rows.work(kernel).id) == 1);
  CHECK(kernel.weight.ns == 38);
  CHECK(kernel.weight.count == 3);
  CHECK(kernel.weight.bytes == 1);
  CHECK(kernel.min_ns == 8);
  CHECK(kernel.max_ns == 20);
  CHECK(kernel.busy_ns == 33);
  CHECK(kernel.exclusive_ns == 32);
  CHECK(rows.rows[2].kind == RowKind::launch);
  CHECK(rows.rows[2].weight.count == 7);
  REQUIRE(rows.samples.size() == 2);
  CHECK(index(rows.work(rows.samples[0]).id) == 1);
  CHECK(index(rows.samples[0].key.place) == 1);
  CHECK(rows.samples[0].count == 5);
  CHECK(rows.samples[1].count == 4);
  CHECK(rows.sample_count == 9);
  CHECK(rows.info.samples == 9);
  CHECK(rows.info.estimated == 4);
  CHECK(rows.total.ns == 45);
  CHECK(rows.total.count == 11);
  CHECK(rows.busy_ns == 33);
  CHECK(rows.has_shares);
  CHECK(rows.info.kind == ProfileKind::mixed);
  CHECK(rows.info.gpu_records == 4);
  CHECK(rows.info.launches == 7);
  CHECK(rows.info.records == 8);
}

TEST_CASE("CPU time is not counted as GPU time") {
  const std::string text = kAggregateBase +
                           "GPU;0;1;1;10;10;10;0;0;0\nHOST;0;5;2;100;40;60;0\nHOST;1;5;1;5;5;5;0\n"
                           "HOST;0;6;3;0;0;0;77\nEND;9;1;1;10;1;0;0\n";
  const Aggregate rows = aggregate_text(text);
  CHECK(rows.rows.size() == 1);
  CHECK(rows.total.ns == 10);
  CHECK(rows.info.warnings.empty());
  CHECK(rows.info.kind == ProfileKind::durations);
  REQUIRE(rows.host.size() == 2);
  CHECK(rows.host[0].kind == RowKind::host);
  CHECK(rows.work(rows.host[0]).op == profile::Op::sync);
  CHECK(rows.host[0].weight.ns == 105);
  CHECK(rows.host[0].weight.count == 3);
  CHECK(rows.host[0].min_ns == 5);
  CHECK(rows.host[0].max_ns == 60);
  CHECK(rows.host[1].weight.bytes == 77);
  CHECK(rows.host_total.ns == 105);
  CHECK(rows.host_total.count == 6);
  const Aggregate without = aggregate_text(text, {});
  CHECK(without.host.empty());
  CHECK(without.host_total.ns == 105);
}

TEST_CASE("idle time is summed by device and by the work item that ended it") {
  const std::string text = kAggregateBase + "IDLE;0;1;1;10\nIDLE;1;1;1;5\nIDLE;1;2;1;7\nIDLE;1;1;0;3\nIDLE;1;1;5;4\n";
  const Aggregate rows = aggregate_text(text);
  REQUIRE(rows.idle.size() == 4);
  CHECK(index(rows.idle[0].device) == 1);
  CHECK(index(rows.idle[0].work) == 1);
  CHECK(rows.idle[0].ns == 15);
  CHECK(index(rows.idle[1].device) == 2);
  CHECK(rows.idle[2].ns == 3);
  CHECK(index(rows.idle[2].work) == 0);
  CHECK(rows.idle_ns == 29);
  CHECK(rows.device_times.at(profile::DeviceId{1}).idle_ns == 22);
  CHECK(rows.device_times.at(profile::DeviceId{2}).idle_ns == 7);
  CHECK(aggregate_text(text, {}).idle.empty());
}

TEST_CASE("histograms with the same key add up, bucket by bucket") {
  const std::string text = kAggregateBase +
                           "LATENCY;1;call_to_start;2;30;10;20;10;1;18;1\n"
                           "LATENCY;1;call_to_queued;1;5;5;5;5;1\n"
                           "LATENCY;1;call_to_start;3;40;8;20;14;1;10;1;8;1\n"
                           "LATENCY;1;call_to_start;0;0;0;0\n";
  const Aggregate rows = aggregate_text(text);
  REQUIRE(rows.latencies.size() == 2);
  const LatencyRow& row = rows.latencies[0];
  CHECK(row.phase == profile::Phase::call_to_start);
  CHECK(row.count == 5);
  CHECK(row.sum_ns == 70);
  CHECK(row.min_ns == 8);
  CHECK(row.max_ns == 20);
  std::map<uint32_t, uint64_t> buckets;
  for (const auto& bucket : row.buckets) {
    CHECK((buckets.empty() || buckets.rbegin()->first < bucket.bucket));
    buckets[bucket.bucket] = bucket.count;
  }
  CHECK(buckets == std::map<uint32_t, uint64_t>{{8, 1}, {10, 2}, {14, 1}, {18, 1}});
  CHECK(rows.latencies[1].count == 1);
  CHECK(aggregate_text(text, {}).latencies.empty());
}

TEST_CASE("coverage, losses, windows and timeline records are summed") {
  const Aggregate rows = aggregate_text(kAggregateBase +
                                        "COVERAGE;0;launches;5\nCOVERAGE;1;launches;2\nCOVERAGE;1;new_word;1\n"
                                        "LOSS;0;ring_full;3\nLOSS;1;ring_full;1\nLOSS;1;late_name;1\n"
                                        "WINDOW;10;30\nWINDOW;50;51\n"
                                        "EVENT;1;1;1;2;0;0;0\nEVENT;5;2;1;2;0;0;0\nCALL;1;7;1;4;1;1;2\n"
                                        "SPAN;1;7;0;1;2\n");
  CHECK(rows.info.coverage == std::map<std::string, uint64_t>{{"launches", 7}, {"new_word", 1}});
  CHECK(rows.info.losses == std::map<std::string, uint64_t>{{"ring_full", 4}, {"late_name", 1}});
  REQUIRE(rows.windows.size() == 2);
  CHECK(rows.windows[1].start_ns == 50);
  CHECK(rows.window_ns == 21);
  CHECK(rows.info.events == 4);
  CHECK(rows.info.records == 0);
}

TEST_CASE("the sums of weighted windows are scaled to all launches of each process") {
  // Process 1 made 10 launches in windows and 90 between them. Its windows stand for 80 launches.
  const std::string text = kAggregateBase +
                           "PROCESS;2;200;1;5;1;0;0;0\nWORK;8;2;7;0;1;0;0;0;1;0;kernel;3;0\n"
                           "WINDOW;10;30;8\nGPU;0;1;60;600;10;10;0;40;0\nGPU;0;2;20;100;5;5;0;0;2000\n"
                           "HOST;0;5;8;80;10;10;0\nHOST;0;6;3;0;0;0;300\n"
                           "GPU;0;8;7;70;10;10;0;0;0\n"
                           "COVERAGE;1;represented;100\nCOVERAGE;1;weighted;80\n";
  const Aggregate rows = aggregate_text(text, {.host = true, .squares = true, .queue = true});
  REQUIRE(rows.rows.size() == 3);
  CHECK(rows.rows[0].weight.count == 75);
  CHECK(rows.rows[0].weight.ns == 750);
  CHECK(rows.rows[0].min_ns == 10);
  CHECK(rows.queue_ns[0] == 50);
  CHECK(rows.rows[1].weight.count == 25);
  CHECK(rows.rows[1].weight.bytes == 2500);
  CHECK(rows.rows[2].weight.count == 7);  // this process has no counts
  CHECK(rows.host[0].weight.count == 10);
  CHECK(rows.host[1].weight.bytes == 300);  // memory is not scaled
  CHECK(rows.host_total.count == 13);
  CHECK(rows.total.count == 107);
  CHECK(rows.total.ns == 750 + 125 + 70);
  CHECK(rows.info.gpu_records == 107);
  CHECK(rows.info.is_estimate());
  CHECK(rows.info.windows == 1);
}

TEST_CASE("failed calls of weighted windows are scaled as their table, and so are the GPU records of the coverage") {
  const std::string text = kAggregateBase +
                           "PROCESS;2;200;1;5;1;0;0;0\nWORK;8;1;7;0;1;0;0;0;0;0;failed;4;0\n"
                           "WORK;9;2;7;0;1;0;0;0;0;0;failed;4;0\nWINDOW;10;30;8\nGPU;0;1;60;600;10;10;0;0;0\n"
                           "GPU;0;2;20;200;10;10;0;0;0\nHOST;0;8;6;0;0;0;0\nHOST;1;8;2;0;0;0;0\nHOST;0;9;5;0;0;0;0\n"
                           "COVERAGE;1;represented;100\nCOVERAGE;1;weighted;80\n";
  const Aggregate rows = aggregate_text(text, {.host = true});
  CHECK(rows.info.failures.at("cudaStreamSynchronize") == 10 + 5);
  CHECK(rows.host_total.count == 10 + 5);
  CHECK(rows.info.gpu_records == 100);
  CHECK(rows.info.covered.percent_text() == "75.00%");
}

// Process 1 made twice as many launches as its windows stand for, process 2 three times as many.
const std::string kTwoScales =
    kAggregateBase +
    "META;start_ns;0\nMETA;interval_ns;1000000000\nMETA;budget.max_overhead_percent;1\n"
    "PROCESS;2;200;1;5;1;0;0;0\nWORK;8;2;7;0;0;0;0;0;1;0;kernel;3;0\nWINDOW;10;30;8\n"
    "GPU;0;1;10;100;10;10;0;7;0\nGPU;1;8;20;200;10;10;0;9;0\n"
    "COVERAGE;1;represented;20\nCOVERAGE;1;weighted;10\nCOVERAGE;1;without_launch;2\n"
    "COVERAGE;2;represented;60\nCOVERAGE;2;weighted;20\nCOVERAGE;2;without_stack;20\nCOVERAGE;2;without_launch;1\n";

TEST_CASE("counts of a complete recording are scaled by process, also if a time window has only one of them") {
  for (const auto& window : {std::optional<TimeWindow>(), std::optional(TimeWindow{0, 1'000'000'000})}) {
    const Aggregate rows = aggregate_text(kTwoScales, {.queue = true, .window = window});
    CHECK(rows.total.count == (window ? 20 : 80));
    CHECK(rows.queue_total_ns == (window ? 14 : 14 + 27));
    CHECK(rows.info.gpu_records == 20 + 60);
    CHECK(rows.info.with_stack == 20);
    CHECK(rows.info.covered.percent_text() == "25.00%");
    CHECK(rows.info.represented_records(profile::CoverageCount::without_stack) == 60);
    CHECK(rows.info.represented_records(profile::CoverageCount::without_launch) == 2 * 2 + 3);
  }
}

TEST_CASE("the scaled numbers of rows, kernels and paths add up to that of their process") {
  // 90 launches stand for 121. Each of 30 rows has 3 of them, 4.0333 when scaled. A kernel has 6 rows, a path 3 of
  // them.
  std::string text = kAggregateBase + "WINDOW;10;30;8\nCOVERAGE;1;represented;121\nCOVERAGE;1;weighted;90\n";
  for (int i = 0; i < 30; ++i) {
    const std::string id = std::to_string(20 + i);
    text += "STRING;" + id + ";k" + std::to_string(i % 5) + "\nWORK;" + id + ";1;7;0;" + std::to_string(i % 2) +
            ";0;0;0;0;0;kernel;" + std::to_string(20 + i % 5) + ";0\nGPU;0;" + id + ";3;30;10;10;0;0;0\n";
  }
  const Aggregate rows = aggregate_text(text);
  CHECK(rows.total.count == 121);
  CHECK(rows.info.gpu_records == 121);
  std::map<std::string_view, uint64_t> kernels;
  std::map<std::pair<std::string_view, profile::StackId>, uint64_t> paths;
  for (const Row& row : rows.rows) {
    const std::string_view name = rows.tables.text(rows.work(row).name);
    CHECK((row.weight.count == 4 || row.weight.count == 5));
    kernels[name] += row.weight.count;
    paths[{name, rows.work(row).ustack}] += row.weight.count;
  }
  for (const auto& [name, count] : kernels) {
    CHECK((count == 24 || count == 25));  // 24.2
  }
  for (const auto& [path, count] : paths) {
    CHECK((count == 12 || count == 13));  // 12.1
  }
}

TEST_CASE("lost work of weighted windows counts as much as recorded work") {
  const Aggregate rows = aggregate_text(kAggregateBase +
                                        "WINDOW;10;30;8\nGPU;0;1;80;800;10;10;0;0;0\nLOSS;1;ring_full;30\n"
                                        "COVERAGE;1;launches;40\nCOVERAGE;1;matched;10\nCOVERAGE;1;without_record;30\n"
                                        "COVERAGE;1;represented;100\nCOVERAGE;1;weighted;80\n");
  CHECK(rows.info.covered.percent_text() == "25.00%");
}

TEST_CASE("each process of a merged profile gives its own weight to its lost work") {
  // Process 1 matched 10 of 1000 launches, so each of its losses stands for 100. All of process 2 was recorded.
  const std::string text = kAggregateBase +
                           "PROCESS;2;200;1;5;1;0;0;0\nWORK;8;2;7;0;1;0;0;0;1;0;kernel;3;0\nWINDOW;10;30;8\n"
                           "GPU;0;1;500;5000;10;10;0;0;0\nGPU;0;8;1000;9000;9;9;0;0;0\n"
                           "COVERAGE;1;matched;10\nCOVERAGE;1;represented;1000\nCOVERAGE;1;weighted;500\n"
                           "COVERAGE;2;matched;1000\n";
  CHECK(aggregate_text(text + "LOSS;1;ring_full;3\n").info.covered.lost == 300);
  CHECK(aggregate_text(text + "LOSS;2;ring_full;3\n").info.covered.lost == 3);
  CHECK(aggregate_text(text + "COVERAGE;2;without_record;7\nLOSS;2;ring_full;3\n").info.covered.lost == 7);
  CHECK(aggregate_text(text + "LOSS;1;details_lost;3\n").info.covered.lost == 0);
  // Losses of no process have the mean weight, here 2000 / 1010.
  CHECK(aggregate_text(text + "LOSS;0;malformed;101\n").info.covered.lost == 200);
}

TEST_CASE("forged windows and counts neither overflow nor scale a complete recording") {
  const std::string forged = "COVERAGE;1;represented;" + kMost + "\nCOVERAGE;1;weighted;1\n";
  const std::string gpu = "GPU;0;1;40;4000000000000000000;1;4000000000000000000;0;0;0\n";
  CHECK(aggregate_text(kAggregateBase + gpu + forged).rows[0].weight.count == 40);
  const Aggregate rows = aggregate_text(kAggregateBase + "WINDOW;0;" + kMost + ";" + kMost + "\nWINDOW;5;" + kMost +
                                        ";2\n" + gpu + forged);
  CHECK(rows.rows[0].weight.count == 40);
}

TEST_CASE("a sum that exceeds 64 bits is an error for every kind of record") {
  const std::pair<std::string, std::string> lines[] = {
      {"GPU;0;1;1;" + kMost + ";" + kMost + ";" + kMost + ";0;0;0", "GPU;0;3;1;1;1;1;0;0;0"},
      {"GPU;0;1;" + kMost + ";0;0;0;0;0;0", "LAUNCH;0;4;1"},
      {"GPU;0;1;0;0;0;0;0;0;" + kMost, "GPU;0;2;0;0;0;0;0;0;1"},
      {"LAUNCH;0;4;" + kMost, "GPU;0;1;1;0;0;0;0;0;0"},
      {"EUSTALL;0;1;1;0;0;" + kMost + ";0", "EUSTALL;0;3;1;0;0;1;0"},
      {"HOST;0;5;1;" + kMost + ";1;1;0", "HOST;0;6;1;1;1;1;0"},
      {"HOST;0;5;" + kMost + ";1;1;1;0", "HOST;0;6;1;0;0;0;0"},
      {"HOST;0;5;1;1;1;1;" + kMost, "HOST;0;6;1;0;0;0;1"},
      {"SHARE;0;1;" + kMost + ";0", "SHARE;0;3;1;0"},
      {"SHARE;0;1;0;" + kMost, "SHARE;0;3;0;1"},
      {"IDLE;0;1;0;" + kMost, "IDLE;0;2;0;1"},
      {"LOSS;0;a;" + kMost, "LOSS;0;b;1"},
      {"COVERAGE;0;a;" + kMost, "COVERAGE;0;a;1"},
      {"LATENCY;1;call_to_start;1;" + kMost + ";" + kMost + ";" + kMost + ";495;1",
       "LATENCY;1;call_to_start;1;1;1;1;1;1"},
      {"BLOCKS;0;1;1;" + kMost + ";0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0",
       "BLOCKS;0;3;1;1;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0"},
  };
  for (const auto& [most, one] : lines) {
    INFO(most << " then " << one);
    CHECK(aggregate_error(kAggregateBase + most + "\n").empty());
    CHECK(aggregate_error(kAggregateBase + one + "\n").empty());
    CHECK(aggregate_error(kAggregateBase + most + "\n" + one + "\n").find("exceeds 64 bits") != std::string::npos);
    // A rejected record changes no sum.
    const std::string end = "END;1;1;0;0;0;0;0\n";
    const Aggregate with = aggregate_text(kAggregateBase + most + "\n" + one + "\n" + end, kAll, true);
    const Aggregate without = aggregate_text(kAggregateBase + most + "\n" + end, kAll, true);
    CHECK(with.info.skipped_bad == 1);
    CHECK(with.rows.size() == without.rows.size());
    CHECK(with.samples.size() == without.samples.size());
    CHECK(with.sample_count == without.sample_count);
    CHECK(with.host.size() == without.host.size());
    CHECK(with.idle.size() == without.idle.size());
    CHECK(with.total.ns == without.total.ns);
    CHECK(with.total.count == without.total.count);
    CHECK(with.busy_ns == without.busy_ns);
    CHECK(with.idle_ns == without.idle_ns);
    CHECK(with.window_ns == without.window_ns);
    CHECK(with.windows.size() == without.windows.size());
    CHECK(with.host_total.ns == without.host_total.ns);
    CHECK(with.host_total.count == without.host_total.count);
    CHECK(end_warnings(with) == end_warnings(without));
    CHECK(with.exclusive_ns == without.exclusive_ns);
    CHECK(with.info.losses == without.info.losses);
    CHECK(with.info.coverage == without.info.coverage);
    for (size_t i = 0; i < with.latencies.size(); ++i) {
      CHECK(with.latencies[i].count == without.latencies[i].count);
      CHECK(with.latencies[i].buckets.size() == without.latencies[i].buckets.size());
    }
  }
}

TEST_CASE("a device whose busy and idle time do not add up to the recorded time causes a warning") {
  const std::string good = kAggregateBase +
                           "GPU;0;1;1;30;30;30;0;0;0\nGPU;0;2;1;30;30;30;0;0;0\nGPU;0;3;1;5;5;5;0;0;0\n"
                           "SHARE;0;1;30;20\nSHARE;0;2;10;20\nSHARE;0;3;5;5\nIDLE;0;1;1;60\nIDLE;0;2;3;95\n";
  const std::string end = "END;9;3;3;65;2;0;0\n";
  CHECK(aggregate_text(good + "WINDOW;0;100\n" + end).info.warnings.empty());
  CHECK(aggregate_text(good + "WINDOW;0;60\nWINDOW;70;110\n" + end).info.warnings.empty());
  CHECK(aggregate_text(good + "WINDOW;0;60\n").info.warnings.empty());  // the profile has no END: it was truncated
  const auto idle = aggregate_text(good + "WINDOW;0;100\nIDLE;1;2;0;1\n" + end).info.warnings;
  REQUIRE(idle.size() == 1);
  CHECK(idle[0] == "device 1 was busy for 5 ns and idle for 96 ns, but the recorded windows last 100 ns");
  const auto share = aggregate_text(good + "WINDOW;0;101\nSHARE;1;1;1;2\nIDLE;1;2;0;1\n" + end).info.warnings;
  REQUIRE(share.size() == 1);
  CHECK(share[0] == "the SHARE records of device 0 hold 41 ns of busy time, but 42 ns of exclusive time");
  // GPU work without SHARE records causes no warning.
  CHECK(aggregate_text(kAggregateBase + "GPU;0;1;1;1;1;1;0;0;0\nEND;9;1;1;1;1;0;0\n").info.warnings.empty());
  // A merged profile has the WINDOW records (recorded intervals) of all inputs. A device that only one input recorded
  // has less busy and idle time than all windows together. This causes no warning.
  CHECK(aggregate_text(good + "STRING;9;node2\nPROCESS;2;1;1;1;0;0;0;9\nWINDOW;0;100\nWINDOW;0;100\n" + end)
            .info.warnings.empty());
}

TEST_CASE("totals in END that differ from the sums of the records cause warnings") {
  const auto warnings =
      aggregate_text(kAggregateBase +
                     "GPU;0;1;2;30;10;20;0;0;0\nLOSS;0;a;1\nEUSTALL;0;1;0;0;0;4;0\nEND;9;1;3;31;1;5;2\n")
          .info.warnings;
  REQUIRE(warnings.size() == 4);
  CHECK(warnings[0] == "the END record counts 3 GPU records, the records before it sum up to 2");
  CHECK(warnings[1] == "the END record counts 31 ns of GPU time, the records before it sum up to 30");
  CHECK(warnings[2] == "the END record counts 5 samples, the records before it sum up to 4");
  CHECK(warnings[3] == "the END record counts 2 lost records, the records before it sum up to 1");
  CHECK(aggregate_error(kAggregateBase + "END;1;0;0;0;0;0;0\nWINDOW;1;2\n") == "p.txt:19: there are records after END");
}

TEST_CASE("coverage is the share of GPU work with a stack") {
  const auto percent = [](const std::string& lines) {
    return aggregate_text("GPUPROF;3.0\n" + kAggregateBase.substr(kAggregateBase.find('\n') + 1) + lines)
        .info.covered.percent();
  };
  const std::string three = "GPU;0;1;3;3;1;1;0;0;0\n";  // three launches with a stack
  CHECK(percent("") == 0);
  CHECK(percent(three) == 100);
  CHECK(percent(three + "GPU;0;2;1;1;1;1;0;0;0\n") == 75);
  CHECK(percent(three + "GPU;0;7;1;1;1;1;0;0;0\n") == 75);  // the fourth work item has no sampled stack
  CHECK(percent(three + "LOSS;0;ring_full;1\n") == 75);
  CHECK(percent(three + "LOSS;0;of_the_future;1\n") == 75);
  CHECK(percent(three + "LOSS;0;bpf_ring_full;1\nLOSS;0;reentrant;5\n") == 100);
  // A lost record and a launch without a record may be the same event, so the larger count is used.
  CHECK(percent(three + "LOSS;0;vendor_dropped;1\nCOVERAGE;0;without_record;1\n") == 75);
  CHECK(percent(three + "COVERAGE;0;without_record;3\n") == 50);
  CHECK(percent("LOSS;0;ring_full;1\n") == 0);
  CHECK(percent(three + "LOSS;0;ring_full;" + kMost + "\n") < 1e-9);
  // In a complete profile, the coverage uses the END record's count of work items with a stack.
  CHECK(percent("GPU;0;1;4;4;1;1;0;0;0\nEND;9;4;4;4;1;0;0\n") == 25);
  CHECK(percent("GPU;0;1;4;4;1;1;0;0;0\nEND;9;4;4;4;9;0;0\n") == 100);
  CHECK(percent("LAUNCH;0;4;3\n") == 100);
  CHECK(percent("WORK;8;1;7;0;0;0;0;0;0;0;launch;4;0\nLAUNCH;0;4;3\nLAUNCH;0;8;1\n") == 75);
  CHECK(percent("EUSTALL;0;1;0;0;0;1;0\nEUSTALL;0;2;0;0;0;1;0\n") == 50);
  // Lost samples do not lower the coverage, unless the profile holds only samples.
  CHECK(percent("EUSTALL;0;1;0;0;0;1;0\nEUSTALL;0;2;0;0;0;1;0\nLOSS;0;samples_dropped;2\n") == 25);
  CHECK(percent(three + "LOSS;0;samples_dropped;5\n") == 100);
}

TEST_CASE("errors are reported in the order of the lines, even if records are queued") {
  const std::string stall = "EUSTALL;0;1;8;0;0;1;0\n";  // GPU_PLACE 8 is undefined
  for (const char* after : {"GPU;0;99;1;1;1;1;1;0;0\n", "SHARE;0;99;1;1\n", "LAUNCH;0;99;1\n", "EVENT;99;1;1;1;0;0;0\n",
                            "GPU_PLACE;8;0;0;0;0\n", "rubbish\n", "WINDOW;2;1\n"}) {
    CHECK(aggregate_error(kAggregateBase + stall + after) == "p.txt:18: GPU_PLACE 8 is not defined");
  }
  CHECK(aggregate_error(kAggregateBase + "GPU;0;5;1;1;1;1;1;0;0\n") ==
        "p.txt:18: GPU: WORK 5 has the operation 'sync', which does not fit this kind of record");
  // A SHARE record gets the same error if its work already has a row from a HOST record.
  CHECK(aggregate_error(kAggregateBase + "HOST;0;5;1;1;1;1;0\nSHARE;0;5;1;1\n") ==
        "p.txt:19: SHARE: WORK 5 has the operation 'sync', which does not fit this kind of record");
  CHECK(aggregate_error(kAggregateBase + "GPU;0;1;1;1;1;1;1;0;0\nLAUNCH;0;1;1\n") ==
        "p.txt:19: LAUNCH: WORK 1 has the operation 'kernel', which does not fit this kind of record");
  CHECK(aggregate_error(kAggregateBase + "GPU;0;0;1;1;1;1;1;0;0\n") == "p.txt:18: WORK 0 is not defined");
}

TEST_CASE("rows are correct for many work items with arbitrary ids") {
  struct Expected {
    bool host = false;
    uint64_t ns = 0;
  };
  std::string text = "GPUPROF;3.0\n";
  const auto id = [](uint32_t i) { return i % 3 == 0 ? 4294967295U - i : i % 3 == 1 ? i : 7 * i; };
  std::map<uint32_t, Expected> works;
  for (uint32_t i = 1; i <= 3000; ++i) {
    if (works.try_emplace(id(i), Expected{.host = i % 5 == 0}).second) {
      text += "WORK;" + std::to_string(id(i)) + ";0;0;0;0;0;0;0;0;" + std::to_string(id(i)) + ";" +
              (i % 5 == 0 ? "sync" : "kernel") + ";0;0\n";
    }
  }
  std::mt19937 random(3);
  for (uint64_t i = 1; i <= 20000; ++i) {
    const uint32_t work = id(1 + static_cast<uint32_t>(random() % 3000));
    const std::string ns = std::to_string(i);
    Expected& expected = works.at(work);
    text += (expected.host ? "HOST;0;" : "GPU;0;") + std::to_string(work) + ";1;" + ns + ";" + ns + ";" + ns +
            (expected.host ? ";0\n" : ";0;0;0\n");
    expected.ns += i;
  }
  const Aggregate rows = aggregate_text(text);
  CHECK(rows.rows.size() + rows.host.size() > 2000);
  for (const auto* list : {&rows.rows, &rows.host}) {
    for (const Row& row : *list) {
      const uint32_t work = index(rows.work(row).id);
      CHECK(row.weight.ns == works.at(work).ns);
      CHECK(rows.work(row).stream == work);
      works.erase(work);
    }
  }
  for (const auto& [work, expected] : works) {
    CHECK(expected.ns == 0);
  }
}

TEST_CASE("work items and ranges have labels, also those without a name") {
  const Aggregate rows = aggregate_text(kAggregateBase);
  const auto label = [&rows](profile::Op op, uint32_t name) {
    return work_label(rows.tables, profile::Work{.op = op, .name = profile::StringId{name}});
  };
  using profile::Op;
  CHECK(label(Op::kernel, 3) == "saxpy");
  CHECK(label(Op::kernel, 0) == "[unknown]");
  CHECK(label(Op::other, 3) == "saxpy");
  CHECK(label(Op::copy_htod, 3) == "[copy HtoD]");
  CHECK(label(Op::graph, 0) == "[graph launch]");
  CHECK(label(Op::graph, 3) == "[saxpy]");
  CHECK(label(Op::launch, 3) == "[saxpy launches]");
  CHECK(label(Op::launch, 0) == "[launches]");
  CHECK(label(Op::sync, 4) == "[sync cudaStreamSynchronize]");
  CHECK(label(Op::sync, 0) == "[sync]");
  CHECK(label(Op::call, 4) == "[call cudaStreamSynchronize]");
  CHECK(label(Op::call, 0) == "[call]");
  CHECK(label(Op::alloc, 3) == "[alloc]");
  CHECK(label(Op::free, 0) == "[free]");
  CHECK(label(Op::fault_gpu, 0) == "[page faults GPU]");
  CHECK(label(Op::fault_cpu, 0) == "[page faults CPU]");
  CHECK(label(Op::migrate_htod, 0) == "[migrate HtoD]");
  CHECK(label(Op::migrate_dtoh, 0) == "[migrate DtoH]");
  CHECK(range_label(rows.tables, {.name = profile::StringId{3}}) == "saxpy");
  CHECK(range_label(rows.tables, {.domain = profile::StringId{1}, .name = profile::StringId{3}}) == "app:saxpy");
  CHECK(range_label(rows.tables, {}) == "[unknown]");
}

TEST_CASE("the sums of a random profile are all in its rows") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    const test::RandomProfile random(seed);
    const Aggregate rows = aggregate_text(random.text);
    CHECK(rows.total.ns == random.gpu_ns);
    CHECK(rows.info.gpu_records == random.gpu_count);
    CHECK(rows.host_total.ns == random.host_ns);
    CHECK(rows.busy_ns == random.busy_ns);
    CHECK(rows.idle_ns == random.idle_ns);
    CHECK(rows.info.launches == random.launches);
    CHECK(rows.info.events == random.events);
    uint64_t ns = 0;
    uint64_t busy = 0;
    for (const Row& row : rows.rows) {
      ns += row.weight.ns;
      busy += row.busy_ns;
      CHECK(row.min_ns <= row.max_ns);
      CHECK(row.max_ns <= row.weight.ns);
    }
    CHECK(ns == random.gpu_ns);
    CHECK(busy == random.busy_ns);
    uint64_t host = 0;
    for (const Row& row : rows.host) {
      host += row.weight.ns;
    }
    CHECK(host == random.host_ns);
    uint64_t idle = 0;
    for (const IdleRow& row : rows.idle) {
      idle += row.ns;
    }
    CHECK(idle == random.idle_ns);
    uint64_t values = 0;
    for (const LatencyRow& row : rows.latencies) {
      for (const auto& bucket : row.buckets) {
        values += bucket.count;
      }
    }
    CHECK(values == random.latencies);
    uint64_t block_ns = 0;
    for (const BlocksRow& row : rows.blocks) {
      block_ns += row.totals.sums.sum_ns;
    }
    CHECK(block_ns == random.block_ns);
    CHECK(rows.info.covered.percent() >= 0);
    CHECK(rows.info.covered.percent() <= 100);
  }
}

TEST_CASE("BLOCKS lines of a WORK add up, those of the selected slices") {
  const std::string text =
      "GPUPROF;3.6\nMETA;start_ns;0\nMETA;interval_ns;100\nWORK;1;0;0;0;0;0;0;0;0;0;kernel;0;0\n"
      "WORK;2;0;0;0;0;0;0;0;0;0;kernel;0;0\nGPU;0;1;1;9;9;9;81;0;0\nGPU;1;1;1;9;9;9;81;0;0\n"
      "BLOCKS;0;1;1;4;2;9;9;9;9;9;9;0;0;0;0;1;8;6;1;2;3;70;6;1\n"
      "BLOCKS;1;1;2;4;4;9;9;9;9;9;9;0;0;0;0;1;9;7;4;5;6;71;3;1;6;1\n"
      "BLOCKS;1;2;1;1;1;5;5;5;5;5;5;0;0;0;0;1;9;5;0;0;0;72;5;1\n";
  const Aggregate rows = aggregate_text(text, kAll);
  REQUIRE(rows.blocks.size() == 2);
  const gpuprof::profile::BlockTotals& totals = rows.blocks[0].totals;
  CHECK(totals.sums.launches == 3);
  CHECK(totals.sums.grid == 8);
  CHECK(totals.sums.blocks == 6);
  CHECK(totals.sums.span_ns == 18);
  CHECK(totals.sums.device_sms == 9);
  CHECK(totals.sums.slowest_ns == 7);
  CHECK(totals.sums.z == 6);
  CHECK(totals.sums.correlation == 71);
  CHECK(totals.buckets == std::vector<gpuprof::profile::Blocks::Bucket>{{3, 1}, {6, 2}});
  CHECK(aggregate_text(text, {}).blocks.empty());
  AggregateOptions first = kAll;
  first.window = TimeWindow{0, 100};
  const Aggregate in_window = aggregate_text(text, first);
  REQUIRE(in_window.blocks.size() == 1);
  CHECK(in_window.blocks[0].totals.sums.launches == 1);
}

TEST_CASE("every prefix of a random profile adds up to the records in it") {
  const test::RandomProfile random(11);
  uint64_t before = 0;
  for (size_t length = 1; length < random.text.size(); length += 7) {
    const Aggregate rows = aggregate_text(random.text.substr(0, length));
    CHECK(rows.total.ns >= before);
    before = rows.total.ns;
    CHECK_FALSE(rows.info.complete);
  }
}

TEST_CASE("a damaged profile is an error, or is counted with lenient reading") {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    INFO("seed " << seed);
    const std::string text = test::damaged(test::RandomProfile(seed % 50).text, seed);
    auto strict = open_text(text);
    if (!strict) {
      continue;
    }
    const auto first = aggregate(*strict, kAll);
    auto lenient = open_text(text, true);
    const auto second = aggregate(*lenient, kAll);
    REQUIRE(second);
    CHECK((first ? second.value().info.skipped_bad == 0 : second.value().info.skipped_bad > 0));
    if (first) {
      CHECK(first.value().total.ns == second.value().total.ns);
      CHECK(first.value().rows.size() == second.value().rows.size());
    }
  }
}

TEST_CASE("idle time is only a limit if a device may have run other work") {
  gpuprof::analyze::ProfileInfo info;
  info.coverage = {{"launches", 5}, {"matched", 5}};
  REQUIRE_FALSE(info.lacks_gpu_work());
  const auto lacks = [&info](auto change) {
    gpuprof::analyze::ProfileInfo changed = info;
    change(changed);
    return changed.lacks_gpu_work();
  };
  REQUIRE(lacks([](auto& one) { one.losses["ring_full"] = 1; }));
  REQUIRE_FALSE(lacks([](auto& one) { one.losses["kernel_name"] = 1; }));
  REQUIRE(lacks([](auto& one) { one.coverage["between_windows"] = 1; }));
  REQUIRE(lacks([](auto& one) { one.coverage["outside_range"] = 1; }));
  REQUIRE(lacks([](auto& one) { one.meta.emplace("attach.pid", "42"); }));
  REQUIRE(lacks([](auto& one) { one.meta.emplace("sweep.late_ns", "7"); }));
}
