#include "record/write/range_lag.h"

#include "catch.h"

using gpuprof::profile::ProcessId;
using gpuprof::record::RangeLag;

TEST_CASE("the lag is that between processes that ended the range equally often") {
  RangeLag lag;
  CHECK(lag.add(ProcessId{1}, 100) == 0);
  CHECK(lag.add(ProcessId{1}, 200) == 0);
  CHECK(lag.add(ProcessId{2}, 130) == 30);
  CHECK(lag.add(ProcessId{2}, 190) == 10);  // this process was first
  CHECK(lag.add(ProcessId{3}, 105) == 5);
  CHECK(lag.add(ProcessId{3}, 260) == 70);
  CHECK(lag.add(ProcessId{3}, 300) == 0);
}

TEST_CASE("a process that is too far behind is not compared") {
  RangeLag lag;
  for (uint64_t i = 0; i < 200'000; ++i) {
    REQUIRE(lag.add(ProcessId{1}, i) == 0);
  }
  for (uint64_t i = 0; i < 100'000; ++i) {
    REQUIRE(lag.add(ProcessId{2}, 1'000'000) == 0);
  }
  CHECK(lag.add(ProcessId{2}, 1'000'000) == 900'000);
}
