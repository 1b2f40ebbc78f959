#include "symbolize/reading_budget.h"

#include <unistd.h>

#include <fstream>

#include "base/clock.h"
#include "catch.h"
#include "child.h"
#include "name_address.h"
#include "symbolize/elf/debug_files.h"
#include "symbolize/perf_map.h"
#include "symbolize/symbolizer.h"

namespace gpuprof::symbolize::test {
namespace {

constexpr uint64_t kLongAgo = 1;

std::string read_name(PerfMap& map, ReadingBudget& budget, uint64_t address) {
  map.open(FileAccess{});
  map.refresh(budget);
  return std::string(map.find(address));
}

}  // namespace

TEST_CASE("requests beyond a limit are refused and counted") {
  ReadingBudget budget({.perf_map_bytes = 100, .checksum_bytes = 10, .debug_info_bytes = 10, .symbols = 7}, {});
  CHECK(budget.left_out().nothing());
  CHECK(budget.take_perf_map(60) == 60);
  CHECK(budget.take_perf_map(40) == 40);
  CHECK(budget.left_out().nothing());
  CHECK(budget.take_perf_map(1) == 0);
  CHECK(budget.left_out().perf_maps == 1);
  CHECK(budget.take_symbols(5) == 5);
  CHECK(budget.take_symbols(5) == 2);
  CHECK(budget.left_out().symbol_tables == 1);
  // After a refused large file, smaller files still fit.
  CHECK_FALSE(budget.take_checksum(11));
  CHECK(budget.take_checksum(10));
  CHECK_FALSE(budget.take_checksum(UINT64_MAX));
  CHECK(budget.left_out().debug_links == 2);
  CHECK(budget.take_debug_info(10, true));
  CHECK_FALSE(budget.take_debug_info(1, true));
  CHECK(budget.left_out().debug_infos == 1);
}

TEST_CASE("files of other users have a smaller limit than those of root and the own user") {
  ReadingBudget budget({.debug_info_bytes = 100, .others_debug_info_bytes = 10}, {});
  CHECK(budget.take_debug_info(80, true));
  CHECK(budget.may_take_debug_info(1000, 10, false));
  CHECK(budget.take_debug_info(8, false));
  CHECK_FALSE(budget.take_debug_info(3, false));
  CHECK_FALSE(budget.may_take_debug_info(0, 3, false));
  CHECK(budget.take_debug_info(3, true));
  CHECK(budget.left_out().debug_infos == 2);
}

TEST_CASE("requests beyond the free memory are refused") {
  uint64_t room = 1000;
  ReadingBudget budget({}, [&room] { return room; });
  CHECK(budget.take_debug_info(1000, true));
  CHECK_FALSE(budget.take_debug_info(1001, true));
  CHECK_FALSE(budget.may_take_debug_info(1001, 0, true));
  CHECK(budget.take_symbols(1000) < 100);
  CHECK(budget.take_perf_map(1000) == 500);
  room = 0;
  CHECK_FALSE(budget.take_debug_info(1, true));
  CHECK(budget.take_symbols(1) == 0);
  CHECK(budget.take_perf_map(1) == 0);
  room = 1 << 20;
  CHECK(budget.take_symbols(1000) == 1000);
  CHECK(budget.take_debug_info(1000, true));
}

TEST_CASE("functions have names even if the memory for their unit's lines is missing") {
  const Child child("pie", fixture("chain_full.so"));
  ProcessMaps maps(child.pid(), make_file_cache());
  REQUIRE(maps.refresh());
  bool inlined_without_lines = false;
  std::vector<SymbolizedFrame> frames;
  for (uint64_t room = 1024; room <= uint64_t{1} << 30; room *= 2) {
    SymbolizerOptions options;
    options.room = [room] { return room; };
    Symbolizer symbolizer(options);
    frames.clear();
    name_address(symbolizer, maps, child.outer(), true, frames);
    REQUIRE_FALSE(frames.empty());
    const bool has_line = frames.back().line != 0;
    CHECK(has_line == (symbolizer.budget().left_out().debug_infos == 0));
    inlined_without_lines = inlined_without_lines || (frames.size() == 3 && !has_line);
  }
  CHECK(inlined_without_lines);
  CHECK(frames.size() == 3);
  CHECK(frames.back().line != 0);
}

TEST_CASE("the time limit begins at the end of the recording and excludes downloads") {
  ReadingBudget budget({.time_after_end_ns = 1'000'000, .download_ns = 5}, {});
  CHECK(budget.in_time());
  budget.end(monotonic_ns() - 1'000'001, 0);  // this process has used more than 1 ms of CPU time
  CHECK_FALSE(budget.in_time());
  CHECK(budget.may_download());
  budget.downloaded(3600'000'000'000);
  CHECK(budget.in_time());
  CHECK_FALSE(budget.may_download());
  CHECK(budget.left_out().downloads == 1);
}

TEST_CASE("on a busy machine, the time limit is longer") {
  constexpr uint64_t kSecond = 1'000'000'000;
  ReadingBudget budget({.time_after_end_ns = 10 * kSecond}, {});
  budget.end(monotonic_ns() - 39 * kSecond, own_cpu_ns());
  CHECK(budget.in_time());
  budget.end(monotonic_ns() - 40 * kSecond, own_cpu_ns());
  CHECK_FALSE(budget.in_time());
}

TEST_CASE("a perf map is read once, up to the limit") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/perf-1.map";
  std::ofstream(path) << "1000 10 first\n2000 10 second\n3000 10 third\n" << std::string(100, 'x');
  ReadingBudget budget({.perf_map_bytes = 200}, {});
  PerfMap map(path, ::geteuid());
  CHECK(read_name(map, budget, 0x3000) == "third");
  for (int i = 0; i < 100; ++i) {
    CHECK(read_name(map, budget, 0x1000) == "first");
  }
  CHECK(budget.left_out().nothing());
  // The line is complete now, but exceeds the limit.
  std::ofstream(path, std::ios::app) << "\n4000 10 fourth\n";
  CHECK(read_name(map, budget, 0x4000).empty());
  CHECK(read_name(map, budget, 0x2000) == "second");
  CHECK(budget.left_out().perf_maps == 1);

  ReadingBudget few({.perf_map_functions = 2}, {});
  PerfMap limited(path, ::geteuid());
  CHECK(read_name(limited, few, 0x2000) == "second");
  CHECK(read_name(limited, few, 0x3000).empty());
}

TEST_CASE("a perf map that is replaced is read again") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/perf-1.map";
  std::ofstream(path) << "1000 10 old\n";
  ReadingBudget budget({}, {});
  PerfMap map(path, ::geteuid());
  CHECK(read_name(map, budget, 0x1000) == "old");
  REQUIRE(::unlink(path.c_str()) == 0);
  CHECK_FALSE(map.is_open());
  CHECK(read_name(map, budget, 0x1000) == "old");
  std::ofstream(path) << "2000 10 new\n";
  CHECK(read_name(map, budget, 0x2000) == "new");
  CHECK(read_name(map, budget, 0x1000).empty());
}

TEST_CASE("an endless line of a perf map takes no memory") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/perf-1.map";
  std::ofstream(path) << "1000 10 name\n2000 10 " << std::string(10 << 20, 'n') << "\n3000 10 last\n";
  ReadingBudget budget({}, {});
  PerfMap map(path, ::geteuid());
  CHECK(read_name(map, budget, 0x1000) == "name");
  CHECK(map.find(0x2000).size() == 64 << 10);
  CHECK(map.find(0x3000) == "last");
}

TEST_CASE("after the time limit only known addresses have names") {
  const Child child("pie", fixture("chain_full.so"));
  ProcessMaps maps(child.pid(), make_file_cache());
  REQUIRE(maps.refresh());
  Symbolizer symbolizer;
  std::vector<SymbolizedFrame> frames;
  name_address(symbolizer, maps, child.outer(), true, frames);
  REQUIRE(frames.size() == 3);
  symbolizer.budget().end(kLongAgo, 0);
  frames.clear();
  name_address(symbolizer, maps, child.outer(), true, frames);
  CHECK(frames.size() == 3);
  CHECK(symbolizer.budget().left_out().nothing());
  for (const uint64_t address : {child.local(), child.own()}) {
    frames.clear();
    name_address(symbolizer, maps, address, true, frames);
    REQUIRE(frames.size() == 1);
    CHECK(frames[0].kind == profile::FrameKind::unknown);
    CHECK(frames[0].name.find("+0x") != std::string::npos);
  }
  CHECK(symbolizer.budget().left_out().addresses == 2);
}

TEST_CASE("DWARF and symbols beyond the limits are skipped") {
  const Child child("pie", fixture("chain_full.so"));
  ProcessMaps maps(child.pid(), make_file_cache());
  REQUIRE(maps.refresh());
  SymbolizerOptions options;
  options.limits.debug_info_bytes = 100;
  Symbolizer without_lines(options);
  std::vector<SymbolizedFrame> frames;
  name_address(without_lines, maps, child.outer(), true, frames);
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].name == "fixture::Runner::outer(void (*)())");
  CHECK(without_lines.budget().left_out().debug_infos == 1);

  options.limits.symbols = 0;
  Symbolizer without_names(options);
  frames.clear();
  name_address(without_names, maps, child.outer(), true, frames);
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].kind == profile::FrameKind::unknown);
  CHECK(without_names.budget().left_out().symbol_tables > 0);
}

}  // namespace gpuprof::symbolize::test
