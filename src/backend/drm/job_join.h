// Jobs of the kernel's GPU schedulers: what is told of a job at three moments, put together. No BPF, no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "backend/event_sink.h"
#include "wire/hash.h"

namespace gpuprof::backend::drm {

// The fence that says that the job is done.
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
  uint64_t correlation = 0;  // 0: nobody is to be told of it
  uint64_t ring = 0;         // jobs of one ring run one after the other
  uint64_t stream = 0;
  uint64_t queued_ns = 0;
  uint64_t run_ns = 0;  // when it was handed to the hardware
  uint64_t done_ns = 0;
  uint32_t name_id = 0;
  uint32_t device = 0;
  bool failed = false;
  bool ignored = false;
};

class JobSink {
 public:
  JobSink() = default;
  JobSink(const JobSink&) = delete;
  JobSink& operator=(const JobSink&) = delete;
  virtual ~JobSink() = default;

  // The hardware may hold several jobs of a ring: this one has worked since `start_ns`, when it was handed over and the
  // one before it was done.
  virtual void on_job(const JobKey& key, const Job& job, uint64_t start_ns) = 0;
  // It was dropped before it ran.
  virtual void on_failed_job(const Job& job) = 0;
  // It will not be told of. `unfinished`: it has not come to its end, as far as is known; else its times are not known.
  virtual void on_lost_job(const JobKey& key, const Job& job, bool unfinished) = 0;
};

class JobJoin {
 public:
  explicit JobJoin(JobSink& sink) : sink_(sink) {}

  // The three may come in any order, and may be missing.
  void on_queued(const JobKey& key, const Job& job);
  void on_run(const JobKey& key, uint64_t time_ns);
  // `failed`: with an error.
  void on_done(const JobKey& key, uint64_t time_ns, bool failed);

  // It is nobody's who is recorded: what is told of it counts nowhere.
  void ignore(const JobKey& key, uint64_t queued_ns);

  // What has been incomplete for too long at this time will stay so: a job that is done and whose beginning was not
  // seen, and one that nobody has queued.
  void expire(uint64_t now_ns);
  // Jobs of the source that are not done never will be.
  void end_source(SourceId source);

  [[nodiscard]] size_t waiting() const { return jobs_.size(); }
  // Jobs without a submitter.
  [[nodiscard]] uint64_t unknown() const { return unknown_; }

  static constexpr uint64_t kPatienceNs = 1'000'000'000;
  static constexpr size_t kMaxJobs = 1 << 17;
  static constexpr size_t kMaxRings = 1 << 16;

 private:
  using Jobs = std::unordered_map<JobKey, Job, JobKeyHash>;

  void settle(Jobs::iterator job);
  void drop(const JobKey& key, const Job& job);
  Job* half(const JobKey& key);

  JobSink& sink_;
  Jobs jobs_;
  std::unordered_map<uint64_t, uint64_t> last_done_;  // by ring
  uint64_t unknown_ = 0;
};

}  // namespace gpuprof::backend::drm
