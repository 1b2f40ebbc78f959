// Implements the BPF stack engine: loads the embedded bpf/stacks.bpf.c or bpf/launch.bpf.c and polls its ring buffer.

#include <bpf/bpf.h>
#include <fcntl.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "backend/bpf_codes.h"
#include "base/files/safe_open.h"
#include "base/log.h"
#include "base/return_if_error.h"
#include "base/text/hints.h"
#include "base/unique_fd.h"
#include "record/bpf/bpf_object.h"
#include "record/bpf/bpf_processes.h"
#include "record/bpf/stack_engine.h"
#include "symbolize/elf/elf_functions.h"
#include "wire/bpf_events.h"

namespace gpuprof::record {
namespace {

class BpfEngine final : public StackEngine {
 public:
  BpfEngine(BpfObject object, BpfWalk walk, std::string note)
      : object_(std::move(object)), walk_(walk), note_(std::move(note)) {}

  Status init() {
    probe_ = bpf_object__find_program_by_name(object_.get(), "on_launch_probe");
    function_ = bpf_object__find_program_by_name(object_.get(), "on_launch_function");
    losses_fd_ = map_fd("losses");
    known_stacks_fd_ = map_fd("known_stacks");
    counted_fd_ = map_fd("counted");
    ring_.reset(ring_buffer__new(map_fd("events"), &BpfEngine::on_event, this, nullptr));
    if (!ring_ || probe_ == nullptr || function_ == nullptr || losses_fd_ < 0 || known_stacks_fd_ < 0 ||
        counted_fd_ < 0) {
      return Error{"cannot set up the BPF ring buffer", "gpuprof doctor shows what this kernel offers"};
    }
    if (walk_ == BpfWalk::tables) {
      processes_ = std::make_unique<BpfProcesses>(object_.get(), false);
    }
    return {};
  }

  [[nodiscard]] std::string_view name() const override { return walk_ == BpfWalk::tables ? "bpf" : "bpf-fp"; }
  [[nodiscard]] std::string_view note() const override { return note_; }

  void on_process(const symbolize::ProcessMaps& maps) override {
    if (processes_) {
      processes_->on_process(maps);
    }
  }

  void expect_process(uint32_t pid, bool anew) override {
    if (processes_) {
      processes_->expect_process(pid, anew);
    }
  }

  void on_python(uint32_t pid, const gpuprof_python_layout& layout) override {
    if (processes_) {
      processes_->on_python(pid, layout);
    }
  }

  void end_soon() override {
    if (processes_) {
      processes_->end_soon();
    }
  }

  void on_process_end(uint32_t pid) override {
    if (processes_) {
      processes_->on_process_end(pid);
    }
  }

  Status attach_library(const std::string& path) override {
    const UniqueFd fd = open_regular(AT_FDCWD, path);
    auto functions = symbolize::find_functions(fd.get(), {"gpuprof_launch_probe"});
    if (!functions || functions->empty()) {
      return Error{path + " has no launch probe", hints::kBuildAgain};
    }
    return attach(probe_, path, functions->front().file_offset, -1, 0);
  }

  Status attach_function(const std::string& path, uint64_t file_offset, uint32_t pid, uint32_t function) override {
    return pid == 0 ? attach(function_, path, file_offset, -1, function | GPUPROF_BPF_CHILDREN)
                    : attach(function_, path, file_offset, static_cast<pid_t>(pid), function);
  }

  bool count_child(uint32_t pid, bool wanted) override {
    const uint8_t value = 1;
    return wanted ? bpf_map_update_elem(counted_fd_, &pid, &value, BPF_ANY) == 0
                  : bpf_map_delete_elem(counted_fd_, &pid) == 0;
  }

  void drain(StackSink& sink) override {
    sink_ = &sink;
    drained_bytes_ = 0;
    if (processes_) {
      for (const uint32_t pid : processes_->take_outdated()) {
        sink.on_loader(pid);
      }
    }
    ring_buffer__consume(ring_.get());
    sink_ = nullptr;
  }

  void forget(std::span<const uint64_t> stacks) override {
    for (const uint64_t stack : stacks) {
      bpf_map_delete_elem(known_stacks_fd_, &stack);
    }
  }

  [[nodiscard]] StackLosses losses() const override {
    return {sum_of_cpus(losses_fd_, GPUPROF_BPF_LOST_LAUNCH), sum_of_cpus(losses_fd_, GPUPROF_BPF_LOST_STACK),
            sum_of_cpus(losses_fd_, GPUPROF_BPF_LOST_READ)};
  }

 private:
  [[nodiscard]] int map_fd(const char* name) const { return bpf_object__find_map_fd_by_name(object_.get(), name); }

  Status attach(bpf_program* program, const std::string& path, uint64_t offset, pid_t pid, uint64_t cookie) {
    auto link = attach_uprobe(program, path, offset, pid, cookie);
    RETURN_IF_ERROR(link);
    links_.push_back(std::move(*link));
    return {};
  }

  static int on_event(void* context, void* data, size_t bytes) {
    auto* self = static_cast<BpfEngine*>(context);
    self->dispatch({static_cast<const std::byte*>(data), bytes});
    // Stop after kBpfRingBytes. Otherwise this loop might never end, because launches can arrive faster than it reads
    // them.
    self->drained_bytes_ += bytes;
    return self->drained_bytes_ > kBpfRingBytes ? -EAGAIN : 0;
  }

  void dispatch(std::span<const std::byte> event) {
    uint32_t type = 0;
    std::memcpy(&type, event.data(), sizeof(type));
    switch (type) {
      case GPUPROF_BPF_LAUNCH:
        on_launch(*reinterpret_cast<const gpuprof_bpf_launch*>(event.data()));
        break;
      case GPUPROF_BPF_STACK: {
        const auto* stack = reinterpret_cast<const gpuprof_bpf_stack*>(event.data());
        if (event.size() >= sizeof(*stack) + size_t{stack->count} * sizeof(uint64_t)) {
          const auto* words = reinterpret_cast<const uint64_t*>(stack + 1);
          sink_->on_stack(stack->stack, stack->pid, {words, stack->count}, stack->flags, stack->read_ns);
        }
        break;
      }
      case GPUPROF_BPF_THREAD: {
        const auto* thread = reinterpret_cast<const gpuprof_bpf_thread*>(event.data());
        sink_->on_thread(thread->pid, thread->tid, {thread->name, ::strnlen(thread->name, sizeof(thread->name))});
        break;
      }
      case GPUPROF_BPF_LOADER:
        sink_->on_loader(reinterpret_cast<const gpuprof_bpf_loader*>(event.data())->pid);
        break;
      case GPUPROF_BPF_CODE:
        codes_.on_code(event, take_code());
        break;
      case GPUPROF_BPF_LINES:
        codes_.on_lines(event, take_code());
        break;
      default:
        break;
    }
  }

  [[nodiscard]] backend::BpfCodes::Take take_code() const {
    return [this](uint32_t pid, const backend::PythonCode& code) { sink_->on_process_code(pid, code); };
  }

  void on_launch(const gpuprof_bpf_launch& launch) {
    if (launch.source != 0) {
      sink_->on_launch_stack(
          {launch.source, launch.correlation, launch.stack, launch.time_ns, launch.pid, launch.tid, launch.range});
    } else {
      sink_->on_counted_launch(static_cast<uint32_t>(launch.correlation),
                               {0, 0, launch.stack, launch.time_ns, launch.pid, launch.tid, 0});
    }
  }

  BpfObject object_;
  BpfWalk walk_;
  std::string note_;
  std::unique_ptr<BpfProcesses> processes_;  // null if the walk follows frame pointers
  backend::BpfCodes codes_;
  BpfRing ring_;
  std::vector<BpfLink> links_;
  bpf_program* probe_ = nullptr;
  bpf_program* function_ = nullptr;
  int losses_fd_ = -1;
  int known_stacks_fd_ = -1;
  int counted_fd_ = -1;
  size_t drained_bytes_ = 0;
  StackSink* sink_ = nullptr;
};

struct Loaded {
  BpfObject object;
  BpfWalk walk;
  std::string note;
};

Result<Loaded> load_best(BpfWalk walk) {
  std::string note;
  if (walk == BpfWalk::tables) {
    auto object = load_bpf_object(walk, true);
    if (object) {
      return Loaded{std::move(*object), walk, ""};
    }
    log::debug("sleepable BPF stack walk: " + object.error().message);
    object = load_bpf_object(walk, false);
    if (object) {
      return Loaded{std::move(*object), walk,
                    "stacks are truncated where their memory is paged out: sleepable uprobes need Linux 6.0"};
    }
    note = "native frames by frame pointers only, no Python frames: this kernel refuses the walk by unwind tables (" +
           object.error().message + ")";
  }
  auto object = load_bpf_object(BpfWalk::frame_pointers, false);
  RETURN_IF_ERROR(object);
  return Loaded{std::move(*object), BpfWalk::frame_pointers, std::move(note)};
}

}  // namespace

Result<std::unique_ptr<StackEngine>> make_bpf_engine(BpfWalk walk) {
  auto loaded = load_best(walk);
  RETURN_IF_ERROR(loaded);
  auto engine = std::make_unique<BpfEngine>(std::move(loaded->object), loaded->walk, std::move(loaded->note));
  RETURN_IF_ERROR(engine->init());
  return std::unique_ptr<StackEngine>(std::move(engine));
}

}  // namespace gpuprof::record
