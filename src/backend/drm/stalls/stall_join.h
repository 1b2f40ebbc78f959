// Whose samples of EU stalls are: by their addresses, and by what ran where when they were taken. A sample names no
// process: an address is looked for in the kernels of all batches that ran on the device in its window. No device, no
// clock, no BPF.
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

// A kernel of a batch: code at one address of one VM, until something else is there.
struct BatchKernel {
  uint64_t space = 0;                                    // of addresses: by process, VM and instruction base address
  uint64_t start = 0;                                    // in it, as in gpuprof_drm_batch
  uint32_t generation = 0;                               // how often something else was there before
  uint32_t vm = 0;                                       // the how-manieth of its source, from 1 on
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

  // The job, whose times are known, has run this kernel. Also after the work was told, where it was found late.
  // `alone`: and no other, but for system routines.
  virtual void on_kernel(const Job& job, uint64_t start_ns, const std::string& kernel, bool alone) = 0;
  // An instruction of a kernel.
  struct At {
    std::string kernel;
    uint64_t offset = 0;   // from where the batch starts the kernel
    uint64_t address = 0;  // in the process's VM; 0: not known
  };
  // Samples at an instruction of a kernel of the source's, taken in a window that is told of after them. `estimated`:
  // others' kernels had that address, too.
  virtual void on_stalls(SourceId source, uint32_t window, const At& at, const StallCounts& counts, bool estimated) = 0;
  virtual void on_window(SourceId source, const SampleWindow& window) = 0;
  // In nobody's kernel that is known.
  virtual void on_unknown(uint32_t device, uint64_t time_ns, const StallCounts& counts) = 0;
};

class StallJoin {
 public:
  // Between when the hardware takes a sample and when it is read, at most: the driver looks each 5 ms.
  static constexpr uint64_t kLagNs = 20'000'000;
  static constexpr uint64_t kWindowNs = 50'000'000;     // of reads that are put together
  static constexpr uint64_t kPatienceNs = 300'000'000;  // after a window: then what ran in it is known, mostly
  static constexpr uint64_t kLateNs = 2'000'000'000;    // for what comes late: then samples are nobody's
  static constexpr uint64_t kKeepNs = 5'000'000'000;    // jobs that are done
  static constexpr size_t kMaxJobs = 65536;
  static constexpr size_t kMaxBatches = 65536;
  static constexpr size_t kMaxSpaces = 4096;
  static constexpr size_t kMaxKernels = 65536;   // of a space
  static constexpr size_t kMaxWaiting = 262144;  // addresses; beyond, the oldest are taken for nobody's

  explicit StallJoin(StallSink& sink) : sink_(sink) {}

  void on_batch(const gpuprof_drm_batch& batch);
  void on_bound(const gpuprof_drm_bound& bound);
  // In a call that a batch was handed over in, as `submission` says: it runs that batch if on_handed() says so.
  void on_queued(const JobKey& key, const Job& job, const gpuprof_drm_submission& submission);
  void on_handed(uint64_t batch, const JobKey& key);
  void on_run(const JobKey& key, uint64_t time_ns);
  void on_done(const JobKey& key, uint64_t time_ns);
  // Its work is about to be told.
  void on_job(const JobKey& key, const Job& job, uint64_t start_ns);
  void forget(const JobKey& key);
  void end_source(SourceId source);

  // Read now, and taken since then: its stream was empty. (The driver takes it from the hardware a moment later.)
  void on_record(uint32_t device, const StallRecord& record, uint64_t since_ns, uint64_t now_ns);

  // A process has ended: what was taken until now is looked for as long as its kernels are known.
  void flush(uint64_t now_ns, uint64_t period);

  // After each turn. `period`: of the samples. `last`: nothing more will come.
  void settle(uint64_t now_ns, uint64_t period, bool last);

  // Jobs whose end was not told: they had ended when one that ran after them had.
  [[nodiscard]] uint64_t ends_inferred() const { return ends_inferred_; }
  // Jobs, batches and VMs of which nothing could be kept: their samples are nobody's.
  [[nodiscard]] uint64_t not_followed() const { return not_followed_; }
  [[nodiscard]] size_t waiting() const { return waiting_count_; }

 private:
  // Kernels by address.
  struct Space {
    SourceId source = 0;
    uint64_t file = 0;
    uint32_t vm = 0;
    uint64_t base = 0;
    uint32_t vm_number = 0;                    // of the source's VMs, from 1 on
    std::map<uint64_t, uint32_t> live;         // start, generation
    std::map<uint64_t, uint32_t> generations;  // the next one's, where it is not the first
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
    uint64_t start_ns = 0;  // told with its work; 0: not yet
    uint64_t batch = 0;
    bool is_whole = false;                         // all of the batch is known
    bool is_full = false;                          // it has more kernels than are told
    bool in_order = false;                         // its ring runs one job after the other
    bool is_inferred = false;                      // done_ns: it was done by then
    std::multimap<uint64_t, BatchKernel> kernels;  // by their start
    // Handed over is not begun: others of its ring may have been before it.
    [[nodiscard]] uint64_t began_ns() const { return start_ns != 0 ? start_ns : run_ns; }
  };
  struct Window {
    uint32_t device = 0;
    uint64_t start_ns = 0;
    uint64_t end_ns = 0;
    std::map<uint64_t, StallCounts> counts;  // by address
  };
  struct Candidate {
    SourceId source = 0;
    BatchKernel kernel;
    uint64_t offset = 0;
    uint64_t address = 0;
    uint64_t ns = 0;
    bool is_guess = false;  // of a batch that may have a kernel in between
  };
  // Windows that have been told to a source in one turn.
  using Told = std::map<SourceId, uint64_t>;

  void end_those_before(const JobKey& key, const Run& done);
  void infer_end(const JobKey& key, uint64_t time_ns);
  void stop_running(const JobKey& key, const Run& run);
  [[nodiscard]] uint64_t oldest_window() const;
  void tell_kernel(const Run& run, const BatchKernel& kernel);
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
  void give(uint32_t window, const std::vector<Candidate>& to, const StallCounts& counts, Told& told);
  void expire(uint64_t now_ns);

  StallSink& sink_;
  std::unordered_map<JobKey, Run, JobKeyHash> runs_;
  std::unordered_map<uint64_t, Batch> batches_;
  std::map<std::pair<uint64_t, uint32_t>, uint64_t> bases_;  // by file and queue
  std::unordered_map<uint64_t, Space> spaces_;
  std::map<uint32_t, Window> open_;  // by device
  std::deque<Window> waiting_;
  size_t waiting_count_ = 0;
  ProportionalSplit split_;
  std::map<uint64_t, std::set<uint64_t>> running_;                       // what is not done: seqnos by context
  std::map<uint64_t, std::set<std::pair<uint64_t, uint64_t>>> on_ring_;  // the same, on rings that are in order
  uint64_t ends_inferred_ = 0;
  uint64_t not_followed_ = 0;
  uint64_t next_space_ = 0;
  std::map<SourceId, std::map<std::pair<uint64_t, uint32_t>, uint32_t>> vms_;  // their numbers, by file and VM
  uint32_t last_window_ = 0;
  uint64_t next_expiry_ns_ = 0;
};

}  // namespace gpuprof::backend::drm
