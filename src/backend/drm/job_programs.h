#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/bpf_codes.h"
#include "backend/drm/job_join.h"
#include "backend/drm/kernel_events.h"
#include "base/result.h"
#include "libbpf/objects.h"
#include "wire/drm_events.h"

namespace gpuprof::backend::drm {

class JobEventSink {
 public:
  JobEventSink() = default;
  JobEventSink(const JobEventSink&) = delete;
  JobEventSink& operator=(const JobEventSink&) = delete;
  virtual ~JobEventSink() = default;

  // Called before the first event that refers to the stack. See StackSink.
  virtual void on_stack(const gpuprof_bpf_stack& stack, std::span<const uint64_t> words,
                        std::span<const uint64_t> kernel) = 0;
  // Called before the first stack that refers to the code.
  virtual void on_code(uint32_t pid, const PythonCode& code) = 0;
  virtual void on_loader(uint32_t pid) = 0;  // the recorder must read the process's mappings again
  virtual void on_queued(const gpuprof_drm_queued& queued) = 0;
  virtual void on_run(const JobKey& key, uint64_t time_ns) = 0;
  virtual void on_done(const JobKey& key, uint64_t time_ns, gpuprof_drm_end end) = 0;
  virtual void on_batch(const gpuprof_drm_batch& batch) = 0;
  virtual void on_batch_job(uint64_t batch, const JobKey& key) = 0;
  virtual void on_bound(const gpuprof_drm_bound& bound) = 0;
  virtual void on_queue_ended(const gpuprof_drm_queue_ended& ended) = 0;
};

class JobPrograms {
 public:
  // Records the jobs of `root` and its descendants, and with `batches` also the kernels of the jobs. The error says
  // what is missing.
  static Result<std::unique_ptr<JobPrograms>> start(pid_t root, const KernelEvents& events, bool batches = false);

  [[nodiscard]] const KernelEvents& used() const { return used_; }

  // Returns the object with the loaded programs. The recorder writes unwind tables into its maps.
  [[nodiscard]] bpf_object* object() const { return object_.get(); }

  // Sends all pending events to the sink, and returns their number.
  size_t drain(JobEventSink& sink);

  // Makes the programs send no more events of this job.
  void forget(const JobKey& key) const;

  // Removes destroyed VMs from the maps, to make space for others.
  void sweep() const;

  [[nodiscard]] uint64_t count(gpuprof_drm_count what) const;

  // Returns how many driver calls were not seen, because the BPF program for them was already running on the same
  // CPU.
  [[nodiscard]] uint64_t skipped() const;

 private:
  explicit JobPrograms(BpfObject object) : object_(std::move(object)) {}
  Status attach(const char* program, const char* target, bool is_function);
  Status open_maps();
  static int on_event(void* context, void* data, size_t bytes);
  void dispatch(std::span<const std::byte> event);

  BpfObject object_;
  BpfCodes codes_;
  KernelEvents used_;
  std::vector<BpfLink> links_;
  BpfRing ring_;
  int followed_ = -1;
  int counts_ = -1;
  JobEventSink* sink_ = nullptr;  // null unless drain() is running
  size_t drained_bytes_ = 0;
  size_t drained_events_ = 0;
};

}  // namespace gpuprof::backend::drm
