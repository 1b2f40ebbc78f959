// Attributes samples of EU stalls to kernels. A sample names no process. So this looks up its address in the kernels
// of all batches that ran on the device in the sample's window. It uses no device and no BPF and reads no clock, so
// tests can drive it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "backend/drm/job_join.h"
#include "backend/drm/stalls/stall_record.h"
#include "backend/event_sink.h"
#include "base/proportional_split.h"
#include "wire/drm_events.h"

namespace gpuprof::backend::drm {

// A kernel of a batch. It is the code at one address of one VM, until a bind replaces that code.
struct BatchKernel {
  uint64_t space = 0;       // key in StallJoin::spaces_, which stands for a process's VM and base address
  uint64_t start = 0;       // address in the space, as in gpuprof_drm_batch
  uint32_t generation = 0;  // how often a bind had replaced the code at this address
  uint32_t vm = 0;          // number of the VM in its source, from 1
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

  // The job ran this kernel. Called after the times of the job are known. If the kernel is found late, the job's work
  // was already reported. `alone`: the job ran no other kernel except system routines.
  virtual void on_kernel(const Job& job, uint64_t start_ns, const std::string& kernel, bool alone) = 0;
  struct At {
    std::string kernel;
    uint64_t offset = 0;   // bytes from the start address of the kernel
    uint64_t address = 0;  // address in the VM of the process; 0: unknown
  };
  // Reports samples of one instruction, before on_window() for their window. `estimated`: several kernels could have
  // the address.
  virtual void on_stalls(SourceId source, uint32_t window, const At& at, const StallCounts& counts, bool estimated) = 0;
  virtual void on_window(SourceId source, const SampleWindow& window) = 0;
  // Reports samples whose address is in no known kernel.
  virtual void on_unknown(uint32_t device, uint64_t time_ns, const StallCounts& counts) = 0;
};

class StallJoin {
 public:
  // The longest time from the taking of a sample to its reading. The driver polls the hardware every 5 ms.
  static constexpr uint64_t kLagNs = 20'000'000;
  static constexpr uint64_t kWindowNs = 50'000'000;  // length of a window, by the time at which samples are read
  // After a window has waited this long, most of its jobs are known.
  static constexpr uint64_t kResolveDelayNs = 300'000'000;
  // After this time, samples that are in no known kernel are reported as unknown.
  static constexpr uint64_t kLateNs = 2'000'000'000;
  static constexpr uint64_t kKeepNs = 5'000'000'000;  // how long ended jobs are stored
  // The hardware may still work for a destroyed exec queue until xe's preemption timeout, by default 640 ms.
  static constexpr uint64_t kStopNs = 1'000'000'000;
  static constexpr size_t kMaxJobs = 65536;
  static constexpr size_t kMaxBatches = 65536;
  static constexpr size_t kMaxSpaces = 4096;
  // Limits for all processes together. A process may submit batches with any addresses and base addresses.
  static constexpr size_t kMaxBases = 64;        // per VM
  static constexpr size_t kMaxKernels = 262144;  // in address spaces
  static constexpr size_t kMaxKernelsOfJobs = 262144;
  // Limit of the comparisons of an address with the kernels of one job, per call of resolve().
  static constexpr size_t kMaxLookups = size_t{1} << 20;
  static constexpr uint64_t kRetryNs = 100'000'000;  // pause after which a window is resolved again
  // Limit of pending addresses. If there are more, the samples at the oldest ones are reported as unknown.
  static constexpr size_t kMaxWaiting = 262144;
  static constexpr size_t kMaxUnknownCommands = 64;

  explicit StallJoin(StallSink& sink) : sink_(sink) {}

  void on_batch(const gpuprof_drm_batch& batch);
  void on_bound(const gpuprof_drm_bound& bound);
  // Takes a job that submits a batch. The kernels of the job are unknown until on_batch_job() names the batch.
  void on_queued(const JobKey& key, const Job& job, const gpuprof_drm_submission& submission);
  void on_batch_job(uint64_t batch, const JobKey& key);
  void on_run(const JobKey& key, uint64_t time_ns);
  void on_done(const JobKey& key, uint64_t time_ns);
  // Called instead of on_done() if the driver gave no fence. Then the job counts as running until its queue begins
  // another job or ends, or its process ends. Its samples are estimated.
  void on_no_fence(const JobKey& key);
  // Called for such a job when its times would be reported, with the name of its work. on_no_fence() is called before.
  void on_untimed(const JobKey& key, const Job& job);
  void on_queue_ended(const gpuprof_drm_queue_ended& ended);
  // Called before the job's work is reported.
  void on_job(const JobKey& key, const Job& job, uint64_t start_ns);
  void forget(const JobKey& key);
  void end_source(SourceId source, uint64_t now_ns);
  // Ends all jobs without a known end, before the recording ends.
  void end_untimed(uint64_t now_ns);

  // Takes a record that was read at now_ns. The stream was empty at since_ns, so the samples are not older than
  // since_ns - kLagNs.
  void on_record(uint32_t device, const StallRecord& record, uint64_t since_ns, uint64_t now_ns);

  // Attributes all samples that were taken so far. Called when a process has ended, while its kernels are still
  // known.
  void flush(uint64_t now_ns, uint64_t period);

  // Called after each poll iteration. `period` is the sampling period. `last` says that no more events will come.
  void finish_windows(uint64_t now_ns, uint64_t period, bool last);

  // Returns the number of jobs whose end was inferred, because the event of the end was lost. Each ended before a
  // later job that has ended.
  [[nodiscard]] uint64_t ends_inferred() const { return ends_inferred_; }
  // Returns the number of jobs, batches, VMs, kernels and sample addresses that exceeded the limits. Samples in their
  // kernels are reported as unknown.
  [[nodiscard]] uint64_t not_followed() const { return not_followed_; }
  [[nodiscard]] size_t waiting() const { return pending_count_; }
  // Returns how many batches end, for gpuprof, at an unknown command, by the first dword of the command.
  [[nodiscard]] const std::map<uint32_t, uint64_t>& unknown_commands() const { return unknown_commands_; }

 private:
  struct SpaceKey {
    uint64_t file = 0;
    uint32_t vm = 0;
    uint64_t base = 0;
    SourceId source = 0;
    auto operator<=>(const SpaceKey&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 is wrong here
  };
  struct Space {
    SpaceKey key;
    uint32_t vm_number = 0;             // number of the VM in its source, from 1
    std::map<uint64_t, uint32_t> live;  // from start address to generation
    // From a start address to the generation of the next kernel that starts there, or no entry for generation 0.
    std::map<uint64_t, uint32_t> generations;
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
    uint64_t start_ns = 0;  // start time in the report of the job's work; 0: not reported yet
    uint64_t batch = 0;
    uint64_t file = 0;         // identifies the open file
    bool is_complete = true;   // all kernels of the job are known; a job without a batch has none
    bool in_order = false;     // the job's ring runs one job after the other
    bool is_inferred = false;  // done_ns was inferred: it is the latest possible end
    bool no_fence = false;  // the end of the job is unknown; done_ns is 0, or when its queue began another job or ended
    std::multimap<uint64_t, BatchKernel> kernels;
    // Returns run_ns while start_ns is unknown. The job may have started later, because its ring was busy.
    [[nodiscard]] uint64_t began_ns() const { return start_ns != 0 ? start_ns : run_ns; }
  };
  struct Window {
    uint32_t device = 0;
    uint64_t start_ns = 0;
    uint64_t end_ns = 0;
    uint64_t next_try_ns = 0;
    std::map<uint64_t, StallCounts> counts;
  };
  // Jobs of one process with the same kernels, and how long they ran in a window. 0 ns: jobs without a known end, which
  // the hardware may still have run in the window although their queue had begun another job.
  struct Ran {
    const Run* run = nullptr;
    uint64_t ns = 0;
  };
  struct Candidate {
    SourceId source = 0;
    BatchKernel kernel;
    uint64_t offset = 0;
    uint64_t address = 0;
    uint64_t ns = 0;
    bool is_guess = false;  // a kernel that is not known may have the address
  };
  // For each source, the number of samples in one window.
  using SamplesBySource = std::map<SourceId, uint64_t>;

  void end_those_before(const JobKey& key, const Run& done);
  void infer_end(const JobKey& key, uint64_t time_ns);
  void stop_running(const JobKey& key, const Run& run);
  void end_untimed(Run& run, uint64_t now_ns);
  [[nodiscard]] uint64_t oldest_window() const;
  void report_kernel(const Run& run, const BatchKernel& kernel);
  void count_unknown(const gpuprof_drm_batch& before, const gpuprof_drm_batch& now);
  void add_kernels(Run& run, const gpuprof_drm_batch& batch);
  Batch& batch_of(uint64_t id);
  uint64_t space_of(SourceId source, const gpuprof_drm_batch& batch);
  void replace_kernels(Space& space, uint64_t from, uint64_t to);
  void forget_bases(const SpaceKey& of_vm);
  void forget_space(const Space& space);
  uint32_t vm_number(SourceId source, const gpuprof_drm_batch& batch);
  BatchKernel kernel_at(uint64_t space, uint64_t start);
  void close(Window& window);
  bool resolve(Window& window, uint64_t now_ns, uint64_t period, bool last);
  [[nodiscard]] std::vector<Ran> ran_in(const Window& window) const;
  [[nodiscard]] std::vector<Candidate> candidates(const std::vector<Ran>& ran, uint64_t address) const;
  [[nodiscard]] const BatchKernel* find_kernel(const Run& run, uint64_t address, uint64_t& offset) const;
  [[nodiscard]] uint64_t address_of(const BatchKernel& kernel, uint64_t offset) const;
  void give(uint32_t window, const std::vector<Candidate>& to, const StallCounts& counts, SamplesBySource& told);
  void expire(uint64_t now_ns);

  StallSink& sink_;
  std::unordered_map<JobKey, Run, JobKeyHash> runs_;
  std::unordered_map<uint64_t, Batch> batches_;
  std::map<std::pair<uint64_t, uint32_t>, uint64_t> bases_;  // base address by file and queue
  std::unordered_map<uint64_t, Space> spaces_;
  std::map<SpaceKey, uint64_t> space_ids_;
  std::map<SpaceKey, uint64_t> live_spaces_;                 // those that have live kernels
  std::map<std::pair<uint64_t, uint64_t>, JobKey> untimed_;  // the last job without an end, by file and fence context
  std::unordered_map<uint64_t, uint64_t> stopped_;  // when exec queues ended, by the fence context of their jobs
  size_t kernels_ = 0;                              // entries of `live` and `generations` in all spaces
  size_t kernels_of_jobs_ = 0;
  std::map<uint32_t, Window> open_;
  std::deque<Window> pending_;
  size_t pending_count_ = 0;
  ProportionalSplit split_;
  std::map<uint64_t, std::set<uint64_t>> running_;  // sequence numbers of unfinished jobs, by fence context
  // Unfinished jobs that have begun on each ring that runs its jobs in order, by (run_ns, context, seqno).
  std::map<uint64_t, std::set<std::tuple<uint64_t, uint64_t, uint64_t>>> on_ring_;
  uint64_t ends_inferred_ = 0;
  uint64_t not_followed_ = 0;
  std::map<uint32_t, uint64_t> unknown_commands_;
  uint64_t next_space_ = 0;
  // Number of each VM, by source and by file and VM.
  std::map<SourceId, std::map<std::pair<uint64_t, uint32_t>, uint32_t>> vms_;
  uint32_t last_window_ = 0;
  uint64_t next_expiry_ns_ = 0;
};

}  // namespace gpuprof::backend::drm
