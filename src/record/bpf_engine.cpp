// The BPF stack engine: loads bpf/launch.bpf.c, which is embedded in gpuprof, and polls its ring buffer.

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "base/log.h"
#include "base/unique_fd.h"
#include "record/elf_functions.h"
#include "record/stack_engine.h"
#include "wire/bpf_events.h"

#ifdef GPUPROF_HAVE_BPF
extern "C" const unsigned char gpuprof_embedded_bpf_begin[];
extern "C" const unsigned char gpuprof_embedded_bpf_end[];
#endif

namespace gpuprof::record {
namespace {

// A launch event is 56 bytes with its header; half a million launches a second for 100 ms fit three times over.
constexpr uint32_t kRingBytes = 8u << 20;

int print_libbpf(enum libbpf_print_level level, const char* format, va_list args) {
  if (log::level() >= log::Level::verbose || (level == LIBBPF_WARN && std::getenv("GPUPROF_DEBUG_BPF") != nullptr)) {
    return std::vfprintf(stderr, format, args);
  }
  return 0;
}

struct ObjectClose {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
};
struct LinkDestroy {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
struct RingFree {
  void operator()(ring_buffer* ring) const { ring_buffer__free(ring); }
};

[[maybe_unused]] Error no_rights(const char* what, int error) {
  Error result{std::string(what) + ": " + std::strerror(error), ""};
  if (error == EPERM || error == EACCES) {
    result.hint =
        "run as root (sudo gpuprof record --user $USER -- ...), or give the capabilities once: "
        "sudo setcap cap_bpf,cap_perfmon,cap_sys_resource,cap_sys_ptrace,cap_dac_read_search+ep gpuprof";
  } else {
    result.hint = "CPU stacks need Linux 5.17 or later; gpuprof doctor shows what this kernel offers";
  }
  return result;
}

// Inside a container with its own pid namespace, the programs must report that namespace's pids.
bool configure(bpf_object* object) {
  constexpr ino_t kInitialPidNamespace = 0xEFFFFFFC;  // PROC_PID_INIT_INO of the kernel
  struct stat info {};
  gpuprof_bpf_config config{};
  if (::stat("/proc/self/ns/pid", &info) == 0 && info.st_ino != kInitialPidNamespace) {
    config.pidns_device = info.st_dev;
    config.pidns_inode = info.st_ino;
  }
  bpf_map* rodata = bpf_object__find_map_by_name(object, ".rodata");
  size_t bytes = 0;
  return rodata != nullptr && bpf_map__initial_value(rodata, &bytes) != nullptr && bytes == sizeof(config) &&
         bpf_map__set_initial_value(rodata, &config, sizeof(config)) == 0;
}

class BpfEngine final : public StackEngine {
 public:
  BpfEngine(std::unique_ptr<bpf_object, ObjectClose> object) : object_(std::move(object)) {}

  Status init() {
    probe_ = bpf_object__find_program_by_name(object_.get(), "on_launch_probe");
    function_ = bpf_object__find_program_by_name(object_.get(), "on_launch_function");
    losses_fd_ = bpf_object__find_map_fd_by_name(object_.get(), "losses");
    known_stacks_fd_ = bpf_object__find_map_fd_by_name(object_.get(), "known_stacks");
    const int events = bpf_object__find_map_fd_by_name(object_.get(), "events");
    ring_.reset(ring_buffer__new(events, &BpfEngine::on_event, this, nullptr));
    if (!ring_ || probe_ == nullptr || function_ == nullptr || losses_fd_ < 0 || known_stacks_fd_ < 0) {
      return Error{"cannot set up the BPF ring buffer", "gpuprof doctor shows what this kernel offers"};
    }
    return {};
  }

  [[nodiscard]] std::string_view name() const override { return "bpf-fp"; }

  Status attach_library(const std::string& path) override {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    auto functions = find_functions(fd.get(), {"gpuprof_launch_probe"});
    if (!functions || functions->empty()) {
      return Error{path + " has no launch probe", "the build is incomplete; build gpuprof again"};
    }
    return attach(probe_, path, functions->front().file_offset, -1, 0);
  }

  Status attach_function(const std::string& path, uint64_t file_offset, uint32_t pid, uint32_t function) override {
    return attach(function_, path, file_offset, static_cast<pid_t>(pid), function);
  }

  void drain(StackSink& sink) override {
    sink_ = &sink;
    drained_bytes_ = 0;
    ring_buffer__consume(ring_.get());
    sink_ = nullptr;
  }

  void forget(std::span<const uint64_t> stacks) override {
    for (const uint64_t stack : stacks) {
      bpf_map_delete_elem(known_stacks_fd_, &stack);
    }
  }

  [[nodiscard]] StackLosses losses() const override {
    std::vector<uint64_t> per_cpu(static_cast<size_t>(libbpf_num_possible_cpus()));
    uint64_t sums[GPUPROF_BPF_LOSSES] = {};
    for (uint32_t kind = 0; kind < GPUPROF_BPF_LOSSES; ++kind) {
      if (bpf_map_lookup_elem(losses_fd_, &kind, per_cpu.data()) == 0) {
        for (const uint64_t count : per_cpu) {
          sums[kind] += count;
        }
      }
    }
    return {sums[GPUPROF_BPF_LOST_LAUNCH], sums[GPUPROF_BPF_LOST_STACK], sums[GPUPROF_BPF_LOST_READ]};
  }

 private:
  Status attach(bpf_program* program, const std::string& path, uint64_t offset, pid_t pid, uint64_t cookie) {
    bpf_uprobe_opts options{};
    options.sz = sizeof(options);
    options.bpf_cookie = cookie;
    bpf_link* link = bpf_program__attach_uprobe_opts(program, pid, path.c_str(), offset, &options);
    if (link == nullptr) {
      return no_rights(("cannot attach a uprobe to " + path).c_str(), errno);
    }
    links_.emplace_back(link);
    return {};
  }

  static int on_event(void* context, void* data, size_t bytes) {
    auto* self = static_cast<BpfEngine*>(context);
    self->dispatch(data, bytes);
    // Launches may come faster than we take them: after a whole buffer, what was there at the start has been taken.
    self->drained_bytes_ += bytes;
    return self->drained_bytes_ > kRingBytes ? -EAGAIN : 0;
  }

  void dispatch(const void* data, size_t bytes) {
    uint32_t type = 0;
    std::memcpy(&type, data, sizeof(type));
    switch (type) {
      case GPUPROF_BPF_LAUNCH: {
        const auto* launch = static_cast<const gpuprof_bpf_launch*>(data);
        if (launch->source != 0) {
          sink_->on_launch_stack({launch->source, launch->correlation, launch->stack, launch->time_ns, launch->pid,
                                  launch->tid, launch->range});
        } else {
          sink_->on_counted_launch(static_cast<uint32_t>(launch->correlation),
                                   {0, 0, launch->stack, launch->time_ns, launch->pid, launch->tid, 0});
        }
        break;
      }
      case GPUPROF_BPF_STACK: {
        const auto* stack = static_cast<const gpuprof_bpf_stack*>(data);
        if (bytes >= sizeof(*stack) + size_t{stack->count} * sizeof(uint64_t)) {
          sink_->on_stack(stack->stack, stack->pid, {stack->addresses, stack->count},
                          (stack->flags & GPUPROF_BPF_STACK_TRUNCATED) != 0);
        }
        break;
      }
      case GPUPROF_BPF_THREAD: {
        const auto* thread = static_cast<const gpuprof_bpf_thread*>(data);
        sink_->on_thread(thread->pid, thread->tid, {thread->name, ::strnlen(thread->name, sizeof(thread->name))});
        break;
      }
      default:
        break;
    }
  }

  std::unique_ptr<bpf_object, ObjectClose> object_;
  std::unique_ptr<ring_buffer, RingFree> ring_;
  std::vector<std::unique_ptr<bpf_link, LinkDestroy>> links_;
  bpf_program* probe_ = nullptr;
  bpf_program* function_ = nullptr;
  int losses_fd_ = -1;
  int known_stacks_fd_ = -1;
  size_t drained_bytes_ = 0;
  StackSink* sink_ = nullptr;  // only while drain() runs
};

}  // namespace

Result<std::unique_ptr<StackEngine>> make_bpf_engine() {
#ifdef GPUPROF_HAVE_BPF
  libbpf_set_print(print_libbpf);
  const auto bytes = static_cast<size_t>(gpuprof_embedded_bpf_end - gpuprof_embedded_bpf_begin);
  std::unique_ptr<bpf_object, ObjectClose> object(bpf_object__open_mem(gpuprof_embedded_bpf_begin, bytes, nullptr));
  if (!object) {
    return no_rights("cannot open the embedded BPF object", errno);
  }
  bpf_map* events = bpf_object__find_map_by_name(object.get(), "events");
  if (events == nullptr || bpf_map__set_max_entries(events, kRingBytes) != 0 || !configure(object.get())) {
    return Error{"the embedded BPF object is not as expected", "the build is incomplete; build gpuprof again"};
  }
  if (const int error = bpf_object__load(object.get()); error != 0) {
    return no_rights("cannot load BPF programs", -error);
  }
  auto engine = std::make_unique<BpfEngine>(std::move(object));
  if (auto status = engine->init(); !status) {
    return std::move(status).error();
  }
  return std::unique_ptr<StackEngine>(std::move(engine));
#else
  return Error{"this gpuprof was built without eBPF", "install clang and build again"};
#endif
}

}  // namespace gpuprof::record
