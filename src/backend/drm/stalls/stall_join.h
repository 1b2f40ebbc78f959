// Attributes samples of EU stalls to kernels. A sample names no process, so this looks up its address in the kernels
// of all batches that ran on the device in the sample's window. Uses no device, no clock and no BPF.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/drm/job_join.h"
#include "backend/drm/stalls/stall_record.h"
#include "backend/event_sink.h"
#include "base/proportional_split.h"
#include "wire/drm_events.h"

namespace gpuprof::backend::drm {

// A kernel of a batch: code at one address of one VM, until a bind replaces it.
struct BatchKernel {
  uint64_t space = 0;                                    // key of StallJoin::spaces_: a process's VM and base address
  uint64_t start = 0;                                    // address in the space, as in gpuprof_drm_batch
  uint32_t generation = 0;                               // how often the code at this address was replaced before
  uint32_t vm = 0;                                       // 1-based index of the VM in its source
  auto operator<=>(const BatchKernel&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 is wrong here

  [[nodiscard]] bool is_routine() const { return (start & GPUPROF_BATCH_SYSTEM_ROUTINE) != 0; }
  [[nodiscard]] std::string name() const;
};

using StallCounts = std::array<uint32_t, kStalls>;

class StallSink {
 public:
  StallSink() = default;
  StallSink(const StallSink&) = delete;
  StallSink& operator=(const StallSink&) = delete;
  virtual ~StallSink() = default;

  // The job ran this kernel. Called after the job's times are known. If the kernel is found late, the call comes after
  // the job's work was reported. `alone`: the job ran no other kernel except system routines.
  virtual void on_kernel(const Job& job, uint64_t start_ns, const std::string& kernel, bool alone) = 0;
  struct At {
    std::string kernel;
    uint64_t offset = 0;   // relative to the kernel's start address
    uint64_t address = 0;  // address in the process's VM; 0: unknown
  };
  // Reports samples of one instruction, before on_window() of their window. `estimated`: the address is ambiguous.
  virtual void on_stalls(SourceId source, uint32_t window, const At& at, const StallCounts& counts, bool estimated) = 0;
  virtual void on_window(SourceId source, const SampleWindow& window) = 0;
  // Reports samples whose address is in no known kernel.
  virtual void on_unknown(uint32_t device, uint64_t time_ns, const StallCounts& counts) = 0;
};

class StallJoin {
 public:
  // Maximum delay from taking a sample to reading it. The driver polls the hardware every 5 ms.
  static constexpr uint64_t kLagNs = 20'000'000;
  static constexpr uint64_t kWindowNs = 50'000'000;         // samples read within this time form a window
  static constexpr uint64_t kResolveDelayNs = 300'000'000;  // delay after a window, until most of its jobs are known
  static constexpr uint64_t kLateNs = 2'000'000'000;  // after this, samples in no known kernel are reported as unknown
  static constexpr uint64_t kKeepNs = 5'000'000'000;  // how long finished jobs are stored
  static constexpr size_t kMaxJobs = 65536;
  static constexpr size_t kMaxBatches = 65536;
  static constexpr size_t kMaxSpaces = 4096;
  static constexpr size_t kMaxKernels = 65536;   // per address space
  static constexpr size_t kMaxWaiting = 262144;  // pending addresses; with more, the oldest are reported as unknown

  explicit StallJoin(StallSink& sink) : sink_(sink) {}

  void on_batch(const gpuprof_drm_batch& batch);
  void on_bound(const gpuprof_drm_bound& bound);
  // Takes a job that submits the batch of `submission`. The job has no kernels until on_batch_job() names its batch.
  void on_queued(const JobKey& key, const Job& job, const gpuprof_drm_submission& submission);
  void on_batch_job(uint64_t batch, const JobKey& key);
  void on_run(const JobKey& key, uint64_t time_ns);
  void on_done(const JobKey& key, uint64_t time_ns);
  // Called before the job's work is reported.
  void on_job(const JobKey& key, const Job& job, uint64_t start_ns);
  void forget(const JobKey& key);
  void end_source(SourceId source);

  // Takes a record read at now_ns. Its stream was empty at since_ns, so no sample is older than since_ns - kLagNs.
  void on_record(uint32_t device, const StallRecord& record, uint64_t since_ns, uint64_t now_ns);

  // Attributes the samples taken so far. Called when a process has ended, while its kernels are still known.
  void flush(uint64_t now_ns, uint64_t period);

  // Called after each poll iteration. `period` is the sampling period. `last`: no more events will come.
  void finish_windows(uint64_t now_ns, uint64_t period, bool last);

  // Number of jobs whose end event was lost. Each ended before some later job, whose end is known.
  [[nodiscard]] uint64_t ends_inferred() const { return ends_inferred_; }
  // Number of jobs, batches and VMs beyond the limits. Samples in their kernels are reported as unknown.
  [[nodiscard]] uint64_t not_followed() const { return not_followed_; }
  [[nodiscard]] size_t waiting() const { return pending_count_; }

 private:
  struct Space {
    SourceId source = 0;
    uint64_t file = 0;
    uint32_t vm = 0;
    uint64_t base = 0;
    uint32_t vm_number = 0;                    // 1-based index among the source's VMs
    std::map<uint64_t, uint32_t> live;         // start -> generation
    std::map<uint64_t, uint32_t> generations;  // start -> generation of the next kernel there; missing: 0
  };
  struct Batch {
    gpuprof_drm_batch told{};
    JobKey job;
    bool has_job = false;
  };
  struct Run {
    Job job;
    uint64_t run_ns = 0;
    uint64_t done_ns = 0;
    uint64_t start_ns = 0;  // start time that was reported with the job's work; 0: not yet reported
    uint64_t batch = 0;
    bool is_complete = false;                      // all kernels of the batch are known
    bool is_full = false;                          // the batch has more kernels than its event can hold
    bool in_order = false;                         // the job's ring runs one job after the other
    bool is_inferred = false;                      // done_ns is only the latest possible end
    std::multimap<uint64_t, BatchKernel> kernels;  // key: start
    // Until start_ns is known, returns run_ns. The job may have started later, after others of its ring.
    [[nodiscard]] uint64_t began_ns() const { return start_ns != 0 ? start_ns : run_ns; }
  };
  struct Window {
    uint32_t device = 0;
    uint64_t start_ns = 0;
    uint64_t end_ns = 0;
    std::map<uint64_t, StallCounts> counts;  // key: address
  };
  struct Candidate {
    SourceId source = 0;
    BatchKernel kernel;
    uint64_t offset = 0;
    uint64_t address = 0;
    uint64_t ns = 0;
    bool is_guess = false;  // an unknown kernel may start between this one and the address
  };
  // Number of samples per source in one window.
  using SamplesBySource = std::map<SourceId, uint64_t>;

  void end_those_before(const JobKey& key, const Run& done);
  void infer_end(const JobKey& key, uint64_t time_ns);
  void stop_running(const JobKey& key, const Run& run);
  [[nodiscard]] uint64_t oldest_window() const;
  void report_kernel(const Run& run, const BatchKernel& kernel);
  void add_kernels(Run& run, const gpuprof_drm_batch& batch);
  Batch& batch_of(uint64_t id);
  uint64_t space_of(SourceId source, const gpuprof_drm_batch& batch);
  uint32_t vm_number(SourceId source, const gpuprof_drm_batch& batch);
  BatchKernel kernel_at(uint64_t space, uint64_t start);
  void close(Window& window);
  bool resolve(Window& window, uint64_t now_ns, uint64_t period, bool last);
  [[nodiscard]] std::vector<Candidate> candidates(const std::vector<const Run*>& runs, const Window& window,
                                                  uint64_t address) const;
  [[nodiscard]] const BatchKernel* find_kernel(const Run& run, uint64_t address, uint64_t& offset) const;
  [[nodiscard]] uint64_t address_of(const BatchKernel& kernel, uint64_t offset) const;
  void give(uint32_t window, const std::vector<Candidate>& to, const StallCounts& counts, SamplesBySource& told);
  void expire(uint64_t now_ns);

  StallSink& sink_;
  std::unordered_map<JobKey, Run, JobKeyHash> runs_;
  std::unordered_map<uint64_t, Batch> batches_;
  std::map<std::pair<uint64_t, uint32_t>, uint64_t> bases_;  // base address by (file, queue)
  std::unordered_map<uint64_t, Space> spaces_;
  std::map<uint32_t, Window> open_;  // key: device
  std::deque<Window> pending_;
  size_t pending_count_ = 0;
  ProportionalSplit split_;
  std::map<uint64_t, std::set<uint64_t>> running_;                       // unfinished jobs: fence context -> seqnos
  std::map<uint64_t, std::set<std::pair<uint64_t, uint64_t>>> on_ring_;  // in-order ring -> the ring's unfinished jobs
  uint64_t ends_inferred_ = 0;
  uint64_t not_followed_ = 0;
  uint64_t next_space_ = 0;
  std::map<SourceId, std::map<std::pair<uint64_t, uint32_t>, uint32_t>> vms_;  // VM number by source and (file, VM)
  uint32_t last_window_ = 0;
  uint64_t next_expiry_ns_ = 0;
};

}  // namespace gpuprof::backend::drm
