// bpf/drm.bpf.c in the kernel, and the events that it sends.
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

  // Before its first use. As of StackSink.
  virtual void on_stack(const gpuprof_bpf_stack& stack, std::span<const uint64_t> words,
                        std::span<const uint64_t> kernel) = 0;
  virtual void on_code(uint32_t pid, const PythonCode& code) = 0;  // before the first stack that names it
  virtual void on_loader(uint32_t pid) = 0;                        // its mappings are to be read again
  virtual void on_queued(const gpuprof_drm_queued& queued) = 0;
  virtual void on_run(const JobKey& key, uint64_t time_ns) = 0;
  virtual void on_done(const JobKey& key, uint64_t time_ns, bool failed) = 0;
  virtual void on_batch(const gpuprof_drm_batch& batch) = 0;
  // The job runs the batch.
  virtual void on_handed(uint64_t batch, const JobKey& key) = 0;
  virtual void on_bound(const gpuprof_drm_bound& bound) = 0;
};

class JobPrograms {
 public:
  // Jobs of the process `root` and of its descendants, with `batches` the kernels in those of xe, too. The error says
  // which right or kernel feature is missing.
  static Result<std::unique_ptr<JobPrograms>> start(pid_t root, const KernelEvents& events, bool batches = false);

  // Those of the events that are there and that the kernel lets us use.
  [[nodiscard]] const KernelEvents& used() const { return used_; }

  // Whose maps the recorder fills in.
  [[nodiscard]] bpf_object* object() const { return object_.get(); }

  // All that has come. How many events that were.
  size_t drain(JobEventSink& sink);

  // No event of this job is wanted any more.
  void forget(const JobKey& key) const;

  // Removes what is known of VMs that are gone, to make room for others.
  void sweep() const;

  // So far.
  [[nodiscard]] uint64_t count(gpuprof_drm_count what) const;

  // Calls for which the kernel did not run a program of ours, as it was interrupted in it on the same processor.
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
  JobEventSink* sink_ = nullptr;  // only while drain() runs
  size_t drained_bytes_ = 0;
  size_t drained_events_ = 0;
};

}  // namespace gpuprof::backend::drm
