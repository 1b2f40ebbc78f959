#include "backend/drm/job_join.h"

#include <algorithm>
#include <array>
#include <vector>

#include "catch.h"

using namespace gpuprof::backend;
using namespace gpuprof::backend::drm;

namespace {

struct SeenJobs : JobSink {
  struct Done {
    uint64_t correlation = 0;
    uint64_t start = 0;
    uint64_t end = 0;
    bool operator==(const Done&) const = default;
  };
  struct Lost {
    JobKey key;
    SourceId source = 0;
    bool unfinished = false;
    bool operator==(const Lost&) const = default;
  };
  void on_job(const JobKey& /*key*/, const Job& job, uint64_t start_ns) override {
    done.push_back({job.correlation, start_ns, job.done_ns});
  }
  void on_lost_job(const JobKey& key, const Job& job, bool unfinished) override {
    lost.push_back({key, job.source, unfinished});
  }
  void on_failed_job(const Job& job) override { failed.push_back(job.correlation); }
  void on_untimed_job(const JobKey& /*key*/, const Job& job) override { untimed.push_back(job.correlation); }
  std::vector<Done> done;
  std::vector<Lost> lost;
  std::vector<uint64_t> failed;
  std::vector<uint64_t> untimed;
};

Job job(uint64_t correlation, uint64_t queued_ns, uint64_t ring = 1, SourceId source = 7) {
  Job made;
  made.source = source;
  made.correlation = correlation;
  made.queued_ns = queued_ns;
  made.ring = ring;
  return made;
}

constexpr uint64_t kS = 1'000'000'000;

}  // namespace

TEST_CASE("a job whose driver gave no fence has no time, and does not delay the next job") {
  SeenJobs seen;
  JobJoin join(seen);
  join.on_queued({5, 1}, job(42, 100));
  join.on_run({5, 1}, 200);
  join.on_done({5, 1}, 210, GPUPROF_DRM_NO_FENCE);
  CHECK(seen.untimed == std::vector<uint64_t>{42});
  CHECK(seen.done.empty());
  join.on_queued({5, 2}, job(43, 100));
  join.on_run({5, 2}, 205);
  join.on_done({5, 2}, 300, GPUPROF_DRM_FINISHED);
  CHECK(seen.done == std::vector<SeenJobs::Done>{{43, 205, 300}});
  CHECK(join.waiting() == 0);
}

TEST_CASE("a job is assembled from its events in any order") {
  std::array<int, 3> order{0, 1, 2};
  do {
    SeenJobs seen;
    JobJoin join(seen);
    for (const int what : order) {
      if (what == 0) {
        join.on_queued({5, 1}, job(42, 100));
      } else if (what == 1) {
        join.on_run({5, 1}, 200);
      } else {
        join.on_done({5, 1}, 500, GPUPROF_DRM_FINISHED);
      }
    }
    CHECK(seen.done == std::vector<SeenJobs::Done>{{42, 200, 500}});
    CHECK(join.waiting() == 0);
    CHECK(join.unknown() == 0);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("a job of a ring starts when the job before it is done") {
  SeenJobs seen;
  JobJoin join(seen);
  join.on_queued({5, 1}, job(1, 100));
  join.on_queued({6, 1}, job(2, 110));
  join.on_queued({8, 1}, job(3, 110, 2));
  join.on_run({5, 1}, 200);
  join.on_run({6, 1}, 210);  // the hardware still runs job {5, 1}
  join.on_run({8, 1}, 220);  // this job runs on another ring
  join.on_done({5, 1}, 500, GPUPROF_DRM_FINISHED);
  join.on_done({6, 1}, 800, GPUPROF_DRM_FINISHED);
  join.on_done({8, 1}, 900, GPUPROF_DRM_FINISHED);
  CHECK(seen.done == std::vector<SeenJobs::Done>{{1, 200, 500}, {2, 500, 800}, {3, 220, 900}});
}

TEST_CASE("a job that overtakes another one of its ring keeps its own times") {
  SeenJobs seen;
  JobJoin join(seen);
  join.on_queued({5, 1}, job(1, 100));
  join.on_queued({6, 1}, job(2, 100));
  join.on_run({5, 1}, 200);
  join.on_run({6, 1}, 210);
  join.on_done({6, 1}, 800, GPUPROF_DRM_FINISHED);
  join.on_done({5, 1}, 700, GPUPROF_DRM_FINISHED);
  CHECK(seen.done == std::vector<SeenJobs::Done>{{2, 210, 800}, {1, 200, 700}});
}

TEST_CASE("a job whose start event was lost has no times, and a running job stays pending") {
  SeenJobs seen;
  JobJoin join(seen);
  join.on_queued({5, 1}, job(1, 100));
  join.on_done({5, 1}, 500, GPUPROF_DRM_FINISHED);
  join.on_queued({5, 2}, job(2, 100));
  join.on_run({5, 2}, 200);
  join.expire(500 + kS - 1);
  CHECK(seen.lost.empty());
  join.expire(500 + kS);
  CHECK(seen.lost == std::vector<SeenJobs::Lost>{{{5, 1}, 7, false}});
  join.expire(3600 * kS);
  join.on_done({5, 2}, 3600 * kS, GPUPROF_DRM_FINISHED);
  CHECK(seen.done == std::vector<SeenJobs::Done>{{2, 200, 3600 * kS}});
}

TEST_CASE("a job that failed before it ran has no times, one that ran has times even with an error") {
  SeenJobs seen;
  JobJoin join(seen);
  join.on_queued({5, 1}, job(1, 100));
  join.on_done({5, 1}, 500, GPUPROF_DRM_FAILED);
  join.on_done({5, 2}, 600, GPUPROF_DRM_FAILED);
  join.on_queued({5, 2}, job(2, 550));
  join.on_queued({5, 3}, job(3, 100));
  join.on_run({5, 3}, 200);
  join.on_done({5, 3}, 700, GPUPROF_DRM_FAILED);
  join.expire(2 * kS);
  std::sort(seen.failed.begin(), seen.failed.end());
  CHECK(seen.failed == std::vector<uint64_t>{1, 2});
  CHECK(seen.done == std::vector<SeenJobs::Done>{{3, 200, 700}});
  CHECK(seen.lost.empty());
}

TEST_CASE("jobs without a queue event are counted and expire") {
  SeenJobs seen;
  JobJoin join(seen);
  join.on_run({5, 1}, 200);
  join.on_done({5, 1}, 300, GPUPROF_DRM_FINISHED);
  join.on_done({5, 2}, 300, GPUPROF_DRM_FINISHED);
  join.expire(2 * kS);
  CHECK(join.unknown() == 2);
  CHECK(join.waiting() == 0);
  CHECK(seen.done.empty());
  CHECK(seen.lost.empty());
}

TEST_CASE("a key that is reused belongs to a new job") {
  SeenJobs seen;
  JobJoin join(seen);
  join.on_queued({5, 1}, job(1, 100));
  join.on_run({5, 1}, 200);
  join.on_queued({5, 1}, job(2, 1000));  // the done event of the first job was lost
  CHECK(seen.lost == std::vector<SeenJobs::Lost>{{{5, 1}, 7, true}});
  join.on_done({5, 1}, 1500, GPUPROF_DRM_FINISHED);
  CHECK(seen.done.empty());  // the start of the first job must not be used
  join.on_run({5, 1}, 1100);
  CHECK(seen.done == std::vector<SeenJobs::Done>{{2, 1100, 1500}});

  join.on_done({5, 2}, 2000, GPUPROF_DRM_FINISHED);  // the queue event of this job was lost
  join.on_queued({5, 2}, job(3, 3000));
  CHECK(join.unknown() == 1);
  join.on_run({5, 2}, 3100);
  join.on_done({5, 2}, 3200, GPUPROF_DRM_FINISHED);
  CHECK(seen.done.back() == SeenJobs::Done{3, 3100, 3200});
}

TEST_CASE("jobs of a source that has ended are reported as lost") {
  SeenJobs seen;
  JobJoin join(seen);
  join.on_queued({5, 1}, job(1, 100));
  join.on_queued({6, 1}, job(2, 100, 1, 8));
  join.end_source(7);
  CHECK(join.waiting() == 1);  // the job of another source still waits
  CHECK(seen.lost == std::vector<SeenJobs::Lost>{{{5, 1}, 7, true}});
}

TEST_CASE("events of jobs without a queue event take limited memory") {
  SeenJobs seen;
  JobJoin join(seen);
  for (uint64_t i = 0; i < JobJoin::kMaxJobs + 10; ++i) {
    join.on_run({i, 1}, 100);
  }
  CHECK(join.waiting() == JobJoin::kMaxJobs);
  CHECK(join.unknown() == 10);
}

TEST_CASE("jobs whose end events were lost take limited memory") {
  SeenJobs seen;
  JobJoin join(seen);
  for (uint64_t i = 0; i < JobJoin::kMaxJobs + 2; ++i) {
    join.on_queued({1, i}, job(i, 1000));
  }
  CHECK(join.waiting() == JobJoin::kMaxJobs);
  CHECK(seen.lost ==
        std::vector<SeenJobs::Lost>{{{1, JobJoin::kMaxJobs}, 7, true}, {{1, JobJoin::kMaxJobs + 1}, 7, true}});
}

TEST_CASE("ignored jobs are not counted, in any order of their events") {
  std::array<int, 3> order{0, 1, 2};
  do {
    SeenJobs seen;
    JobJoin join(seen);
    for (const int what : order) {
      if (what == 0) {
        join.ignore({5, 1}, 100);
      } else if (what == 1) {
        join.on_run({5, 1}, 200);
      } else {
        join.on_done({5, 1}, 500, GPUPROF_DRM_FINISHED);
      }
    }
    join.expire(3 * kS);
    CHECK(join.waiting() == 0);
    CHECK(join.unknown() == 0);
    CHECK(seen.done.empty());
    CHECK(seen.lost.empty());
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("an ignored job without further events expires") {
  SeenJobs seen;
  JobJoin join(seen);
  join.ignore({5, 1}, 2 * kS);
  join.expire(2 * kS + 1);
  CHECK(join.waiting() == 1);
  join.expire(4 * kS);
  CHECK(join.waiting() == 0);
  CHECK(join.unknown() == 0);
}
