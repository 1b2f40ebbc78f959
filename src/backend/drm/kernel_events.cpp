#include "backend/drm/kernel_events.h"

#include <bpf/btf.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "libbpf/objects.h"

namespace gpuprof::backend::drm {
namespace {

constexpr std::array<SchedulerEvents, 2> kGenerations = {{
    {"drm_sched_job_queue", "drm_sched_job_run", "drm_sched_job_done"},  // names since Linux 6.17
    {"drm_sched_job", "drm_run_job", "drm_sched_process_job"},
}};

constexpr const char* kNoDriver =
    "load the GPU's driver (amdgpu, xe, i915, nouveau, panfrost, ...); the backend cupti records NVIDIA's own driver";

struct BtfFree {
  void operator()(btf* types) const { btf__free(types); }
};
using Btf = std::unique_ptr<btf, BtfFree>;

constexpr const char* kNewerDriver = "jobs and their times are recorded anyway";

bool exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

Error without_types(const std::string& what) {
  return {what + " has no type information (BTF) that can be read",
          "use a kernel with CONFIG_DEBUG_INFO_BTF=y and CONFIG_DEBUG_INFO_BTF_MODULES=y, like the kernels of "
          "distributions"};
}

class Types {
 public:
  explicit Types(std::string root) : root_(std::move(root)), folder_(root_ + "/sys/kernel/btf/") {
    listen_to_libbpf();
    kernel_.reset(exists(folder_ + "vmlinux") ? btf__parse((folder_ + "vmlinux").c_str(), nullptr) : nullptr);
  }

  [[nodiscard]] bool of_kernel() const { return kernel_ != nullptr; }

  // Returns the types of a module, or null if it is not loaded. If the module has no BTF file but the kernel's types
  // contain its struct `its_struct`, the module is built into the kernel, so returns the kernel's types.
  Result<Btf> of_module(const std::string& module, const char* its_struct) const {
    const std::string file = folder_ + module;
    if (!exists(file)) {
      if (btf__find_by_name_kind(kernel_.get(), its_struct, BTF_KIND_STRUCT) > 0) {
        return Btf(btf__new_empty_split(kernel_.get()));
      }
      return exists(root_ + "/sys/module/" + module + "/refcnt") ? Result<Btf>(without_types("the module " + module))
                                                                 : Result<Btf>(Btf());
    }
    Btf types(btf__parse_split(file.c_str(), kernel_.get()));
    if (!types) {
      return without_types("the module " + module);
    }
    return types;
  }

 private:
  std::string root_;
  std::string folder_;
  Btf kernel_;
};

const btf_type* behind_pointer(const btf* types, uint32_t id) {
  const btf_type* type = btf__type_by_id(types, id);
  if (type == nullptr || !btf_is_ptr(type)) {
    return nullptr;
  }
  type = btf__type_by_id(types, type->type);
  while (type != nullptr && btf_is_mod(type)) {
    type = btf__type_by_id(types, type->type);
  }
  return type;
}

// Returns whether an argument of the function points to a struct with this name, which the BPF programs read.
bool takes(const btf* types, const btf_type* function, uint16_t argument, std::string_view name) {
  if (function == nullptr || !btf_is_func_proto(function) || btf_vlen(function) <= argument) {
    return false;
  }
  const btf_type* pointed = behind_pointer(types, btf_params(function)[argument].type);
  return pointed != nullptr && btf_is_struct(pointed) && btf__name_by_offset(types, pointed->name_off) == name;
}

// BTF describes a tracepoint by its probe function. That function has an additional pointer as its first argument.
Has has_in(const Btf& types) {
  return [&types](Hook hook, std::string_view name, std::string_view pointed, uint16_t argument) {
    const bool is_function = hook == Hook::function;
    const std::string whole = (is_function ? "" : "btf_trace_") + std::string(name);
    const int id = btf__find_by_name_kind(types.get(), whole.c_str(), is_function ? BTF_KIND_FUNC : BTF_KIND_TYPEDEF);
    const btf_type* found = id > 0 ? btf__type_by_id(types.get(), static_cast<uint32_t>(id)) : nullptr;
    if (found == nullptr) {
      return false;
    }
    return is_function ? takes(types.get(), btf__type_by_id(types.get(), found->type), argument, pointed)
                       : takes(types.get(), behind_pointer(types.get(), found->type), argument + 1, pointed);
  };
}

void add_line(std::string& lines, const std::string& line) {
  lines += (lines.empty() ? "" : "; ") + line;
}

}  // namespace

std::string KernelEvents::text() const {
  std::string text;
  if (scheduler) {
    add_line(text, std::string("tracepoints ") + scheduler->queued + ", " + scheduler->run + ", " + scheduler->done);
  }
  if (i915) {
    add_line(text, "requests of i915");
  }
  if (xe_exec_queues) {
    add_line(text, "exec queues of xe");
  }
  if (i915_contexts) {
    add_line(text, "contexts of i915");
  }
  if (!lacks.empty()) {
    add_line(text, lacks);
  }
  return text;
}

Result<SchedulerEvents> choose_scheduler_events(const Has& has) {
  std::string missing;
  for (const SchedulerEvents& events : kGenerations) {
    std::string lacks;
    bool any = false;
    for (const char* name : {events.queued, events.run, events.done}) {
      if (has(Hook::tracepoint, name, name == events.done ? "drm_sched_fence" : "drm_sched_job", 0)) {
        any = true;
      } else {
        lacks += (lacks.empty() ? "" : ", ") + std::string(name);
      }
    }
    if (lacks.empty()) {
      return events;
    }
    if (any) {
      missing = lacks;
    }
  }
  return Error{missing.empty() ? "the GPU scheduler of this kernel has no tracepoints that gpuprof knows"
                               : "the GPU scheduler of this kernel lacks tracepoints: " + missing,
               "gpuprof supports Linux 5.17 and later, with CONFIG_TRACEPOINTS=y"};
}

Status check_i915_events(const Has& has) {
  if (!has(Hook::tracepoint, "i915_request_add", "i915_request", 0)) {
    return Error{"i915 lacks the tracepoint i915_request_add", "use a kernel with CONFIG_TRACEPOINTS=y"};
  }
  if (!has(Hook::function, "__i915_request_submit", "i915_request", 0)) {
    return Error{"i915 lacks the function __i915_request_submit", "gpuprof supports i915 from Linux 5.17 on"};
  }
  return {};
}

Status check_i915_contexts(const Has& has) {
  if (!has(Hook::function, "i915_gem_do_execbuffer", "drm_file", 1) ||
      !has(Hook::function, "i915_gem_do_execbuffer", "drm_i915_gem_execbuffer2", 2)) {
    return Error{"i915 lacks the function i915_gem_do_execbuffer: contexts are unknown", kNewerDriver};
  }
  return {};
}

Status check_xe_exec_queues(const Has& has) {
  for (const char* function : {"xe_exec_ioctl", "xe_exec_queue_create_ioctl"}) {
    if (!has(Hook::function, function, "drm_file", 2)) {
      return Error{std::string("xe lacks the function ") + function + ": exec queues are unknown", kNewerDriver};
    }
  }
  return {};
}

namespace {

Status check_xe_batches(const Has& has) {
  for (const char* function : {"xe_vm_bind_ioctl", "xe_vm_destroy_ioctl", "xe_exec_queue_destroy_ioctl",
                               "xe_gem_mmap_offset_ioctl", "xe_wait_user_fence_ioctl"}) {
    if (!has(Hook::function, function, "drm_file", 2)) {
      return Error{std::string("xe lacks the function ") + function + ": kernels in its jobs are unknown",
                   kNewerDriver};
    }
  }
  if (!has(Hook::function, "xe_file_close", "drm_file", 1)) {
    return Error{"xe lacks the function xe_file_close: kernels in its jobs are unknown", kNewerDriver};
  }
  return {};
}

Status check_i915_batches(const Has& has) {
  for (const char* function : {"i915_gem_context_create_ioctl", "i915_gem_context_setparam_ioctl",
                               "i915_gem_mmap_offset_ioctl", "i915_gem_mmap_ioctl", "i915_gem_userptr_ioctl"}) {
    if (!has(Hook::function, function, "drm_file", 2)) {
      return Error{std::string("i915 lacks the function ") + function + ": kernels in its jobs are unknown",
                   kNewerDriver};
    }
  }
  if (!has(Hook::function, "i915_driver_postclose", "drm_file", 1) ||
      !has(Hook::function, "i915_gem_mmap", "vm_area_struct", 1)) {
    return Error{"i915 lacks a function that closes or maps files: kernels in its jobs are unknown", kNewerDriver};
  }
  return {};
}

}  // namespace

Result<KernelEvents> find_kernel_events(const std::string& root) {
  const Types types(root);
  if (!types.of_kernel()) {
    return without_types("this kernel");
  }
  KernelEvents found;
  std::optional<Error> why;
  const auto lacks = [&](const Error& error) {
    add_line(found.lacks, error.message);
    why = error;
  };
  const auto is_there = [&](const Status& checked) {
    if (!checked) {
      lacks(checked.error());
    }
    return checked.ok();
  };
  if (const auto scheduler = types.of_module("gpu_sched", "drm_gpu_scheduler"); !scheduler) {
    lacks(scheduler.error());
  } else if (*scheduler) {
    if (const auto events = choose_scheduler_events(has_in(*scheduler))) {
      found.scheduler = *events;
    } else {
      lacks(events.error());
    }
  }
  if (const auto i915 = types.of_module("i915", "i915_request"); !i915) {
    lacks(i915.error());
  } else if (*i915) {
    found.i915 = is_there(check_i915_events(has_in(*i915)));
    found.i915_contexts = found.i915 && is_there(check_i915_contexts(has_in(*i915)));
    found.i915_batches = found.i915_contexts && is_there(check_i915_batches(has_in(*i915)));
  }
  if (found.scheduler) {
    if (const auto xe = types.of_module("xe", "xe_exec_queue"); !xe) {
      lacks(xe.error());
    } else if (*xe) {
      found.xe_exec_queues = is_there(check_xe_exec_queues(has_in(*xe)));
      found.xe_batches = found.xe_exec_queues && is_there(check_xe_batches(has_in(*xe)));
    }
  }
  if (!found.scheduler && !found.i915) {
    return why ? Error{found.lacks, why->hint} : Error{"no GPU driver of this machine can report its jobs", kNoDriver};
  }
  return found;
}

}  // namespace gpuprof::backend::drm
