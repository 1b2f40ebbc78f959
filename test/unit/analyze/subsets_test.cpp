#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analyze/merge/recordings.h"
#include "analyze/rows/summarize.h"
#include "analyze/subsets/filter.h"
#include "analyze/subsets/split.h"
#include "catch.h"
#include "folding.h"
#include "profile/random_profile.h"
#include "profile/writer.h"

using namespace gpuprof;
using namespace gpuprof::analyze;
using output::WeightKind;

namespace {

std::vector<MergeInput> inputs_of(const std::vector<std::string>& texts) {
  std::vector<MergeInput> inputs;
  for (const std::string& text : texts) {
    inputs.push_back({.name = "p.txt", .bytes = text.size(), .reopen = [text] { return test::open_text(text); }});
  }
  return inputs;
}

RecordSink append_to(std::string& text) {
  profile::format_header(text);
  return [&text](const profile::Record& record) {
    profile::format_line(record, text);
    return Status();
  };
}

std::string merged_text(const std::vector<std::string>& texts) {
  std::string text;
  const auto result = merge(inputs_of(texts), append_to(text));
  INFO((result ? std::string() : result.error().message));
  REQUIRE(result);
  return text;
}

using Parts = std::map<std::string, std::string>;

Status try_split(const std::string& text, SplitBy by, uint64_t length_ns, Parts& parts) {
  Split split(by, length_ns, [&](const std::string& name) -> Result<RecordSink> {
    REQUIRE(!parts.contains(name));
    return append_to(parts[name]);
  });
  const auto result = merge(inputs_of({text}), [&](const profile::Record& record) { return split.take(record); });
  return result ? split.finish() : Status(result.error());
}

Parts parts_of(const std::string& text, SplitBy by, uint64_t length_ns = 0) {
  Parts parts;
  const Status split = try_split(text, by, length_ns, parts);
  INFO((split ? std::string() : split.error().message));
  REQUIRE(split);
  return parts;
}

std::vector<std::string> texts_of(const Parts& parts) {
  std::vector<std::string> texts;
  std::transform(parts.begin(), parts.end(), std::back_inserter(texts), [](const auto& part) { return part.second; });
  return texts;
}

Result<std::string> filtered(const std::string& text, const Conditions& conditions) {
  std::string out;
  Filter filter(conditions, append_to(out));
  const auto result = merge(inputs_of({text}), [&](const profile::Record& record) { return filter.take(record); });
  if (!result) {
    return result.error();
  }
  if (Status finished = filter.finish(); !finished) {
    return std::move(finished).error();
  }
  return out;
}

bool contains_line(const std::string& text, const std::string& line) {
  return text.find("\n" + line + "\n") != std::string::npos;
}

// Defines two processes (ranks 0 and 1), two devices, two slices, and records that belong to none of them.
const char* const kJob =
    "GPUPROF;3.2\nMETA;start_ns;1000\nMETA;interval_ns;100\nMETA;process.7.cuda.version;13\n"
    "META;process.9.cuda.version;12\nSTRING;1;a\nSTRING;2;../b\nSTRING;3;0\nSTRING;4;1\nSTRING;5;gemm\nSTRING;6;add\n"
    "STRING;7;main\nFRAME;1;native;7;0;0;0;0;0x0\nUSTACK;1;1\nPROCESS;1;7;1;0;1;0;3;0\nPROCESS;2;9;1;0;2;0;4;0\n"
    "DEVICE;1;0;0;0;0\nDEVICE;2;0;1;0;0\nWORK;1;1;7;0;1;0;0;0;1;0;kernel;5;0\nWORK;2;2;9;0;0;0;0;0;2;0;kernel;6;0\n"
    "WORK;3;2;9;0;0;0;0;0;2;0;sync;6;0\n"
    "GPU;0;1;2;30;10;20;500;0;0\nGPU;1;1;1;5;5;5;25;0;0\nGPU;1;2;1;7;7;7;49;0;0\nSHARE;0;1;30;20\nSHARE;1;2;7;17\n"
    "HOST;0;3;1;9;9;9;0\nIDLE;1;2;0;3\nWINDOW;1000;1200\nBLOCKS;1;2;1;1;1;5;5;5;5;5;5;0;0;0;0;1;9;5;0;0;0;72;5;"
    "1\nLATENCY;1;call_to_start;1;9;9;9;9;1\nEVENT;1;1;1090;1110;0;0;"
    "0\n"
    "SPAN;2;9;0;1000;1150\nEUSTALL;1;2;0;0;0;4;0\nLOSS;0;ring_full;2\nLOSS;2;late_name;1\nCOVERAGE;1;launches;3\n"
    "COVERAGE;2;launches;2\nCOVERAGE;0;samples_foreign;5\nEND;1200;6;4;42;3;4;3\n";

Conditions rank_conditions(uint64_t rank) {
  Conditions conditions;
  conditions.ranks = NumberRanges{{rank, rank}};
  conditions.words.at(static_cast<size_t>(Aspect::rank)) = "--rank " + std::to_string(rank);
  return conditions;
}

Conditions window_conditions(uint64_t from_ns, uint64_t to_ns) {
  Conditions conditions;
  conditions.window = TimeWindow{from_ns, to_ns};
  conditions.words.at(static_cast<size_t>(Aspect::time)) = "--from";
  return conditions;
}

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

// Returns the launches, blocks and durations of all BLOCKS lines.
std::array<uint64_t, 3> block_sums(const Aggregate& rows) {
  std::array<uint64_t, 3> sums{};
  for (const BlocksRow& row : rows.blocks) {
    sums[0] += row.totals.sums.launches;
    sums[1] += row.totals.sums.blocks;
    sums[2] += row.totals.sums.sum_ns;
  }
  return sums;
}

void check_equal(const std::string& a, const std::string& b) {
  const Aggregate one = test::read_all(a);
  const Aggregate other = test::read_all(b);
  CHECK(one.info.losses == other.info.losses);
  CHECK(one.info.coverage == other.info.coverage);
  CHECK(one.info.launches == other.info.launches);
  CHECK(one.info.samples == other.info.samples);
  CHECK(one.info.complete == other.info.complete);
  CHECK(std::multiset<std::string>(one.info.warnings.begin(), one.info.warnings.end()) ==
        std::multiset<std::string>(other.info.warnings.begin(), other.info.warnings.end()));
  CHECK(one.info.meta == other.info.meta);
  CHECK(one.total.ns == other.total.ns);
  CHECK(one.total.count == other.total.count);
  CHECK(one.host_total.ns == other.host_total.ns);
  CHECK(one.busy_ns == other.busy_ns);
  CHECK(one.exclusive_ns == other.exclusive_ns);
  CHECK(one.idle_ns == other.idle_ns);
  CHECK(one.window_ns == other.window_ns);
  CHECK(one.info.events == other.info.events);
  CHECK(block_sums(one) == block_sums(other));
  CHECK(one.tables.gpu_counts().size() == other.tables.gpu_counts().size());
  CHECK(one.tables.processes().size() == other.tables.processes().size());
  for (const WeightKind kind : {WeightKind::time, WeightKind::count}) {
    CHECK(sorted_lines(test::lines_of(fold(one, {}), kind)) == sorted_lines(test::lines_of(fold(other, {}), kind)));
  }
}

}  // namespace

TEST_CASE("all subsets of a profile merge to the profile") {
  for (const auto& [by, length] :
       {std::pair(SplitBy::process, uint64_t{0}), {SplitBy::rank, 0}, {SplitBy::device, 0}, {SplitBy::time, 100}}) {
    INFO(static_cast<int>(by));
    const Parts parts = parts_of(kJob, by, length);
    CHECK(parts.size() == 3);
    CHECK(parts.contains("rest"));
    const std::string whole = merged_text({kJob});
    const std::string again = merged_text(texts_of(parts));
    CHECK(again.find("META;part.") == std::string::npos);
    check_equal(whole, again);
    // Two of the three subsets merge to a subset, not to the complete profile.
    auto texts = texts_of(parts);
    texts.pop_back();
    CHECK(merged_text(texts).find("META;part.of;") != std::string::npos);
  }
}

TEST_CASE("a subset does not count beside the recording that holds it") {
  const std::string job = std::string(kJob).insert(12, "META;recording;0123456789abcdef0123456789abcdef\n");
  const auto ns_of = [](const std::vector<std::string>& texts) { return test::read_all(merged_text(texts)).total.ns; };
  const auto fails = [](const std::vector<std::string>& texts) {
    std::string text;
    return !merge(inputs_of(texts), append_to(text));
  };
  auto rank_0 = filtered(job, rank_conditions(0));
  auto rank_1 = filtered(job, rank_conditions(1));
  REQUIRE(rank_0);
  REQUIRE(rank_1);
  CHECK(contains_line(*rank_0, "META;recording.part;0123456789abcdef0123456789abcdef"));
  CHECK(ns_of({*rank_0}) == 35);
  CHECK(ns_of({*rank_0, job}) == 42);
  CHECK(ns_of({*rank_0, *rank_0}) == 35);
  CHECK(fails({*rank_0, *rank_1}));  // gpuprof cannot know whether two filters select different work
  const Parts parts = parts_of(job, SplitBy::rank);
  CHECK(ns_of(texts_of(parts)) == 42);
  CHECK(ns_of({job, parts.at("rank-1")}) == 42);
  CHECK(ns_of({parts.at("rank-0"), parts.at("rank-1"), parts.at("rank-0")}) == 42);
  CHECK(fails({parts.at("rank-0"), *rank_1}));
  CHECK(fails({parts.at("rank-0"), parts_of(job, SplitBy::rank).at("rank-1")}));  // these subsets come from two splits
  std::vector<std::string> nested = texts_of(parts_of(parts.at("rank-0"), SplitBy::time, 100));
  CHECK(ns_of(nested) == 35);
  nested.push_back(parts.at("rank-0"));
  CHECK(fails(nested));
}

TEST_CASE("all subsets of a split hold its recordings completely, and some of them do not") {
  const std::string id = "0123456789abcdef0123456789abcdef";
  const std::string job = std::string(kJob).insert(12, "META;recording;" + id + "\n");
  const std::string other =
      "GPUPROF;3.2\nMETA;recording;fedcba9876543210fedcba9876543210\nMETA;start_ns;1000\nMETA;interval_ns;100\n"
      "STRING;5;gemm\nWORK;1;0;0;0;0;0;0;0;0;0;kernel;5;0\nGPU;0;1;1;100;100;100;10000;0;0\nEND;1200;1;1;100;0;0;0\n";
  const auto ns_of = [](const std::vector<std::string>& texts) { return test::read_all(merged_text(texts)).total.ns; };
  const auto error_of = [](const std::vector<std::string>& texts) {
    std::string text;
    const auto result = merge(inputs_of(texts), append_to(text));
    return result ? std::string() : result.error().message;
  };
  const Parts parts = parts_of(job, SplitBy::rank);
  const std::string joined = merged_text(texts_of(parts));
  CHECK(contains_line(joined, "META;recording;" + id));
  CHECK(joined.find("part") == std::string::npos);
  // A later merge treats `joined` like `job`.
  const std::string both = merged_text({joined, other});
  CHECK(ns_of({both}) == 142);
  CHECK(ns_of({both, job}) == 142);
  CHECK(ns_of({both, joined}) == 142);
  CHECK(ns_of({joined, parts.at("rank-1")}) == 42);
  CHECK(ns_of({joined, job, other}) == 142);
  CHECK(joined.find("META;recording;") < joined.find("STRING;"));
  const std::string some = merged_text({parts.at("rank-0"), parts.at("rest")});
  CHECK(contains_line(some, "META;recording.part;" + id));
  CHECK_FALSE(contains_line(some, "META;recording;" + id));
  CHECK(ns_of({some, job}) == 42);
  CHECK(ns_of({some, other}) == 135);
  CHECK(error_of({some, parts.at("rank-1")}) ==
        "cannot merge p.txt and p.txt: both hold a part of one recording, and some of its work may be in both");
  CHECK(error_of({merged_text({some, other}), job}) ==
        "cannot merge p.txt and p.txt: both hold work of one recording, which would count twice");
  // A subset of the work stays one, however it was split.
  const auto rank_0 = filtered(job, rank_conditions(0));
  REQUIRE(rank_0);
  const std::string rank_0_again = merged_text(texts_of(parts_of(*rank_0, SplitBy::process)));
  CHECK_FALSE(contains_line(rank_0_again, "META;recording;" + id));
  const std::string some_again = merged_text(texts_of(parts_of(some, SplitBy::time, 100)));
  CHECK_FALSE(contains_line(some_again, "META;recording;" + id));
}

TEST_CASE("the subsets of many recordings name all of them") {
  std::string job =
      "GPUPROF;3.2\nMETA;start_ns;1000\nMETA;interval_ns;100\nSTRING;5;gemm\nWORK;1;0;0;0;0;0;0;0;0;0;kernel;5;0\n"
      "GPU;0;1;1;30;30;30;900;0;0\nGPU;1;1;1;5;5;5;25;0;0\nEND;1200;2;2;35;0;0;0\n";
  REQUIRE(!parts_of(job, SplitBy::time, 100).contains("rest"));
  constexpr size_t kRecordings = 1200;
  for (size_t i = 0; i < kRecordings; ++i) {
    job.insert(12, "META;recording;" + std::to_string(1000 + i) + std::string(28, '0') + "\n");
  }
  const std::string again = merged_text(texts_of(parts_of(job, SplitBy::time, 100)));
  CHECK(recording_ids(test::read_all(again).info.meta).size() == kRecordings);
}

TEST_CASE("the subsets of a subset merge to that subset") {
  const std::string job = std::string(kJob).insert(12, "META;recording;0123456789abcdef0123456789abcdef\n");
  const std::string part = parts_of(job, SplitBy::rank).at("rank-1");
  const Parts parts = parts_of(part, SplitBy::time, 100);
  check_equal(merged_text({part}), merged_text(texts_of(parts)));
  CHECK(merged_text({part}).find("META;part.of;") != std::string::npos);
}

TEST_CASE("the subsets of a random profile merge to it") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    INFO(seed);
    const test::RandomProfile random(seed);
    for (const SplitBy by : {SplitBy::process, SplitBy::rank, SplitBy::device}) {
      Parts parts;
      if (!try_split(random.text, by, 0, parts)) {
        continue;
      }
      check_equal(merged_text({random.text}), merged_text(texts_of(parts)));
    }
  }
}

TEST_CASE("a subset holds the definitions that it needs, and no others") {
  const Parts parts = parts_of(kJob, SplitBy::process);
  const std::string& a = parts.at("process-7-a");
  CHECK(contains_line(a, "META;process.7.cuda.version;13"));
  CHECK(a.find("process.9") == std::string::npos);
  CHECK(a.find(";add") == std::string::npos);
  CHECK(contains_line(a, "WINDOW;1000;1200"));
  CHECK(a.ends_with("\nEND;1200;3;3;35;3;0;0\n"));
  const std::string& b = parts.at("process-9-.._b");  // '/' is replaced in names of processes
  CHECK(b.find("FRAME;") == std::string::npos);
  CHECK(b.ends_with("\nEND;1200;2;1;7;0;4;1\n"));
  CHECK(parts.at("rest").ends_with("\nEND;1200;1;0;0;0;0;2\n"));
}

TEST_CASE("a record that crosses the border of a slice is in the subset where it ends") {
  const Parts parts = parts_of(kJob, SplitBy::time, 100);
  CHECK(parts.at("time-000000").find("EVENT;") == std::string::npos);
  CHECK(contains_line(parts.at("time-000001"), "EVENT;1;1;1090;1110;0;0;0"));
  CHECK(parts.at("rest").find("LATENCY;") != std::string::npos);
  Parts none;
  CHECK(try_split(kJob, SplitBy::time, 99, none).error().exit_code == kExitUsage);
}

TEST_CASE("matching and non-matching records together are the complete profile") {
  for (Conditions conditions : {rank_conditions(0), window_conditions(100, 200)}) {
    const auto one = filtered(kJob, conditions);
    conditions.inverted = true;
    const auto other = filtered(kJob, conditions);
    REQUIRE(one);
    REQUIRE(other);
    const Aggregate a = test::read_all(*one);
    const Aggregate b = test::read_all(*other);
    const Aggregate whole = test::read_all(kJob);
    CHECK(a.total.ns + b.total.ns == whole.total.ns);
    CHECK(a.total.count + b.total.count == whole.total.count);
    CHECK(a.info.samples + b.info.samples == whole.info.samples);
    CHECK(a.host_total.ns + b.host_total.ns == whole.host_total.ns);
    CHECK(a.busy_ns + b.busy_ns == whole.busy_ns);
    CHECK(a.total.ns > 0);
    CHECK(b.total.ns > 0);
    CHECK(a.info.warnings.empty());  // no warning, although a subset's busy and exclusive time may not add up
  }
}

TEST_CASE("a filtered profile names its filter and the records that it left out") {
  const auto one = filtered(kJob, rank_conditions(0));
  REQUIRE(one);
  CHECK(contains_line(*one, "META;filter;--rank 0"));
  CHECK(contains_line(*one, "META;filter.left_out;COVERAGE 1, IDLE 1"));
  CHECK(contains_line(*one, "LOSS;0;ring_full;2"));  // kept, because the lost records may be of this rank
  CHECK(one->find("late_name") == std::string::npos);
  CHECK(one->ends_with("\nEND;1200;3;3;35;3;0;2\n"));
  const auto late = filtered(kJob, window_conditions(150, 160));
  REQUIRE(late);
  CHECK(contains_line(*late, "META;filter.left_out;COVERAGE 3, LATENCY 1"));
  CHECK(contains_line(*late, "WINDOW;1100;1200"));
  CHECK(late->find("\nBLOCKS;1;") != std::string::npos);
  const auto early = filtered(kJob, window_conditions(0, 100));
  REQUIRE(early);
  CHECK(early->find("\nBLOCKS;") == std::string::npos);
  CHECK(contains_line(*late, "META;filter;--from 0.0000001s --to 0.0000002s"));  // the slice that was kept
  CHECK(part_text(test::read_all(*one).info.meta) == "only what matches --rank 0");
}

TEST_CASE("a filter drops and counts a record without the field that it tests, with and without --not") {
  std::string job = kJob;
  const std::string wait = "WORK;3;2;9;0;0;0;0;0;2;0;sync;6;0\n";
  job.replace(job.find(wait), wait.size(), "WORK;3;2;9;0;0;0;0;0;0;0;sync;6;0\n");  // no device
  job.replace(job.find("PROCESS;2;9;1;0;2;0;4;0"), 23, "PROCESS;2;9;1;0;2;0;0;0");  // no rank
  Conditions device;
  device.devices = NumberRanges{{0, 0}};
  device.words.at(static_cast<size_t>(Aspect::device)) = "--device 0";
  Conditions process;
  process.pid = 9;
  process.words.at(static_cast<size_t>(Aspect::process)) = "--process 9";
  for (const bool inverted : {false, true}) {
    device.inverted = inverted;
    const auto of_device = filtered(job, device);
    REQUIRE(of_device);
    CHECK(of_device->find("\nHOST;") == std::string::npos);
    CHECK(contains_line(*of_device, "META;filter.left_out;COVERAGE 3, HOST 1, SPAN 1"));
  }
  CHECK(filtered(job, process)->find("\nHOST;") != std::string::npos);  // it has a process
  Conditions rank = rank_conditions(0);
  CHECK(contains_line(*filtered(job, rank),
                      "META;filter.left_out;BLOCKS 1, COVERAGE 2, EUSTALL 1, GPU 1, HOST 1, IDLE 1, SHARE 1, SPAN 1"));
  rank.inverted = true;
  const auto none = filtered(job, rank);
  REQUIRE(!none);
  CHECK(none.error().message.starts_with("nothing is left: all work matches --rank 0, or lacks a field"));
  CHECK(parts_of(job, SplitBy::device).at("rest").find("\nHOST;") != std::string::npos);
}

TEST_CASE("a filter that matches nothing names the condition that failed") {
  const auto none = filtered(kJob, rank_conditions(5));
  REQUIRE(!none);
  CHECK(none.error().message == "nothing is left: no record matches --rank 5");
  CHECK(none.error().exit_code == kExitNothing);
  Conditions both = rank_conditions(0);
  both.kernel = Pattern::compile("--kernel", "add").value();
  both.words.at(static_cast<size_t>(Aspect::kernel)) = "--kernel add";
  CHECK(filtered(kJob, both).error().message == "nothing is left: no record matches all of --rank 0 --kernel add");
  CHECK(filtered("GPUPROF;3.2\n", both).error().message == "the profile holds no records to filter");
}

TEST_CASE("the device time of a subset is a lower limit, not an overlap of recordings") {
  constexpr const char* kHead =
      "GPUPROF;3.2\nMETA;recording;0123456789abcdef0123456789abcdef\nMETA;start_ns;1000\nMETA;interval_ns;100\n"
      "STRING;1;add\nSTRING;2;opencl\nSTRING;3;sub\nPROCESS;1;7;0;1000;1;0;0;0\nDEVICE;1;2;0;1;0\n"
      "WORK;1;1;9;0;0;0;0;0;1;0;kernel;1;0\nWORK;2;1;9;0;0;0;0;0;1;0;kernel;3;0\n"
      "GPU;0;1;1;30;30;30;900;0;0\nGPU;1;2;1;40;40;40;1600;0;0\n";
  constexpr const char* kTail = "WINDOW;1000;1200\nEND;1200;2;2;70;0;0;0\n";
  const auto device_of = [](const std::string& text, const Conditions& conditions) {
    const auto subset = filtered(text, conditions);
    REQUIRE(subset);
    const auto devices = summarize(test::read_all(*subset), {}).devices;
    REQUIRE(devices.size() == 1);
    return devices[0];
  };
  Conditions add;
  add.kernel = Pattern::compile("--kernel", "add").value();
  add.words.at(static_cast<size_t>(Aspect::kernel)) = "--kernel add";
  const std::string job =
      std::string(kHead) + "SHARE;0;1;30;30\nSHARE;1;2;40;40\nIDLE;0;1;1;70\nIDLE;1;1;2;60\n" + kTail;
  const DeviceLine by_kernel = device_of(job, add);
  CHECK(by_kernel.partial);
  CHECK(!by_kernel.overlap);
  CHECK(by_kernel.wall_ns == 200);
  CHECK(by_kernel.busy_ns == 30);
  // Other work started first on the shared device, so SHARE gives the busy time of both to that work.
  const std::string shared =
      std::string(kHead) + "SHARE;0;1;0;15\nSHARE;0;2;30;15\nSHARE;1;2;40;40\nIDLE;0;1;2;70\n" + kTail;
  CHECK(device_of(shared, add).busy_ns == 15);
  const DeviceLine by_time = device_of(job, window_conditions(100, 200));
  CHECK(!by_time.partial);
  CHECK(!by_time.overlap);
  CHECK(by_time.wall_ns == 100);
  CHECK(by_time.idle_ns == 60);
  // Idle time is in the slice in which it ends.
  const std::string gap = std::string(kHead) + "SHARE;0;1;30;30\nSHARE;1;2;40;40\nIDLE;1;1;2;130\n" + kTail;
  const DeviceLine late = device_of(gap, window_conditions(100, 200));
  CHECK(!late.overlap);
  CHECK(late.wall_ns == 100);
  CHECK(late.idle_ns == 60);
  const DeviceLine early = device_of(gap, window_conditions(0, 100));
  CHECK(!early.partial);
  CHECK(early.wall_ns == 100);
  CHECK(early.idle_ns == 70);
  size_t known = 0;
  for (const auto& [name, part] : parts_of(gap, SplitBy::time, 100)) {
    const auto devices = summarize(test::read_all(part), {}).devices;
    CHECK((devices.empty() || !devices[0].partial));
    CHECK((devices.empty() || devices[0].wall_ns == 100));
    known += devices.size();
  }
  CHECK(known == 2);
  const AggregateOptions first_slice{.idle = true, .window = TimeWindow{0, 100}};
  auto reader = test::open_text(gap);
  REQUIRE(reader);
  const auto selected = summarize(aggregate(*reader, first_slice).value(), {}).devices;
  REQUIRE(selected.size() == 1);
  CHECK(selected[0].busy_ns == 30);
  CHECK(selected[0].wall_ns == 100);
  CHECK(selected[0].idle_ns == 70);
}

// One recording of 200 ns, with 30 ns of `add` and 40 ns of `sub` on a device of host `host`.
std::string recording(char id, const std::string& host, int begin_ns, int rank) {
  const std::string begin = std::to_string(begin_ns);
  const std::string end = std::to_string(begin_ns + 200);
  return "GPUPROF;3.2\nMETA;recording;" + std::string(32, id) + "\nMETA;start_ns;" + begin + "\nMETA;start_unix_ns;" +
         begin + "\nMETA;interval_ns;100\nMETA;host;" + host + "\nSTRING;1;add\nSTRING;2;sub\nSTRING;3;" +
         std::to_string(rank) + "\nSTRING;4;opencl\nSTRING;5;GPU\nSTRING;6;uuid " + host + "\nPROCESS;1;" +
         std::to_string(7 + rank) + ";0;" + begin +
         ";1;0;3;0\nDEVICE;1;4;0;5;6\nWORK;1;1;9;0;0;0;0;0;1;0;kernel;1;0\n"
         "WORK;2;1;9;0;0;0;0;0;1;0;kernel;2;0\nGPU;0;1;1;30;30;30;900;0;0\nGPU;1;2;1;40;40;40;1600;0;0\n"
         "SHARE;0;1;30;30\nSHARE;1;2;40;40\nIDLE;0;1;1;70\nIDLE;1;1;0;60\nWINDOW;" +
         begin + ";" + end + "\nEND;" + end + ";2;2;70;0;0;0\n";
}

Conditions kernel_conditions(const std::string& name) {
  Conditions conditions;
  conditions.kernel = Pattern::compile("--kernel", name).value();
  conditions.words.at(static_cast<size_t>(Aspect::kernel)) = "--kernel " + name;
  return conditions;
}

std::vector<DeviceLine> devices_of(const std::string& text) {
  return summarize(test::read_all(text), {}).devices;
}

void check_device(const std::string& text, uint64_t busy_ns, uint64_t wall_ns, bool overlap = false) {
  const auto devices = devices_of(text);
  REQUIRE(devices.size() == 1);
  CHECK(devices[0].busy_ns == busy_ns);
  CHECK(devices[0].wall_ns == wall_ns);
  CHECK(devices[0].idle_ns == 0);
  CHECK(devices[0].partial == (wall_ns != 0));
  CHECK(devices[0].overlap == overlap);
}

TEST_CASE("a subset of a merged profile has the time of the recordings that it is a subset of") {
  const std::string a = recording('a', "h", 1000, 0);
  const std::string b = recording('b', "h", 5000, 1);
  const std::string both = merged_text({a, b});
  REQUIRE(devices_of(both).at(0).wall_ns == 400);
  check_device(filtered(both, kernel_conditions("sub")).value(), 80, 400);
  check_device(filtered(both, rank_conditions(1)).value(), 70, 200);
  const std::string add = filtered(both, kernel_conditions("add")).value();
  check_device(filtered(add, rank_conditions(0)).value(), 30, 200);
  // The subsets of two recordings, merged, and merged with a third recording.
  check_device(
      merged_text({filtered(a, kernel_conditions("sub")).value(), filtered(b, kernel_conditions("sub")).value()}), 80,
      400);
  check_device(filtered(merged_text({both, recording('c', "h", 9000, 2)}), kernel_conditions("sub")).value(), 120, 600);
  // No work of `a` is left, but the condition does not exclude it.
  std::string without = a;
  without.replace(without.find("STRING;2;sub"), std::string("STRING;2;sub").size(), "STRING;2;mul");
  check_device(filtered(merged_text({without, b}), kernel_conditions("sub")).value(), 40, 400);
  // Another recording observed another device.
  const std::string hosts = merged_text({a, recording('d', "other", 1050, 3)});
  const auto devices = devices_of(filtered(hosts, kernel_conditions("sub")).value());
  REQUIRE(devices.size() == 2);
  for (const DeviceLine& device : devices) {
    CHECK(device.wall_ns == 200);
    CHECK(device.partial);
    CHECK(!device.overlap);
  }
  // Recordings of one device at the same time: their work may overlap.
  check_device(filtered(merged_text({a, recording('e', "h", 1100, 4)}), kernel_conditions("sub")).value(), 80, 300,
               true);
  // Selected slices of the subset.
  auto reader = test::open_text(filtered(both, kernel_conditions("sub")).value());
  REQUIRE(reader);
  const auto selected =
      summarize(aggregate(*reader, {.idle = true, .window = TimeWindow{100, 200}}).value(), {}).devices;
  REQUIRE(selected.size() == 1);
  CHECK(selected[0].wall_ns == 100);
  CHECK(selected[0].partial);
}

TEST_CASE("a subset counts only itself, also if the times of overlapping recordings add up to more") {
  std::vector<std::string> texts;
  for (const char id : {'a', 'b', 'c', 'd', 'e'}) {
    texts.push_back(recording(id, "h", 1000 + id, id));
  }
  check_device(filtered(merged_text(texts), kernel_conditions("add")).value(), 150, 204, true);
}

TEST_CASE("the subsets of a split have the time of their recordings, and merge to the profile") {
  const std::string idle = recording('c', "h", 9000, 2);
  const size_t rows = idle.find("GPU;0");
  const std::string both = merged_text({recording('a', "h", 1000, 0), recording('b', "h", 5000, 1)});
  for (const SplitBy by : {SplitBy::process, SplitBy::rank}) {
    const Parts parts = parts_of(both, by);
    for (const auto& [name, part] : parts) {
      if (name != "rest") {
        check_device(part, 70, 200);
      }
    }
    check_equal(merged_text(texts_of(parts)), both);
    check_device(filtered(merged_text(texts_of(parts)), rank_conditions(1)).value(), 70, 200);
  }
  // The device has all its time.
  const auto device = devices_of(parts_of(both, SplitBy::device).at("device-0-GPU"));
  REQUIRE(device.size() == 1);
  CHECK(device[0].wall_ns == 400);
  CHECK(!device[0].partial);
  // A recording without work has a window, too.
  const std::string more = merged_text({both, idle.substr(0, rows) + "WINDOW;9000;9200\nEND;9200;0;0;0;0;0;0\n"});
  const Parts parts = parts_of(more, SplitBy::rank);
  CHECK(test::read_all(more).window_ns == 600);
  check_equal(merged_text(texts_of(parts)), more);
  CHECK(test::read_all(merged_text(texts_of(parts))).window_ns == 600);
}

TEST_CASE("the time of a subset is not known if the profile does not say whose its windows are") {
  std::string both = merged_text({recording('a', "h", 1000, 0), recording('b', "h", 5000, 1)});
  for (size_t at = 0; (at = both.find("META;recording.rows;")) != std::string::npos;) {
    both.erase(at, both.find('\n', at) + 1 - at);
  }
  check_device(filtered(both, kernel_conditions("sub")).value(), 80, 0);
}

TEST_CASE("a part of a part lacks work") {
  using Meta = std::multimap<std::string, std::string>;
  const std::pair<const std::string, std::string> time("part.which", "from 0s to 1s, of a profile split by time");
  CHECK(subset_of(Meta{time}) == Subset::slice);
  CHECK(subset_of(Meta{time, {"part.part.which", "rank 0, of a profile split by rank"}}) == Subset::other);
}

TEST_CASE("the text of a time window can be read again") {
  for (const TimeWindow window : {TimeWindow{0, 1}, TimeWindow{1'500'000'000, 61'000'000'001}}) {
    const auto read = read_window_text(window_text(window) + ", of a profile split by time");
    REQUIRE(read);
    CHECK((read->from_ns == window.from_ns && read->to_ns == window.to_ns));
  }
  for (const char* text : {"", "from 2s on", "from 2s to 1s", "from to", "rank 3", "from 1s to 99999999999999s"}) {
    CHECK(!read_window_text(text));
  }
}

TEST_CASE("a filter that keeps only idle time fails") {
  const std::string job =
      "GPUPROF;3.2\nMETA;start_ns;1000\nMETA;interval_ns;100\nSTRING;1;0\nSTRING;2;gemm\nPROCESS;1;7;1;0;0;0;1;0\n"
      "DEVICE;1;0;0;0;0\nWORK;1;1;7;0;0;0;0;0;1;0;kernel;2;0\nGPU;0;1;1;30;30;30;900;0;0\nIDLE;0;1;0;3\nIDLE;0;1;1;4\n"
      "END;1200;1;1;30;0;0;0\n";
  Conditions none_left = rank_conditions(0);
  REQUIRE(filtered(job, none_left));
  none_left.inverted = true;
  const auto none = filtered(job, none_left);
  REQUIRE(!none);
  CHECK(none.error().message ==
        "nothing is left: all work matches --rank 0, or lacks a field that the filter tests: IDLE 1");
  CHECK(none.error().exit_code == kExitNothing);
}

TEST_CASE("subsets of a profile without END have no END") {
  std::string cut = kJob;
  cut.erase(cut.find("END;"));
  const Parts parts = parts_of(cut, SplitBy::rank);
  CHECK(parts.at("rank-0").find("\nEND;") == std::string::npos);
  check_equal(merged_text({cut}), merged_text(texts_of(parts)));
}

TEST_CASE("a split into too many subsets is an error") {
  std::string text = "GPUPROF;3.2\nMETA;interval_ns;1\nWORK;1;0;0;0;0;0;0;0;0;0;kernel;0;0\n";
  for (size_t i = 0; i <= kMostParts; ++i) {
    text += "GPU;" + std::to_string(i) + ";1;1;1;1;1;1;0;0\n";
  }
  Parts parts;
  CHECK(try_split(text, SplitBy::time, 1, parts).error().message == "the profile has more than 4096 parts by time");
}
