#include "analyze/rows/time_series.h"

#include <string>
#include <vector>

#include "analyze/paths/fold.h"
#include "catch.h"
#include "profile/text_input.h"

using namespace gpuprof;
using namespace gpuprof::analyze;
using test::open_text;

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

// A kernel, a launch, a wait and a sample in different slices of 0.5 s. END has the sums of the complete profile.
const std::string kHead =
    "GPUPROF;3.0\nSTRING;1;app\nSTRING;2;saxpy\nSTRING;3;send\nUSTACK;1;main\nPROCESS;1;100;1;5;1;0;0;0\n"
    "DEVICE;1;0;0;0;0\nWORK;1;1;7;0;1;0;0;0;1;0;kernel;2;0\nWORK;2;1;7;0;0;0;0;0;1;0;kernel;2;2\n"
    "WORK;3;1;7;0;1;0;0;0;0;0;launch;2;0\nWORK;4;1;7;0;1;0;0;0;0;0;sync;2;0\nWORK;5;1;7;0;1;0;0;0;0;0;alloc;2;0\n";
const std::string kInterval = "META;interval_ns;500000000\n";
const std::string kRows =
    "GPU;0;1;2;30;10;20;500;0;8\nGPU;3;1;1;40;40;40;1600;0;0\nGPU;3;2;1;5;5;5;25;0;0\nGPU;7;1;1;100;100;100;10000;0;0\n"
    "LAUNCH;3;3;6\nSHARE;0;1;30;20\nSHARE;7;1;100;110\nIDLE;3;1;0;60\nHOST;1;4;1;9;9;9;0\nHOST;3;5;2;4;1;3;64\n"
    "EUSTALL;2;1;0;3;0;11;0\nEUSTALL;3;1;0;3;0;4;1\nEND;9;4;5;175;4;15;0\n";

Result<Aggregate> read(const std::string& text, const AggregateOptions& options, bool lenient = false) {
  auto reader = open_text(text, lenient);
  REQUIRE(reader);
  return aggregate(*reader, options);
}

Aggregate in_window(uint64_t from_ns, uint64_t to_ns) {
  auto rows = read(kHead + kInterval + kRows,
                   {.host = true, .idle = true, .window = TimeWindow{.from_ns = from_ns, .to_ns = to_ns}});
  REQUIRE(rows);
  return std::move(rows).value();
}

std::vector<uint64_t> cells_of(const std::string& text, Measure measure, uint64_t Weight::*what,
                               size_t most_cells = 100) {
  const auto rows = read(text, {.slices = measure});
  REQUIRE(rows);
  const auto series = time_series(*rows, measure, most_cells);
  REQUIRE(series);
  std::vector<uint64_t> cells;
  uint64_t sum = 0;
  for (const Weight& cell : series->cells) {
    cells.push_back(cell.*what);
    sum += cell.*what;
  }
  CHECK(sum == series->total.*what);
  return cells;
}

using Cells = std::vector<uint64_t>;

}  // namespace

TEST_CASE("the cells of a recording with --max-overhead are scaled to all launches of each process") {
  // Process 1 made 30 launches and counted 20 of them. Process 2 is complete.
  const std::string text = kHead + kInterval +
                           "META;budget.max_overhead_percent;3\nPROCESS;2;200;1;5;1;0;0;0\n"
                           "WORK;8;2;7;0;1;0;0;0;1;0;kernel;2;0\nWORK;9;1;7;0;1;0;0;0;0;0;failed;2;0\n"
                           "GPU;0;1;1;9;9;9;0;0;4\nGPU;1;1;1;9;9;9;0;0;4\nGPU;1;8;5;50;10;10;0;0;0\n"
                           "GPU;2;1;18;180;10;10;0;0;0\nHOST;0;4;2;20;10;10;0\nHOST;2;4;1;10;10;10;0\n"
                           "HOST;1;5;2;0;0;0;64\nHOST;2;9;4;0;0;0;0\nSHARE;2;8;40;40\n"
                           "COVERAGE;1;represented;30\nCOVERAGE;1;weighted;20\n";
  CHECK(cells_of(text, Measure::gpu, &Weight::count) == Cells{2, 6, 27});  // the total is 20 * 1.5 + 5
  CHECK(cells_of(text, Measure::gpu, &Weight::ns) == Cells{14, 63, 270});
  CHECK(cells_of(text, Measure::gpu, &Weight::bytes) == Cells{6, 6, 0});
  CHECK(cells_of(text, Measure::busy, &Weight::ns) == Cells{0, 0, 40});
  CHECK(cells_of(text, Measure::wait, &Weight::ns) == Cells{30, 0, 15});
  CHECK(cells_of(text, Measure::failed, &Weight::count) == Cells{0, 0, 6});
  CHECK(cells_of(text, Measure::alloc, &Weight::bytes) == Cells{0, 64});  // memory is not scaled
}

TEST_CASE("the sums over time of many processes need no more memory than those of one") {
  SliceSums sums;
  constexpr uint32_t kProcesses = 1000;
  for (uint32_t i = 0; i < kProcesses; ++i) {
    sums.add(profile::ProcessId{i}, 50'000, {.count = 1});
  }
  sums.add(profile::ProcessId{}, UINT64_MAX, {.count = 1});
  CHECK(sums.blocks().size() * kProcesses <= SliceSums::kBlocks);
  uint64_t count = 0;
  for (const Weight& block : sums.blocks()) {
    count += block.count;
  }
  CHECK(count == kProcesses + 1);
}

TEST_CASE("a window consists of all slices that overlap it") {
  const auto slices = [](uint64_t from_ns, uint64_t to_ns) {
    const SliceRange range = slices_of({.from_ns = from_ns, .to_ns = to_ns}, {.interval_ns = 10});
    return std::pair(range.first, range.last);
  };
  CHECK(slices(0, 10) == std::pair<uint64_t, uint64_t>(0, 0));
  CHECK(slices(0, 11) == std::pair<uint64_t, uint64_t>(0, 1));
  CHECK(slices(9, 10) == std::pair<uint64_t, uint64_t>(0, 0));
  CHECK(slices(10, 30) == std::pair<uint64_t, uint64_t>(1, 2));
  CHECK(slices(25, UINT64_MAX) == std::pair<uint64_t, uint64_t>(2, UINT64_MAX));
  const TimeWindow window = window_of({.first = 1, .last = 2}, {.interval_ns = 10});
  CHECK(window.from_ns == 10);
  CHECK(window.to_ns == 30);
  CHECK(window_of({.first = 3}, {.interval_ns = 10}).to_ns == UINT64_MAX);
  CHECK(window_of({.first = 3, .last = UINT64_MAX / 2}, {.interval_ns = 10}).to_ns ==
        UINT64_MAX);  // a time that exceeds 64 bits means an open end
}

TEST_CASE("cells have the length of short slices, or of long ones once there is a long slice") {
  const std::string head =
      kHead + "META;start_ns;0\nMETA;long_from_ns;1000\nMETA;long_interval_ns;500\nMETA;interval_ns;100\n";
  const auto gpu = [](int slice, int ns) {
    return "GPU;" + std::to_string(slice) + ";1;1;" + std::to_string(ns) + ";1;" + std::to_string(ns) + ";1;0;0\n";
  };
  const std::string brief = head + gpu(0, 1) + gpu(3, 2) + gpu(9, 4);
  CHECK(cells_of(brief, Measure::gpu, &Weight::ns) == Cells{1, 0, 0, 2, 0, 0, 0, 0, 0, 4});
  CHECK(cells_of(brief + gpu(15, 8) + gpu(4, 16), Measure::gpu, &Weight::ns) == Cells{1 + 2 + 16, 4, 0, 8});
  const auto selected = [&](uint64_t from_ns, uint64_t to_ns) {
    auto rows = read(brief + gpu(10, 8) + gpu(15, 16),
                     {.slices = Measure::gpu, .window = TimeWindow{.from_ns = from_ns, .to_ns = to_ns}});
    REQUIRE(rows);
    return std::move(rows).value();
  };
  // A short slice in the middle of long ones is one of them.
  Aggregate rows = selected(1200, 1300);
  CHECK(rows.total.ns == 8);
  CHECK(rows.selected_window()->from_ns == 1000);
  CHECK(rows.selected_window()->to_ns == 1500);
  CHECK(slice_lengths(rows.grid) == "0.0000001s, from 0.000001s on 0.0000005s");
  // The first cell begins with a long slice's length, though only a part of it is selected.
  rows = selected(300, 1600);
  const auto series = time_series(rows, Measure::gpu, 100);
  REQUIRE(series);
  CHECK(series->start_ns == 0);
  CHECK(series->cell_ns == 500);
  REQUIRE(series->cells.size() == 4);
  CHECK(series->cells[0].ns == 2);
  CHECK(series->cells[1].ns == 4);
  CHECK(series->cells[3].ns == 16);
}

TEST_CASE("with all events of the GPU work, a cell has any length, and the time for which work ran in it") {
  const std::string head = kHead + "META;start_ns;1000000\n" + kInterval + "GPU;0;1;2;2400;400;2000;4160000;0;8\n";
  const std::string one = "EVENT;1;1;1000500;1002500;0;0;0\n";
  const std::string all = head + one + "EVENT;1;2;1003000;1003400;0;0;8\nEVENT;4;3;1000000;1009000;0;0;0\n";
  CHECK(cells_of(all, Measure::gpu, &Weight::ns) == Cells{500, 1000, 500, 400});
  CHECK(cells_of(all, Measure::gpu, &Weight::count) == Cells{0, 0, 1, 1});
  CHECK(cells_of(all, Measure::gpu, &Weight::bytes) == Cells{0, 0, 0, 8});
  CHECK(cells_of(all, Measure::gpu, &Weight::ns, 2) == Cells{1500, 900});
  CHECK(cells_of(head + one, Measure::gpu, &Weight::ns) == Cells{2400});  // an event is missing
  TimelineSums sums;
  sums.set_window({.from_ns = 1500, .to_ns = 3300});
  sums.add(500, 2400, 0);
  sums.add(3000, 3400, 8);
  CHECK(sums.cells().size() == 2);
  CHECK(sums.cells()[0].ns == 900);
  CHECK(sums.cells()[0].count == 1);
  CHECK(sums.cells()[1].ns == 300);
  CHECK(sums.cells()[1].count == 0);  // it ended after the window
}

TEST_CASE("cells of a long timeline become longer, and keep their time") {
  TimelineSums sums;
  sums.add(100, 1'000'000'000'000, 0);
  sums.add(999'999'999'000, 1'000'000'000'000, 0);
  sums.add(0, UINT64_MAX, 0);  // does not fit
  uint64_t ns = 0;
  for (const Weight& cell : sums.cells()) {
    ns += cell.ns;
    CHECK(cell.ns <= 3 * sums.cell_ns());
  }
  CHECK(sums.cells().size() <= TimelineSums::kCells);
  CHECK(ns == sums.total().ns);
  CHECK(sums.total().count == 2);
}

TEST_CASE("a time as an option value is exact") {
  CHECK(exact_seconds(0) == "0s");
  CHECK(exact_seconds(12'400'000'000) == "12.4s");
  CHECK(exact_seconds(1) == "0.000000001s");
  CHECK(exact_seconds(3'600 * kSecond) == "3600s");
}

TEST_CASE("adjacent windows hold every record once") {
  const Aggregate all = in_window(0, UINT64_MAX);
  for (const uint64_t cut : {kSecond / 2, kSecond, 3 * kSecond / 2, 2 * kSecond, 10 * kSecond}) {
    const Aggregate before = in_window(0, cut);
    const Aggregate after = in_window(cut, UINT64_MAX);
    CHECK(before.total.ns + after.total.ns == all.total.ns);
    CHECK(before.total.count + after.total.count == all.total.count);
    CHECK(before.total.bytes + after.total.bytes == all.total.bytes);
    CHECK(before.sample_count + after.sample_count == all.sample_count);
    CHECK(before.host_total.ns + after.host_total.ns == all.host_total.ns);
    CHECK(before.busy_ns + after.busy_ns == all.busy_ns);
    CHECK(before.exclusive_ns + after.exclusive_ns == all.exclusive_ns);
    CHECK(before.idle_ns + after.idle_ns == all.idle_ns);
  }
  CHECK(all.total.ns == 175);
  const Aggregate middle = in_window(3 * kSecond / 2, 2 * kSecond);
  CHECK(middle.total.ns == 45);
  CHECK(middle.total.count == 8);  // two kernel executions and six launches
  CHECK(middle.sample_count == 4);
  CHECK(fold(middle, {}).tree.total().ns == 45);
}

TEST_CASE("recording metadata do not depend on the window") {
  const Aggregate all = in_window(0, UINT64_MAX);
  for (const Aggregate& rows :
       {in_window(0, kSecond), in_window(kSecond, UINT64_MAX), in_window(90 * kSecond, 91 * kSecond)}) {
    CHECK(rows.info.warnings.empty());  // no warning that the rows differ from the sums in END
    CHECK(rows.info.kind == all.info.kind);
    CHECK(rows.info.gpu_records == 5);
    CHECK(rows.info.with_stack == 4);
    CHECK(rows.info.unsampled == 1);
    CHECK(rows.info.samples == 15);
    CHECK(rows.info.estimated == 4);
    CHECK(rows.info.covered.recorded == all.info.covered.recorded);
    CHECK(rows.info.covered.with_stack == all.info.covered.with_stack);
  }
}

TEST_CASE("lines outside of the window are checked, too") {
  const AggregateOptions options{.window = TimeWindow{.to_ns = kSecond / 2}};
  for (const std::string bad : {"GPU;5;9;1;1;1;1;1;0;0\n", "LAUNCH;5;9;1\n", "SHARE;5;9;1;1\n",
                                "EUSTALL;5;9;0;0;0;1;0\n", "HOST;5;1;1;1;1;1;0\n", "IDLE;5;9;0;1\n",
                                "GPU;5;1;1;18446744073709551615;1;18446744073709551615;1;0;0\n"
                                "GPU;5;1;1;1;1;1;1;0;0\n"}) {
    INFO(bad);
    CHECK(!read(kHead + kInterval + bad, options));
  }
}

TEST_CASE("a window needs the length of a slice") {
  for (const bool lenient : {false, true}) {
    for (const std::string& interval :
         {std::string(), std::string("META;interval_ns;0\n"), std::string("META;interval_ns;1s\n")}) {
      const auto rows = read(kHead + interval + kRows, {.window = TimeWindow{.to_ns = kSecond}}, lenient);
      REQUIRE(!rows);
      CHECK(rows.error().message.find("interval_ns") != std::string::npos);
    }
  }
  CHECK(!read(kHead + kRows.substr(0, kRows.find('L')) + kInterval, {.window = TimeWindow{.to_ns = kSecond}}));
}

TEST_CASE("cells hold the weight that was measured in their time") {
  const std::string text = kHead + kInterval + kRows;
  CHECK(cells_of(text, Measure::gpu, &Weight::ns) == Cells{30, 0, 0, 45, 0, 0, 0, 100});
  CHECK(cells_of(text, Measure::gpu, &Weight::count) == Cells{2, 0, 0, 8, 0, 0, 0, 1});
  CHECK(cells_of(text, Measure::gpu, &Weight::bytes) == Cells{8, 0, 0, 0, 0, 0, 0, 0});
  CHECK(cells_of(text, Measure::busy, &Weight::ns) == Cells{30, 0, 0, 0, 0, 0, 0, 100});
  CHECK(cells_of(text, Measure::exclusive, &Weight::ns) == Cells{20, 0, 0, 0, 0, 0, 0, 110});
  CHECK(cells_of(text, Measure::samples, &Weight::count) == Cells{0, 0, 11, 4});
  CHECK(cells_of(text, Measure::idle, &Weight::ns) == Cells{0, 0, 0, 60});
  CHECK(cells_of(text, Measure::wait, &Weight::ns) == Cells{0, 9});
  CHECK(cells_of(text, Measure::alloc, &Weight::bytes) == Cells{0, 0, 0, 64});
  CHECK(cells_of(text, Measure::gpu, &Weight::ns, 4) == Cells{30, 45, 0, 100});
  CHECK(cells_of(text, Measure::gpu, &Weight::ns, 3) ==
        Cells{75, 100});  // a cell has 5 slices; 3 would be enough, but is not a round number
  CHECK(cells_of(kHead + kInterval, Measure::gpu, &Weight::ns).empty());
  const std::string samples = kHead + kInterval + "EUSTALL;1;1;0;3;0;11;0\n";
  CHECK(cells_of(samples, Measure::gpu, &Weight::count) == Cells{0, 11});  // the profile holds only samples
}

TEST_CASE("the cells of a window begin at its first slice") {
  const auto rows = read(kHead + kInterval + kRows, {.slices = Measure::gpu, .window = TimeWindow{.from_ns = kSecond}});
  REQUIRE(rows);
  const auto series = time_series(*rows, Measure::gpu, 100);
  REQUIRE(series);
  CHECK(series->start_ns == kSecond);
  CHECK(series->cell_ns == kSecond / 2);
  CHECK(series->cells.size() == 6);
  CHECK(series->begin_ns(6) == 4 * kSecond);
  CHECK(series->total.ns == 145);
}

TEST_CASE("cells know how much of their time was recorded") {
  const std::string text = kHead + kInterval + "META;start_ns;1000000000\n";
  // The windows overlap, are not in order, and begin before the recording. Slices 1, 5 and 6 have no recorded time.
  const std::string windows =
      "WINDOW;2250000000;2900000000\nWINDOW;900000000;1500000000\nWINDOW;2000000000;2500000000\n"
      "WINDOW;4500000000;4600000000\n";
  const auto recorded = [&](const std::string& lines, const AggregateOptions& options, size_t most_cells = 100) {
    const auto rows = read(lines, options);
    REQUIRE(rows);
    const auto series = time_series(*rows, Measure::gpu, most_cells);
    REQUIRE(series);
    return series->recorded_ns;
  };
  constexpr uint64_t kMs = 1'000'000;
  const AggregateOptions all{.slices = Measure::gpu};
  CHECK(recorded(text + windows + kRows, all) == Cells{500 * kMs, 0, 500 * kMs, 400 * kMs, 0, 0, 0, 100 * kMs});
  CHECK(recorded(text + windows + kRows, all, 4) == Cells{500 * kMs, 900 * kMs, 0, 100 * kMs});
  const AggregateOptions later{.slices = Measure::gpu, .window = TimeWindow{.from_ns = kSecond}};
  CHECK(recorded(text + windows + kRows, later) == Cells{500 * kMs, 400 * kMs, 0, 0, 0, 100 * kMs});
  // A subset of `split` has the windows of the complete profile.
  const std::string part = "META;part.which;from 1s to 1.5s, of a profile split by time\n";
  CHECK(recorded(text + part + windows + kRows, all) == Cells{0, 0, 500 * kMs, 0, 0, 0, 0, 0});
  // With --max-overhead, the work of a window counts in the slice of its start.
  const std::string weighted = "WINDOW;1200000000;1600000000\nWINDOW;1600000000;2100000000;2\n";
  CHECK(recorded(text + weighted + kRows, all) == Cells{400 * kMs, 500 * kMs, 0, 0, 0, 0, 0, 0});
  // Unknown: no WINDOW, no start, no END, or windows of the complete profile in a subset that leaves a time out.
  CHECK(recorded(text + kRows, all).empty());
  CHECK(recorded(kHead + kInterval + windows + kRows, all).empty());
  CHECK(recorded(text + windows + kRows.substr(0, kRows.find("END;")), all).empty());
  CHECK(recorded(text + "META;filter;--not --from 1s --to 2s\n" + windows + kRows, all).empty());
}

TEST_CASE("cells reach the end of the recording, also if nothing ran before it") {
  const std::string text = kHead + kInterval + "META;start_ns;1000000000\nWINDOW;1000000000;";
  CHECK(cells_of(text + "6200000000\n" + kRows, Measure::gpu, &Weight::count) ==
        Cells{2, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0});
  CHECK(cells_of(text + "9000000000000000000\n" + kRows, Measure::gpu, &Weight::count, 4) == Cells{11, 0, 0, 0});
}

TEST_CASE("slices far apart use bounded memory") {
  SliceSums sums;
  uint64_t slice = 0;
  uint64_t count = 0;
  for (uint64_t i = 0; i < 64; ++i) {
    sums.add({}, slice, {.ns = 1});
    slice = slice * 2 + 1;
    ++count;
  }
  sums.add({}, UINT64_MAX, {.ns = 5});
  sums.add({}, 0, {.ns = 7});
  CHECK(sums.blocks().size() <= SliceSums::kBlocks);
  uint64_t sum = 0;
  for (const Weight& block : sums.blocks()) {
    sum += block.ns;
  }
  CHECK(sum == count + 12);
  CHECK(sums.blocks()[0].ns >= 8);
  CHECK(sums.blocks().back().ns >= 5);
}

TEST_CASE("times that exceed 64 bits are rejected") {
  const auto rows = read(kHead + kInterval + "GPU;18446744073709551615;1;1;1;1;1;1;0;0\n", {.slices = Measure::gpu});
  REQUIRE(rows);
  CHECK(rows->total.ns == 1);
  CHECK(!time_series(*rows, Measure::gpu, 100));
  const auto without = read(kHead + kRows, {.slices = Measure::gpu});
  REQUIRE(without);
  CHECK(!time_series(*without, Measure::gpu, 100));
}
