// The BPF stack engine: loads bpf/stacks.bpf.c or bpf/launch.bpf.c, which are embedded in gpuprof, and polls their ring
// buffer.

#include <bpf/bpf.h>
#include <fcntl.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hints.h"
#include "base/log.h"
#include "base/unique_fd.h"
#include "record/bpf/bpf_codes.h"
#include "record/bpf/bpf_object.h"
#include "record/bpf/bpf_tables.h"
#include "record/bpf/loader_probe.h"
#include "record/bpf/stack_engine.h"
#include "symbolize/elf_functions.h"
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
    ring_.reset(ring_buffer__new(map_fd("events"), &BpfEngine::on_event, this, nullptr));
    if (!ring_ || probe_ == nullptr || function_ == nullptr || losses_fd_ < 0 || known_stacks_fd_ < 0) {
      return Error{"cannot set up the BPF ring buffer", "gpuprof doctor shows what this kernel offers"};
    }
    if (walk_ == BpfWalk::tables) {
      const bpf_map* cache = bpf_object__find_map_by_name(object_.get(), "rule_cache");
      const BpfTableMaps maps{map_fd("processes"),  map_fd("mappings"),
                              map_fd("pools"),      map_fd("unloads"),
                              map_fd("rule_cache"), cache != nullptr ? bpf_map__max_entries(cache) : 0};
      loader_ = bpf_object__find_program_by_name(object_.get(), "on_loader");
      tables_ = std::make_unique<BpfTables>(maps, unwind::TableCache::default_directory());
    }
    return {};
  }

  [[nodiscard]] std::string_view name() const override { return walk_ == BpfWalk::tables ? "bpf" : "bpf-fp"; }
  [[nodiscard]] std::string_view note() const override { return note_; }

  void on_process(const symbolize::ProcessMaps& maps) override {
    if (tables_) {
      watch_loader(maps);
      tables_->on_process(maps);
    }
  }

  void expect_process(uint32_t pid, bool anew) override {
    if (tables_) {
      tables_->expect_process(pid, anew);
    }
  }

  void on_python(uint32_t pid, const gpuprof_python_layout& layout) override {
    if (tables_) {
      tables_->on_python(pid, layout);
    }
  }

  void on_process_end(uint32_t pid) override {
    if (tables_) {
      loaders_.erase(pid);
      tables_->on_process_end(pid);
    }
  }

  Status attach_library(const std::string& path) override {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    auto functions = symbolize::find_functions(fd.get(), {"gpuprof_launch_probe"});
    if (!functions || functions->empty()) {
      return Error{path + " has no launch probe", hints::kBuildAgain};
    }
    return attach(probe_, path, functions->front().file_offset, -1, 0);
  }

  Status attach_function(const std::string& path, uint64_t file_offset, uint32_t pid, uint32_t function) override {
    return attach(function_, path, file_offset, static_cast<pid_t>(pid), function);
  }

  void drain(StackSink& sink) override {
    sink_ = &sink;
    drained_bytes_ = 0;
    for (const uint32_t pid : take_to_read_again()) {
      sink.on_loader(pid);
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
  // Where it can not be watched (no glibc, or a static program), a library that takes the place of another is known
  // when mappings are read the next time.
  void watch_loader(const symbolize::ProcessMaps& maps) {
    Loader& loader = loaders_[maps.pid()];
    for (const symbolize::Mapping& mapping : maps.mappings()) {
      const symbolize::MappedFile* file = mapping.file.get();
      if (file == nullptr || !file->fd || !is_loader(file->path) ||
          (loader.device == file->device && loader.inode == file->inode)) {
        continue;
      }
      loader.device = file->device;
      loader.inode = file->inode;
      const auto probe = find_loader_probe(file->fd.get());
      auto link = probe ? make_link(loader_, "/proc/self/fd/" + std::to_string(file->fd.get()), probe->file_offset,
                                    static_cast<pid_t>(maps.pid()), probe->state)
                        : Result<BpfLink>(Error{"no _dl_debug_state in " + file->path, ""});
      if (!link) {
        log::debug(link.error().message);
        return;
      }
      loader.link = std::move(*link);
      const std::lock_guard lock(mutex_);
      to_read_again_.push_back(maps.pid());  // what it has done since then was not seen
      return;
    }
  }

  [[nodiscard]] int map_fd(const char* name) const { return bpf_object__find_map_fd_by_name(object_.get(), name); }

  struct Loader {
    uint64_t device = 0;
    uint64_t inode = 0;
    BpfLink link;
  };

  std::vector<uint32_t> take_to_read_again() {
    const std::lock_guard lock(mutex_);
    return std::exchange(to_read_again_, {});
  }

  static Result<BpfLink> make_link(bpf_program* program, const std::string& path, uint64_t offset, pid_t pid,
                                   uint64_t cookie) {
    bpf_uprobe_opts options{};
    options.sz = sizeof(options);
    options.bpf_cookie = cookie;
    bpf_link* link = bpf_program__attach_uprobe_opts(program, pid, path.c_str(), offset, &options);
    if (link == nullptr) {
      return bpf_error("cannot attach a uprobe to " + path, errno, kBpfStacksHint);
    }
    return BpfLink(link);
  }

  Status attach(bpf_program* program, const std::string& path, uint64_t offset, pid_t pid, uint64_t cookie) {
    auto link = make_link(program, path, offset, pid, cookie);
    if (!link) {
      return std::move(link).error();
    }
    links_.push_back(std::move(*link));
    return {};
  }

  static int on_event(void* context, void* data, size_t bytes) {
    auto* self = static_cast<BpfEngine*>(context);
    self->dispatch({static_cast<const std::byte*>(data), bytes});
    // Launches may come faster than we take them: after a whole buffer, what was there at the start has been taken.
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
        codes_.on_code(event, *sink_);
        break;
      case GPUPROF_BPF_LINES:
        codes_.on_lines(event, *sink_);
        break;
      default:
        break;
    }
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
  std::unique_ptr<BpfTables> tables_;  // null: by frame pointers. Of the thread that calls on_process()
  BpfCodes codes_;
  BpfRing ring_;
  std::vector<BpfLink> links_;
  std::unordered_map<uint32_t, Loader> loaders_;  // by pid; of the thread that calls on_process()
  std::mutex mutex_;                              // of the next one
  std::vector<uint32_t> to_read_again_;           // processes
  bpf_program* probe_ = nullptr;
  bpf_program* function_ = nullptr;
  bpf_program* loader_ = nullptr;
  int losses_fd_ = -1;
  int known_stacks_fd_ = -1;
  size_t drained_bytes_ = 0;
  StackSink* sink_ = nullptr;  // only while drain() runs
};

struct Loaded {
  BpfObject object;
  BpfWalk walk;
  std::string note;
};

// What this kernel can do of what is wanted, in steps. Missing rights are an error at once.
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
      return Loaded{std::move(*object), walk, "stacks that are paged out are cut: sleepable uprobes need Linux 6.0"};
    }
    note = "native frames by frame pointers only, no Python frames: this kernel refuses the walk by unwind tables (" +
           object.error().message + ")";
  }
  auto object = load_bpf_object(BpfWalk::frame_pointers, false);
  if (!object) {
    return std::move(object).error();
  }
  return Loaded{std::move(*object), BpfWalk::frame_pointers, std::move(note)};
}

}  // namespace

Result<std::unique_ptr<StackEngine>> make_bpf_engine(BpfWalk walk) {
  auto loaded = load_best(walk);
  if (!loaded) {
    return std::move(loaded).error();
  }
  auto engine = std::make_unique<BpfEngine>(std::move(loaded->object), loaded->walk, std::move(loaded->note));
  if (auto status = engine->init(); !status) {
    return std::move(status).error();
  }
  return std::unique_ptr<StackEngine>(std::move(engine));
}

}  // namespace gpuprof::record
