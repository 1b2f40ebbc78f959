#include "analyze/merge/merge.h"

#include <span>
#include <string>
#include <vector>

#include "analyze/merge/recordings.h"
#include "catch.h"
#include "folding.h"
#include "profile/random_profile.h"
#include "profile/writer.h"

using namespace gpuprof;
using namespace gpuprof::analyze;
using output::WeightKind;

namespace {

struct Merged {
  std::string text;
  MergeResult result;
};

Result<Merged> try_merge(const std::vector<std::string>& texts, bool lenient = false) {
  std::vector<MergeInput> inputs;
  for (const std::string& text : texts) {
    auto reader = test::open_text(text, lenient);
    REQUIRE(reader);
    inputs.push_back({"p.txt", std::move(reader).value()});
  }
  Merged merged;
  profile::format_header(merged.text);
  auto result = merge(std::move(inputs), [&](const profile::Record& record) {
    profile::format_line(record, merged.text);
    return Status();
  });
  if (!result) {
    return result.error();
  }
  merged.result = std::move(result).value();
  return merged;
}

Merged merged(const std::vector<std::string>& texts) {
  auto result = try_merge(texts);
  INFO((result ? std::string() : result.error().message));
  REQUIRE(result);
  return std::move(result).value();
}

std::string merge_error(const std::vector<std::string>& texts) {
  const auto result = try_merge(texts);
  return result ? "" : result.error().message;
}

std::map<std::string, uint64_t> folded_lines(const std::string& folded) {
  std::map<std::string, uint64_t> lines;
  for (size_t at = 0; at < folded.size();) {
    const size_t end = folded.find('\n', at);
    const size_t space = folded.rfind(' ', end);
    lines[folded.substr(at, space - at)] += std::stoull(folded.substr(space + 1, end - space - 1));
    at = end + 1;
  }
  return lines;
}

std::string header(const char* host, const char* unix_ns, const char* start_ns, const char* interval = "1000") {
  return std::string("GPUPROF;3.0\nMETA;host;") + host + "\nMETA;start_unix_ns;" + unix_ns + "\nMETA;start_ns;" +
         start_ns + "\nMETA;interval_ns;" + interval + "\n";
}

// Returns a recording with `ns` of GPU time. Its id consists of `digit` only.
std::string recording(const std::string& digit, uint64_t ns) {
  std::string id;
  while (id.size() < 32) {
    id += digit;
  }
  const std::string n = std::to_string(ns);
  return "GPUPROF;3.0\nMETA;recording;" + id + "\nWORK;1;0;0;0;0;0;0;0;0;0;kernel;0;0\nGPU;0;1;1;" + n + ";" + n + ";" +
         n + ";" + std::to_string(ns * ns) + ";0;0\nEND;1;1;1;" + n + ";0;0;0\n";
}

bool has_line(const std::string& text, const std::string& line) {
  return text.find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("times and slices are converted to the clock of the profile that started first") {
  const std::string a =
      header("a", "1000000", "500") + "PROCESS;1;7;1;600;0;0;0;0\nWINDOW;500;900\nEND;900;1;0;0;0;0;0\n";
  const std::string b = header("b", "1002600", "90000") +
                        "PROCESS;1;7;1;90100;0;0;0;0\nDEVICE;1;0;0;0;0\nWORK;1;1;7;0;0;0;0;0;1;0;kernel;0;0\n"
                        "WORK;2;1;7;0;0;0;0;0;1;0;sync;0;0\nGPU;2;1;1;5;5;5;0;0;0\nHOST;1;2;1;5;5;5;0\n"
                        "SHARE;2;1;5;5\nIDLE;3;1;0;7\nEVENT;1;3;90200;90300;0;90150;0\nCALL;1;7;0;0;3;90100;90120\n"
                        "SPAN;1;7;0;90000;90001\nWINDOW;90000;90400\nEUSTALL;2;1;0;0;0;6;1\nEND;90400;2;1;5;0;6;0\n";
  const Merged both = merged({b, a});
  CHECK(has_line(both.text, "META;start_ns;500"));
  CHECK(has_line(both.text, "META;start_unix_ns;1000000"));
  CHECK(has_line(both.text, "PROCESS;1;7;1;3200;0;0;0;1"));
  CHECK(has_line(both.text, "PROCESS;2;7;1;600;0;0;0;2"));
  CHECK(has_line(both.text, "GPU;5;1;1;5;5;5;0;0;0"));  // input b starts 2.6 slices later: slice 2 becomes 5
  CHECK(has_line(both.text, "HOST;4;2;1;5;5;5;0"));
  CHECK(has_line(both.text, "META;slice_shift_ns;400"));
  CHECK(has_line(both.text, "SHARE;5;1;5;5"));
  CHECK(has_line(both.text, "IDLE;6;1;0;7"));
  CHECK(has_line(both.text, "EUSTALL;5;1;0;0;0;6;1"));
  CHECK(has_line(both.text, "EVENT;1;3;3300;3400;0;3250;0"));  // 0 stays 0, as it means "unknown"
  CHECK(has_line(both.text, "CALL;1;7;0;0;3;3200;3220"));
  CHECK(has_line(both.text, "SPAN;1;7;0;3100;3101"));
  CHECK(has_line(both.text, "WINDOW;3100;3500"));
  CHECK(has_line(both.text, "WINDOW;500;900"));
  CHECK(both.text.ends_with("\nEND;3500;3;1;5;0;6;0\n"));
  CHECK(both.result.complete);
}

TEST_CASE("a merged profile has long slices from the first one of all its inputs on") {
  const auto input = [](const char* host, const char* unix_ns, const std::string& rows) {
    return std::string("GPUPROF;3.5\nMETA;host;") + host + "\nMETA;start_unix_ns;" + unix_ns +
           "\nMETA;start_ns;0\nMETA;long_from_ns;600\nMETA;long_interval_ns;100\nMETA;interval_ns;10\n"
           "WORK;1;0;0;0;0;0;0;0;0;0;kernel;0;0\n" +
           rows + "END;1;3;3;3;0;0;0\n";
  };
  const auto gpu = [](int slice) { return "GPU;" + std::to_string(slice) + ";1;1;1;1;1;1;0;0\n"; };
  const Merged both = merged({input("b", "10070", gpu(40) + gpu(52) + gpu(53) + gpu(60) + gpu(70)),
                              input("a", "10000", gpu(58) + gpu(60) + gpu(70))});
  CHECK(has_line(both.text, "META;long_from_ns;600"));
  CHECK(has_line(both.text, "META;long_interval_ns;100"));
  CHECK(has_line(both.text, "META;interval_ns;10"));
  std::vector<int> slices;
  for (size_t at = both.text.find("\nGPU;"); at != std::string::npos; at = both.text.find("\nGPU;", at + 1)) {
    slices.push_back(std::stoi(both.text.substr(at + 5)));
  }
  // Input b starts 7 short slices later. Slice 53 of it begins the long slice 60 of the result. Its own long slice 60
  // begins at 67 and ends at 77, so most of it is in slice 70.
  CHECK(slices == std::vector<int>{47, 59, 60, 70, 80, 58, 60, 70});
  CHECK(has_line(both.text, "META;slice_shift_ns;30"));
  CHECK(has_line(merged({both.text, input("c", "9940", "")}).text, "META;slice_shift_ns;70"));
  CHECK(merged({input("a", "1000", gpu(40)), input("b", "1600", gpu(60))}).text.find("slice_shift_ns") ==
        std::string::npos);
  CHECK(merge_error({input("a", "1", ""), header("b", "1", "1", "20")}) ==
        "cannot merge p.txt and p.txt: their time slices last 0.00000001s, from 0.0000006s on 0.0000001s and "
        "0.00000002s");
}

TEST_CASE("equal definitions become one, but equal devices of two hosts stay two") {
  const std::string rest = "STRING;5;x\nDEVICE;3;0;0;5;0\nEND;1;0;0;0;0;0;0\n";
  const Merged both = merged({header("a", "1", "1") + rest, header("b", "1", "1") + rest});
  CHECK(has_line(both.text, "STRING;2;x"));
  CHECK(has_line(both.text, "STRING;3;b"));
  CHECK(both.text.find(";x\n", both.text.find("STRING;2;x") + 10) == std::string::npos);
  CHECK(has_line(both.text, "DEVICE;1;0;0;2;0"));
  CHECK(has_line(both.text, "DEVICE;2;0;0;2;0"));
  const std::string uuid = "STRING;5;x\nSTRING;6;GPU-1\nDEVICE;3;0;0;5;6\nEND;1;0;0;0;0;0;0\n";
  const Merged same = merged({header("a", "1", "1") + uuid, header("a", "2", "1") + uuid});
  CHECK(same.text.find("DEVICE;2") == std::string::npos);
}

TEST_CASE("code locations, modules and samplings get new ids, and equal ones share an id") {
  const auto profile = [](const std::string& name, const char* count) {
    return header("a", count, "1") + "STRING;5;" + name + "\nSTRING;6;ff\nFRAME;4;gpu;5;0;0;5;6;0\nGPU_MODULE;7;5;6\n" +
           "GPU_PLACE;8;7;5;0x10;6;4\nSAMPLING;9;64;6\nWORK;3;0;0;0;0;0;0;0;0;0;kernel;5;0\nEUSTALL;0;3;8;6;9;" +
           count + ";0\nEND;1;0;0;0;0;" + count + ";0\n";
  };
  const Merged both = merged({profile("x", "2"), profile("y", "3"), profile("x", "4")});
  CHECK(has_line(both.text, "GPU_MODULE;1;2;3"));
  CHECK(has_line(both.text, "GPU_MODULE;2;4;3"));
  CHECK(has_line(both.text, "GPU_PLACE;1;1;2;0x10;3;1"));
  CHECK(has_line(both.text, "GPU_PLACE;2;2;4;0x10;3;2"));
  CHECK(both.text.find("GPU_PLACE;3") == std::string::npos);
  CHECK(both.text.find("SAMPLING;2") == std::string::npos);
  CHECK(has_line(both.text, "EUSTALL;0;1;1;3;1;4;0"));
  CHECK(has_line(both.text, "EUSTALL;0;2;2;3;1;3;0"));
  CHECK(both.text.ends_with("\nEND;3;0;0;0;0;9;0\n"));
}

TEST_CASE("a recording counts once, however many inputs hold it") {
  const std::string a = recording("a", 1);
  const std::string b = recording("b", 2);
  const std::string c = recording("c", 4);
  const std::string ab = merged({a, b}).text;
  const std::string bc = merged({b, c}).text;
  const auto check = [](const std::vector<std::string>& texts, uint64_t ns, size_t warnings) {
    const Merged result = merged(texts);
    CHECK(test::read_all(result.text).total.ns == ns);
    CHECK(result.result.warnings.size() == warnings);
    CHECK(result.result.complete);
  };
  check({a, b, c}, 7, 0);
  check({a, a}, 1, 1);
  check({a, b, ab}, 3, 1);
  check({ab, b, a}, 3, 1);
  check({a, ab}, 3, 1);
  check({ab, a, c}, 7, 1);
  check({ab, ab}, 3, 1);
  check({a, b, c, ab, bc}, 7, 2);
  check({merged({ab, c}).text, a, b, c}, 7, 1);
  check({a, b, c, merged({ab, a, c}).text}, 7, 1);
  CHECK(merge_error({ab, bc}) ==
        "cannot merge p.txt and p.txt: both hold work of one recording, which would count twice");
}

TEST_CASE("a warning names the ignored input and one that holds the same recordings") {
  std::vector<Recordings> inputs(3);
  inputs[0].whole = {"1"};
  inputs[1].whole = {"1", "2"};
  inputs[2].whole = {"2"};
  const std::vector<const Recordings*> pointers = {&inputs[0], &inputs[1], &inputs[2]};
  const std::vector<std::string> names = {"a.txt", "ab.txt", "b.txt"};
  const auto all = choose_inputs(names, pointers);
  REQUIRE(all);
  CHECK(all->used == std::vector<bool>{true, false, true});
  CHECK(all->warnings == std::vector<std::string>{
                             "ab.txt is ignored: a.txt and other inputs hold the same work, which would count twice"});
  const auto two = choose_inputs(std::span(names).first(2), std::span(pointers).first(2));
  REQUIRE(two);
  CHECK(two->used == std::vector<bool>{false, true});
  CHECK(two->warnings ==
        std::vector<std::string>{"a.txt is ignored: ab.txt holds the same work, which would count twice"});
}

TEST_CASE("of two copies the larger file is used, because the other may be cut short") {
  std::vector<Recordings> inputs(2);
  inputs[0] = {.whole = {"1"}, .parts = {}, .split = {}, .subset = {}, .filters = {}, .bytes = 10};
  inputs[1] = {.whole = {"1"}, .parts = {}, .split = {}, .subset = {}, .filters = {}, .bytes = 20};
  const std::vector<const Recordings*> pointers = {&inputs[0], &inputs[1]};
  const std::vector<std::string> names = {"a.txt", "b.txt"};
  const auto choice = choose_inputs(names, pointers);
  REQUIRE(choice);
  CHECK(choice->used == std::vector<bool>{false, true});
}

TEST_CASE("inputs may name only a limited number of recordings") {
  std::string text = "GPUPROF;3.0\n";
  for (size_t i = 0; i <= kMostRecordings; ++i) {
    text += "META;recording;" + std::to_string(i + 1'000'000) + std::string(25, '0') + "\n";
  }
  CHECK(merge_error({text}) == "the inputs hold more than 262144 recordings");
}

TEST_CASE("older recordings are known by their start and host") {
  const std::string rest = "WORK;1;0;0;0;0;0;0;0;0;0;kernel;0;0\nGPU;0;1;1;5;5;5;25;0;0\nEND;1;1;1;5;0;0;0\n";
  const std::string a = header("a", "1", "1") + rest;
  const std::string b = header("b", "1", "1") + rest;
  CHECK(test::read_all(merged({a, b}).text).total.ns == 10);
  CHECK(test::read_all(merged({a, a}).text).total.ns == 5);
  CHECK(test::read_all(merged({merged({a, b}).text, b}).text).total.ns == 10);
  const std::string unknown = "GPUPROF;3.0\nMETA;host;a\n" + rest;
  CHECK(test::read_all(merged({unknown, unknown}).text).total.ns == 10);
}

TEST_CASE("profiles that cannot be merged are rejected") {
  CHECK(merge_error({header("a", "1", "1", "5"), header("b", "1", "1", "6")}) ==
        "cannot merge p.txt and p.txt: their time slices last 0.000000005s and 0.000000006s");
  CHECK(merge_error({"GPUPROF;3.0\nUSTACK;1;4\n"}) == "p.txt:2: FRAME 4 is not defined");
  CHECK(merge_error({"GPUPROF;3.0\nSTRING;1;a\nSTRING;1;b\n"}) ==
        "p.txt:3: STRING 1 is already defined, with another value");
  CHECK(merge_error({"GPUPROF;3.0\nEND;1;0;0;0;0;0;0\nMETA;a;b\n"}) == "p.txt:3: there are records after END");
  const std::string most = "GPUPROF;3.0\nEND;1;18446744073709551615;0;0;0;0;0\n";
  CHECK(merge_error({most, most}) == "p.txt:2: the sum of the values in all END records exceeds 64 bits");
  // Recordings that began 584 years apart: nothing of the later one may be shown as shorter than it was.
  const std::string window = "WINDOW;1000;5000\n";
  CHECK(merge_error({header("a", "1", "1", "5") + window, header("b", "18446744073709551615", "1", "5") + window}) ==
        "p.txt:6: the time exceeds 64 bits of nanoseconds on the common clock");
  CHECK(try_merge({"GPUPROF;3.0\nUSTACK;1;4\nEND;1;0;0;0;0;0;0\n"}, true));
}

TEST_CASE("merging a truncated profile gives a truncated profile") {
  const std::string whole = "GPUPROF;3.0\nLOSS;0;ring_full;3\nEND;1;0;0;0;0;0;3\n";
  const Merged both = merged({whole, "GPUPROF;3.0\nLOSS;0;ring_full;4\n"});
  CHECK_FALSE(both.result.complete);
  CHECK(both.text.find("END") == std::string::npos);
  REQUIRE(both.result.warnings.size() == 1);
  CHECK(both.result.warnings[0] == "p.txt is cut short: it has no END record");
  CHECK(test::read_all(both.text).info.losses == std::map<std::string, uint64_t>{{"ring_full", 7}});
}

TEST_CASE("a sink that fails ends the merge with its error") {
  auto reader = test::open_text("GPUPROF;3.0\nSTRING;1;a\n");
  REQUIRE(reader);
  std::vector<MergeInput> inputs;
  inputs.push_back({"p.txt", std::move(reader).value()});
  const auto result = merge(std::move(inputs), [](const profile::Record&) -> Status { return Error{"disk full"}; });
  REQUIRE_FALSE(result);
  CHECK(result.error().message == "disk full");
}

TEST_CASE("the sums and the stacks of a merged profile are those of its inputs") {
  for (unsigned seed = 0; seed < 120; ++seed) {
    INFO("seed " << seed);
    const test::RandomProfile a(seed);
    const test::RandomProfile b(seed * 7 + 1000);
    auto both = try_merge({a.text, b.text});
    if (!both) {  // rejected: sums of launches or losses exceed 64 bits
      CHECK(both.error().message.find("exceeds 64 bits") != std::string::npos);
      continue;
    }
    const Aggregate rows_a = test::read_all(a.text);
    const Aggregate rows_b = test::read_all(b.text);
    const Aggregate rows = test::read_all(both.value().text);
    for (const std::string& warning : rows.info.warnings) {
      CHECK(warning.find("END") == std::string::npos);  // the END totals match the sums of the records
    }
    CHECK(rows.total.ns == a.gpu_ns + b.gpu_ns);
    CHECK(rows.total.count == rows_a.total.count + rows_b.total.count);
    CHECK(rows.host_total.bytes == rows_a.host_total.bytes + rows_b.host_total.bytes);
    CHECK(rows.busy_ns == a.busy_ns + b.busy_ns);
    CHECK(rows.exclusive_ns == rows_a.exclusive_ns + rows_b.exclusive_ns);
    CHECK(rows.idle_ns == a.idle_ns + b.idle_ns);
    CHECK(rows.info.samples == a.samples + b.samples);
    CHECK(rows.info.events == a.events + b.events);
    CHECK(rows.info.gpu_records == a.gpu_count + b.gpu_count);
    // Extrapolation is off: the merged profile has more stacks, so it would estimate unsampled work differently.
    for (const Measure measure :
         {Measure::gpu, Measure::busy, Measure::samples, Measure::idle, Measure::wait, Measure::alloc}) {
      FoldOptions options{.spread = false, .measure = measure};
      if (measure != Measure::samples) {
        options.leaves = Leaves();  // without apportioning, as samples of both inputs would change the shares
      }
      for (const WeightKind kind : {WeightKind::time, WeightKind::count, WeightKind::bytes}) {
        auto sum = folded_lines(test::lines_of(fold(rows_a, options), kind));
        for (const auto& [stack, weight] : folded_lines(test::lines_of(fold(rows_b, options), kind))) {
          sum[stack] += weight;
        }
        CHECK(folded_lines(test::lines_of(fold(rows, options), kind)) == sum);
      }
    }
  }
}

TEST_CASE("a profile in the published form can be merged, too") {
  const std::string own =
      "GPUPROF;3.0\nSTRING;1;app\nPROCESS;1;7;1;5;1;0;0;0\nWORK;1;1;0;0;0;0;0;0;0;0;kernel;1;0\n"
      "GPU;0;1;2;30;10;20;0;0;0\nEND;9;2;2;30;0;0;0\n";
  const std::string published = "STRING;1;app\nEUSTALL;1;7;0;0;0;0;0;1;0x8;3\n";
  const Merged both = merged({own, own, published});
  const Aggregate rows = test::read_all(both.text);
  CHECK(rows.info.warnings.empty());  // END counts the samples too, so its sums match the records
  CHECK(rows.total.ns == 60);
  CHECK(rows.total.count == 4);
  CHECK(rows.info.samples == 3);
  CHECK(rows.info.complete);
}

TEST_CASE("damaged profiles are rejected, or merged without the damaged records") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    INFO("seed " << seed);
    const std::string whole = test::RandomProfile(seed % 20).text;
    const std::string damaged = test::damaged(whole, seed);
    if (!test::open_text(damaged, true)) {
      continue;  // the first line was damaged, so this is not a profile
    }
    (void)try_merge({whole, damaged});
    const auto lenient = try_merge({whole, damaged}, true);
    if (lenient) {
      CHECK(test::first_error(lenient.value().text).empty());
    }
  }
}
