#include "backend/drm/job_programs.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "backend/drm/binding_sweep.h"
#include "base/text/hints.h"
#include "base/unique_fd.h"

#ifdef GPUPROF_HAVE_BPF
extern "C" const unsigned char gpuprof_embedded_bpf_drm_begin[];
extern "C" const unsigned char gpuprof_embedded_bpf_drm_end[];
#endif

namespace gpuprof::backend::drm {
namespace {

constexpr const char* kHint = "jobs of kernel drivers need Linux 5.17 or later, with BTF; `gpuprof doctor` says more";

}  // namespace

#ifdef GPUPROF_HAVE_BPF
namespace {

constexpr uint32_t kMaxWords = GPUPROF_STACK_MAX_WORDS / 4;  // a walk blocks the CPU, so it must be short
constexpr uint32_t kCachedRules = 1U << 18;                  // unwind rules of all processes together, 16 bytes each

struct Program {
  const char* name;
  const char* target;  // a tracepoint, or a function of i915 or xe
  bool is_function = false;
  // The feature that needs this program. Null: no recording works without the program.
  bool KernelEvents::*use = nullptr;
};

// Programs are attached in this order. The programs for the end of jobs come first, so that they see the end of every
// job that was seen queued.
std::vector<Program> programs_for(const KernelEvents& events, bool batches) {
  std::vector<Program> programs{{"on_fence_signaled", "dma_fence_signaled"}};
  if (events.scheduler) {
    programs.push_back({"on_scheduler_done", events.scheduler->done});
    programs.push_back({"on_scheduler_run", events.scheduler->run});
    programs.push_back({"on_scheduler_queue", events.scheduler->queued});
  }
  if (events.i915) {
    programs.push_back({"on_i915_submit", "__i915_request_submit", true});
    programs.push_back({"on_i915_queue", "i915_request_add"});
  }
  if (events.i915_contexts) {
    programs.push_back({"on_i915_exec_end", "i915_gem_do_execbuffer", true, &KernelEvents::i915_contexts});
    programs.push_back({"on_i915_exec", "i915_gem_do_execbuffer", true, &KernelEvents::i915_contexts});
  }
  if (events.xe_exec_queues) {
    programs.push_back({"on_xe_queue_created", "xe_exec_queue_create_ioctl", true, &KernelEvents::xe_exec_queues});
    programs.push_back({"on_xe_exec_end", "xe_exec_ioctl", true, &KernelEvents::xe_exec_queues});
    programs.push_back({"on_xe_exec", "xe_exec_ioctl", true, &KernelEvents::xe_exec_queues});
  }
  if (batches && events.i915_batches) {
    constexpr auto kUse = &KernelEvents::i915_batches;
    programs.push_back({"on_i915_object_closed", "drm_gem_handle_delete", true, kUse});
    programs.push_back({"on_i915_closed", "i915_driver_postclose", true, kUse});
    programs.push_back({"on_i915_map", "i915_gem_mmap", true, kUse});
    programs.push_back({"on_i915_mmap", "i915_gem_mmap_ioctl", true, kUse});
    programs.push_back({"on_i915_mmap_offset", "i915_gem_mmap_offset_ioctl", true, kUse});
    programs.push_back({"on_i915_user_memory", "i915_gem_userptr_ioctl", true, kUse});
    programs.push_back({"on_i915_context_created", "i915_gem_context_create_ioctl", true, kUse});
    programs.push_back({"on_i915_context_set", "i915_gem_context_setparam_ioctl", true, kUse});
  }
  if (batches && events.xe_batches) {
    programs.push_back({"on_drm_mmap", "drm_gem_mmap", true, &KernelEvents::xe_batches});
    programs.push_back({"on_object_closed", "drm_gem_handle_delete", true, &KernelEvents::xe_batches});
    programs.push_back({"on_xe_closed", "xe_file_close", true, &KernelEvents::xe_batches});
    programs.push_back({"on_xe_queue_destroyed", "xe_exec_queue_destroy_ioctl", true, &KernelEvents::xe_batches});
    programs.push_back({"on_xe_vm_destroyed", "xe_vm_destroy_ioctl", true, &KernelEvents::xe_batches});
    programs.push_back({"on_xe_vm_kept", "xe_vm_destroy_ioctl", true, &KernelEvents::xe_batches});
    programs.push_back({"on_xe_mmap_offset", "xe_gem_mmap_offset_ioctl", true, &KernelEvents::xe_batches});
    programs.push_back({"on_xe_bind", "xe_vm_bind_ioctl", true, &KernelEvents::xe_batches});
  }
  if (events.xe_batches) {
    programs.push_back({"on_xe_wait", "xe_wait_user_fence_ioctl", true, &KernelEvents::xe_batches});
  }
  return programs;
}

// If gpuprof may not use BPF, libbpf cannot find a module's functions, and reports that they do not exist.
Status check_rights() {
  const UniqueFd map(bpf_map_create(BPF_MAP_TYPE_LRU_HASH, nullptr, sizeof(uint64_t), sizeof(uint64_t), 1, nullptr));
  if (!map) {
    return bpf_error("cannot use BPF", errno, kHint);
  }
  return {};
}

// Loads only the wanted programs, because others may use types of drivers that this machine does not have.
Status choose(bpf_object* object, const std::vector<Program>& wanted) {
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object) {
    const auto found = std::find_if(wanted.begin(), wanted.end(), [program](const Program& one) {
      return std::string_view(one.name) == bpf_program__name(program);
    });
    // The recorder itself attaches on_loader to the loader of each process, to learn when it must update unwind
    // tables.
    const bool is_walk = std::string_view(bpf_program__name(program)) == "on_loader";
    bpf_program__set_autoload(program, found != wanted.end() || is_walk);
    if (found != wanted.end() && found->is_function) {
      if (const int error = bpf_program__set_attach_target(program, 0, found->target); error != 0) {
        return bpf_error(std::string("cannot find the function ") + found->target, -error, kHint);
      }
    }
  }
  return {};
}

Result<BpfObject> load(pid_t root, const std::vector<Program>& programs, bool batches) {
  auto object = open_bpf_object({gpuprof_embedded_bpf_drm_begin, gpuprof_embedded_bpf_drm_end});
  if (!object) {
    return object;
  }
  gpuprof_bpf_config config = make_bpf_config();
  config.root = static_cast<uint32_t>(root);
  config.batches = batches ? 1 : 0;
  config.max_words = kMaxWords;
  // The walk needs an iteration for each native frame, each Python frame and each transition between them.
  config.max_turns = 3 * kMaxWords;
  config.cache_mask = kCachedRules - 1;
  if (!configure_bpf_object(object->get(), config) ||
      !resize_bpf_map(object->get(), "rule_cache", config.cache_mask + 1)) {
    return Error{"the embedded BPF object is not as expected", hints::kBuildAgain};
  }
  if (Status chosen = choose(object->get(), programs); !chosen) {
    return std::move(chosen).error();
  }
  if (const int error = bpf_object__load(object->get()); error != 0) {
    return bpf_error("cannot load the BPF programs for jobs of kernel drivers", -error, kHint);
  }
  return object;
}

void give_up(KernelEvents& used, const Program& program, const Error& why) {
  if (program.use != nullptr && std::exchange(used.*program.use, false)) {
    used.lacks += (used.lacks.empty() ? "" : "; ") + why.message;
  }
}

}  // namespace

Result<std::unique_ptr<JobPrograms>> JobPrograms::start(pid_t root, const KernelEvents& events, bool batches) {
  if (Status allowed = check_rights(); !allowed) {
    return std::move(allowed).error();
  }
  std::vector<Program> programs = programs_for(events, batches);
  KernelEvents used = events;
  auto object = load(root, programs, batches && (events.xe_batches || events.i915_batches));
  if (!object) {  // if the kernel rejects one program, libbpf unloads all
    for (const Program& program : programs) {
      give_up(used, program, object.error());
    }
    std::erase_if(programs, [](const Program& program) { return program.use != nullptr; });
    object = load(root, programs, false);
  }
  if (!object) {
    return std::move(object).error();
  }
  std::unique_ptr<JobPrograms> made(new JobPrograms(std::move(*object)));
  if (Status opened = made->open_maps(); !opened) {
    return std::move(opened).error();
  }
  for (const Program& program : programs) {
    if (Status attached = made->attach(program.name, program.target, program.is_function); !attached) {
      if (program.use == nullptr) {
        return std::move(attached).error();
      }
      give_up(used, program, attached.error());
    }
  }
  made->used_ = std::move(used);
  return made;
}
#else
Result<std::unique_ptr<JobPrograms>> JobPrograms::start(pid_t /*root*/, const KernelEvents& /*events*/,
                                                        bool /*batches*/) {
  return Error{"this gpuprof was built without eBPF", "install clang and build again"};
}
#endif

Status JobPrograms::open_maps() {
  followed_ = bpf_object__find_map_fd_by_name(object_.get(), "followed");
  counts_ = bpf_object__find_map_fd_by_name(object_.get(), "job_counts");
  const int events = bpf_object__find_map_fd_by_name(object_.get(), "events");
  ring_.reset(ring_buffer__new(events, &JobPrograms::on_event, this, nullptr));
  if (!ring_ || followed_ < 0 || counts_ < 0) {
    return Error{"cannot set up the BPF ring buffer", hints::kAskDoctor};
  }
  return {};
}

Status JobPrograms::attach(const char* program, const char* target, bool is_function) {
  bpf_program* found = bpf_object__find_program_by_name(object_.get(), program);
  bpf_link* link = nullptr;
  if (found != nullptr) {
    link = is_function ? bpf_program__attach_trace(found) : bpf_program__attach_raw_tracepoint(found, target);
  }
  if (link == nullptr) {
    return bpf_error(std::string("cannot attach to ") + target, errno, kHint);
  }
  links_.emplace_back(link);
  return {};
}

size_t JobPrograms::drain(JobEventSink& sink) {
  sink_ = &sink;
  drained_bytes_ = 0;
  drained_events_ = 0;
  ring_buffer__consume(ring_.get());
  sink_ = nullptr;
  return drained_events_;
}

int JobPrograms::on_event(void* context, void* data, size_t bytes) {
  auto* self = static_cast<JobPrograms*>(context);
  self->dispatch({static_cast<const std::byte*>(data), bytes});
  ++self->drained_events_;
  // Jobs may be queued faster than drain() reads them. So drain() stops after as many bytes as the ring buffer holds.
  self->drained_bytes_ += bytes;
  return self->drained_bytes_ > kBpfRingBytes ? -EAGAIN : 0;
}

void JobPrograms::dispatch(std::span<const std::byte> event) {
  uint32_t type = 0;
  std::memcpy(&type, event.data(), sizeof(type));
  const auto* job = reinterpret_cast<const gpuprof_drm_job*>(event.data());
  const auto take_code = [this](uint32_t pid, const PythonCode& code) { sink_->on_code(pid, code); };
  switch (type) {
    case GPUPROF_BPF_STACK: {
      const auto* stack = reinterpret_cast<const gpuprof_bpf_stack*>(event.data());
      if (event.size() >= sizeof(*stack) + (size_t{stack->count} + stack->kernel) * sizeof(uint64_t)) {
        const auto* words = reinterpret_cast<const uint64_t*>(stack + 1);
        sink_->on_stack(*stack, {words, stack->count}, {words + stack->count, stack->kernel});
      }
      break;
    }
    case GPUPROF_BPF_CODE:
      codes_.on_code(event, take_code);
      break;
    case GPUPROF_BPF_LINES:
      codes_.on_lines(event, take_code);
      break;
    case GPUPROF_BPF_LOADER:
      sink_->on_loader(reinterpret_cast<const gpuprof_bpf_loader*>(event.data())->pid);
      break;
    case GPUPROF_DRM_QUEUED:
      sink_->on_queued(*reinterpret_cast<const gpuprof_drm_queued*>(event.data()));
      break;
    case GPUPROF_DRM_RUN:
      sink_->on_run({job->context, job->seqno}, job->time_ns);
      break;
    case GPUPROF_DRM_DONE:
      sink_->on_done({job->context, job->seqno}, job->time_ns, static_cast<gpuprof_drm_end>(job->end));
      break;
    case GPUPROF_DRM_BATCH:
      sink_->on_batch(*reinterpret_cast<const gpuprof_drm_batch*>(event.data()));
      break;
    case GPUPROF_DRM_SUBMITTED: {
      const auto* handed = reinterpret_cast<const gpuprof_drm_submitted*>(event.data());
      sink_->on_batch_job(handed->batch, {handed->context, handed->seqno});
      break;
    }
    case GPUPROF_DRM_QUEUE_ENDED:
      sink_->on_queue_ended(*reinterpret_cast<const gpuprof_drm_queue_ended*>(event.data()));
      break;
    case GPUPROF_DRM_BOUND:
      sink_->on_bound(*reinterpret_cast<const gpuprof_drm_bound*>(event.data()));
      break;
    default:
      break;
  }
}

void JobPrograms::forget(const JobKey& key) const {
  bpf_map_delete_elem(followed_, &key);
}

void JobPrograms::sweep() const {
  const auto map = [this](const char* name) { return bpf_object__find_map_fd_by_name(object_.get(), name); };
  sweep_bindings(map("bindings"), map("spaces"), map("numbers"));
}

uint64_t JobPrograms::count(gpuprof_drm_count what) const {
  return sum_of_cpus(counts_, what);
}

uint64_t JobPrograms::skipped() const {
  uint64_t sum = 0;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object_.get()) {
    bpf_prog_info info{};
    uint32_t bytes = sizeof(info);
    const int fd = bpf_program__fd(program);
    if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &bytes) == 0) {
      sum += info.recursion_misses;
    }
  }
  return sum;
}

}  // namespace gpuprof::backend::drm
