#include "cupti/windows/passed_launches.h"

#include <unistd.h>

#include "catch.h"
#include "recorded.h"

using gpuprof::test::record_one;
using gpuprof::test::Source;
namespace cupti = gpuprof::injection::cupti;

namespace {

// A program whose launches have the driver's numbers 1, 2, ... and equal correlation ids.
void trace(int64_t first, int64_t last, bool begins) {
  for (int64_t number = first; number <= last; ++number) {
    if (begins) {
      cupti::note_attached_launch(static_cast<uint32_t>(number));
    } else {
      cupti::note_traced_record();
      cupti::note_traced_kernel(static_cast<uint32_t>(number), 0, number);
    }
  }
}

// A window in which the program makes these launches, and whose records come in time.
void run_window(int64_t first, int64_t last) {
  cupti::set_tracing(true);
  trace(first, last, true);
  trace(first, last, false);
  cupti::set_tracing(false);
}

uint64_t passed(const Source& source) {
  return source.counts[GPUPROF_COUNT_PASSED];
}

}  // namespace

TEST_CASE("launches between two windows are those whose numbers no record has") {
  const Source source = record_one({}, [] {
    cupti::begin_passed(false);
    run_window(11, 30);
    cupti::report_passed(false);
    run_window(101, 110);
    cupti::report_passed(false);
    return 0;
  });
  CHECK(passed(source) == 10 + 70);
}

TEST_CASE("launches before the first record are only extrapolated") {
  const bool attached = GENERATE(false, true);
  const Source source = record_one({}, [&] {
    cupti::begin_passed(attached);
    run_window(20'001, 20'100);
    cupti::report_passed(false);
    return 0;
  });
  CHECK(passed(source) == (attached ? 0 : 20'000));
  CHECK(source.counts[GPUPROF_COUNT_EXTRAPOLATED] == passed(source));
}

TEST_CASE("launches after the last record are estimated by the rate since the recording began") {
  const Source source = record_one({}, [] {
    cupti::begin_passed(false);
    cupti::set_tracing(true);
    usleep(300'000);
    trace(20'001, 20'100, true);
    trace(20'001, 20'100, false);
    cupti::set_tracing(false);
    usleep(30'000);
    cupti::report_passed(true);
    return 0;
  });
  const uint64_t later = passed(source) - 20'000;
  CHECK(later > 200);
  CHECK(later < 20'000);  // not more than as many as in ten times the time
}

TEST_CASE("a record that comes in the next window belongs to the window of its launch") {
  const int64_t late_from = GENERATE(11, 25, 31);  // 11: all records of the window; 31: none
  const bool before_launches = GENERATE(false, true);
  const int64_t unseen = GENERATE(0, 1);  // launches that began before the window, and are recorded in it
  const Source source = record_one({}, [&] {
    cupti::begin_passed(false);
    cupti::set_tracing(true);
    trace(11, 30, true);
    trace(11, late_from - 1, false);
    cupti::set_tracing(false);
    cupti::set_tracing(true);
    if (before_launches) {
      trace(late_from, 30, false);
    }
    trace(101 + unseen, 110, true);
    if (!before_launches) {
      trace(late_from, 30, false);
    }
    trace(101, 110, false);
    cupti::set_tracing(false);
    cupti::report_passed(false);
    return 0;
  });
  CHECK(passed(source) == 10 + 70);
}

TEST_CASE("launches while CUPTI is switched belong to the window before or after") {
  const Source source = record_one({}, [] {
    cupti::begin_passed(false);
    cupti::set_tracing(true);
    trace(11, 32, true);  // 31 and 32 begin after the window, but are recorded
    trace(11, 29, false);
    cupti::set_tracing(false);
    trace(33, 100, true);
    trace(101, 102, true);  // recorded before the window begins
    cupti::set_tracing(true);
    trace(30, 32, false);
    trace(101, 102, false);
    trace(103, 110, true);
    trace(103, 110, false);
    cupti::set_tracing(false);
    cupti::report_passed(false);
    return 0;
  });
  CHECK(passed(source) == 10 + 68);
}

TEST_CASE("after CUPTI was detached, equal correlation ids are of other launches") {
  const Source source = record_one({}, [] {
    cupti::begin_passed(false);
    run_window(11, 30);
    cupti::forget_attached_launches();
    cupti::set_tracing(true);
    for (int64_t i = 1; i <= 10; ++i) {
      cupti::note_attached_launch(static_cast<uint32_t>(i));
      cupti::note_traced_record();
      cupti::note_traced_kernel(static_cast<uint32_t>(i), 0, 100 + i);
    }
    cupti::set_tracing(false);
    cupti::report_passed(false);
    return 0;
  });
  CHECK(passed(source) == 10 + 70);
}
