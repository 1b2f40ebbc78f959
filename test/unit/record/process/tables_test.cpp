
#include "catch.h"
#include "profile/log_buckets.h"
#include "record/join/sums/histogram.h"
#include "record/join/sums/work_set.h"
#include "record/process/name_table.h"
#include "record/process/rank.h"
#include "record/recording_switch.h"

using namespace std::string_view_literals;
using gpuprof::record::Histogram;
using gpuprof::record::is_rank;
using gpuprof::record::NameTable;
using gpuprof::record::rank_of;
using gpuprof::record::RecordingSwitch;

TEST_CASE("the rank comes from the most specific launcher variable") {
  CHECK(rank_of("A=1\0RANK=3\0B=2\0"sv) == "3");
  CHECK(rank_of("SLURM_PROCID=0\0RANK=3\0"sv) == "3");
  CHECK(rank_of("SLURM_PROCID=12"sv) == "12");
  CHECK(rank_of("RANK=3\0PMI_RANK=4\0OMPI_COMM_WORLD_RANK=5\0"sv) == "5");
  CHECK(rank_of("MV2_COMM_WORLD_RANK=6\0RANK=1\0"sv) == "6");
  CHECK(rank_of("PMIX_RANK=x\0PMI_RANK=7\0"sv) == "7");
  CHECK(rank_of("MY_RANK=3\0RANKS=4\0RANK\0RANK=\0"sv).empty());
  CHECK(rank_of("RANK=-1\0"sv).empty());
  CHECK(rank_of("RANK=12345678901234567890\0"sv).empty());
  CHECK(rank_of("").empty());
  CHECK_FALSE(is_rank("1;2"));
}

TEST_CASE("names are sent once, and names beyond a limit of bytes share one entry") {
  NameTable names(1000);
  CHECK(names.intern("") == 0);
  const auto first = names.intern("a");
  CHECK(names.intern("a") == first);
  CHECK(names.text(first) == "a");
  CHECK(names.text(99).empty());
  CHECK(names.take_new().size() == 1);
  for (int i = 0; i < 100; ++i) {
    names.intern("name " + std::to_string(i));
  }
  CHECK(names.intern("yet another") == names.intern("and one more"));
  CHECK(names.text(names.intern("x")) == "[more names]");
  CHECK(names.intern("a") == first);
  CHECK(names.take_new().size() < 10);
}

TEST_CASE("histograms hold the values of each bucket in order") {
  Histogram histogram;
  for (const uint64_t ns : {1000u, 3u, 1000u, 1001u, 5'000'000u}) {
    histogram.add(ns);
  }
  CHECK(histogram.count == 5);
  CHECK(histogram.sum_ns == 5'003'004);
  CHECK(histogram.min_ns == 3);
  CHECK(histogram.max_ns == 5'000'000);
  REQUIRE(histogram.buckets.size() == 3);
  CHECK(histogram.buckets[0].bucket == 3);
  CHECK(histogram.buckets[1].bucket == gpuprof::profile::LatencyBuckets::of(1000));
  CHECK(histogram.buckets[1].count == 3);
}

TEST_CASE("recording is on from the start to the end") {
  RecordingSwitch recording({}, 100);
  CHECK(recording.on());
  CHECK_FALSE(recording.update(UINT64_MAX - 1));
  CHECK_FALSE(recording.expired());
}

TEST_CASE("recording begins after a delay and lasts for a duration") {
  RecordingSwitch recording({.delay_ns = 50, .duration_ns = 200}, 100);
  CHECK_FALSE(recording.on());
  CHECK_FALSE(recording.update(149));
  CHECK(recording.update(150));
  CHECK(recording.on());
  CHECK_FALSE(recording.update(349));
  CHECK(recording.update(351));
  CHECK_FALSE(recording.on());
  CHECK(recording.expired());
  CHECK_FALSE(recording.update(1000));
}

TEST_CASE("a duration that begins late is complete") {
  RecordingSwitch recording({.delay_ns = 50, .duration_ns = 200}, 100);
  CHECK(recording.update(1000));
  CHECK_FALSE(recording.update(1199));
  CHECK(recording.update(1200));
  CHECK(recording.expired());
}

TEST_CASE("signals override the delay, and each switching on lasts for the duration") {
  RecordingSwitch recording({.duration_ns = 200, .paused = true}, 100);
  CHECK_FALSE(recording.on());
  CHECK_FALSE(recording.update(10'000));
  CHECK(recording.set_by_user(true, 1000));
  CHECK_FALSE(recording.set_by_user(true, 1100));
  CHECK(recording.set_by_user(false, 1150));
  CHECK_FALSE(recording.update(5000));
  CHECK_FALSE(recording.expired());
  CHECK(recording.set_by_user(true, 6000));
  CHECK(recording.update(6200));
  CHECK(recording.expired());
  CHECK(recording.set_by_user(true, 7000));
  CHECK(recording.on());

  RecordingSwitch delayed({.delay_ns = 50}, 100);
  CHECK(delayed.set_by_user(true, 110));
  CHECK_FALSE(delayed.update(160));
  CHECK(delayed.on());
  RecordingSwitch cancelled({.delay_ns = 50}, 100);
  CHECK_FALSE(cancelled.set_by_user(false, 110));
  CHECK_FALSE(cancelled.update(160));
}
