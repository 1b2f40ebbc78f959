// Joins the three events of each GPU scheduler job: queued, run and done. It uses no BPF and reads no clock, so tests
// can drive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "backend/event_sink.h"
#include "wire/drm_events.h"
#include "wire/hash.h"

namespace gpuprof::backend::drm {

struct JobKey {
  uint64_t context = 0;
  uint64_t seqno = 0;
  bool operator==(const JobKey&) const = default;
};

struct JobKeyHash {
  size_t operator()(const JobKey& key) const { return gpuprof_mix_hash(key.context, key.seqno); }
};

struct Job {
  SourceId source = 0;
  uint64_t correlation = 0;  // 0: the job is not reported
  uint64_t ring = 0;         // the jobs of a ring run one after the other
  uint64_t stream = 0;
  uint64_t queued_ns = 0;
  uint64_t run_ns = 0;  // when the driver passed the job to the hardware
  uint64_t done_ns = 0;
  uint32_t name_id = 0;
  uint32_t device = 0;
  bool failed = false;
  bool untimed = false;  // done_ns is not the end of the job
  bool ignored = false;
};

class JobSink {
 public:
  JobSink() = default;
  JobSink(const JobSink&) = delete;
  JobSink& operator=(const JobSink&) = delete;
  virtual ~JobSink() = default;

  // The job has ended. At `start_ns`, the hardware had the job and had finished the previous job of the ring.
  virtual void on_job(const JobKey& key, const Job& job, uint64_t start_ns) = 0;
  virtual void on_failed_job(const Job& job) = 0;
  // The job has begun, but its end is unknown: the driver gave the scheduler no fence.
  virtual void on_untimed_job(const JobKey& key, const Job& job) = 0;
  // Events of the job are missing. If `unfinished`, the event of its end is missing, else that of its start.
  virtual void on_lost_job(const JobKey& key, const Job& job, bool unfinished) = 0;
};

class JobJoin {
 public:
  explicit JobJoin(JobSink& sink) : sink_(sink) {}

  // The three events of a job may come in any order, and any of them may be missing. A process can make the end events
  // of its jobs get lost by filling the ring buffer. Such jobs stay until the process ends, so above kMaxJobs a new job
  // counts as unfinished at once.
  void on_queued(const JobKey& key, const Job& job);
  void on_run(const JobKey& key, uint64_t time_ns);
  void on_done(const JobKey& key, uint64_t time_ns, gpuprof_drm_end end);

  // Ignores all events of a job, because no recorded process owns it.
  void ignore(const JobKey& key, uint64_t queued_ns);

  // Drops jobs that have waited longer than kMaxIncompleteNs for a missing event. Keeps jobs of known processes that
  // have not ended yet.
  void expire(uint64_t now_ns);
  // Drops the jobs of a source that have not ended yet.
  void end_source(SourceId source);

  [[nodiscard]] size_t waiting() const { return jobs_.size(); }
  [[nodiscard]] uint64_t unknown() const { return unknown_; }

  static constexpr uint64_t kMaxIncompleteNs = 1'000'000'000;
  static constexpr size_t kMaxJobs = 1 << 17;
  static constexpr size_t kMaxRings = 1 << 16;

 private:
  using Jobs = std::unordered_map<JobKey, Job, JobKeyHash>;

  void complete_job(Jobs::iterator job);
  void drop(const JobKey& key, const Job& job);
  Job* half(const JobKey& key);

  JobSink& sink_;
  Jobs jobs_;
  std::unordered_map<uint64_t, uint64_t> last_done_;
  uint64_t unknown_ = 0;
};

}  // namespace gpuprof::backend::drm
