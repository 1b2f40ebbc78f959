#include "record/bpf/off_cpu_engine.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "base/files/file.h"
#include "base/return_if_error.h"
#include "base/text/hints.h"

#ifdef GPUPROF_HAVE_BPF
extern "C" const unsigned char gpuprof_embedded_bpf_off_cpu_begin[];
extern "C" const unsigned char gpuprof_embedded_bpf_off_cpu_end[];
#endif

namespace gpuprof::record {
namespace {

constexpr const char* kOffCpuHint =
    "exact times off a CPU need Linux 5.18 or later, with BTF; without them, record --cpu polls threads";

Error impossible(const Error& why) {
  return {"--cpu=bpf is impossible here: " + why.message, why.hint};
}

#ifdef GPUPROF_HAVE_BPF
constexpr uint32_t kMostWords = GPUPROF_STACK_MAX_WORDS / 4;  // a walk blocks the CPU, so it must be short
constexpr uint32_t kOffCpuRules = 1U << 18;                   // unwind rules of all processes together, 16 bytes each

Result<BpfObject> load_off_cpu() {
  auto object = open_bpf_object({gpuprof_embedded_bpf_off_cpu_begin, gpuprof_embedded_bpf_off_cpu_end});
  RETURN_IF_ERROR(object);
  gpuprof_bpf_config config = make_bpf_config();
  config.max_words = kMostWords;
  // The walk needs an iteration for each native frame, each Python frame and each transition between them.
  config.max_turns = 3 * kMostWords;
  config.cache_mask = kOffCpuRules - 1;
  if (!configure_bpf_object(object->get(), config) ||
      !resize_bpf_map(object->get(), "rule_cache", config.cache_mask + 1)) {
    return Error{"the embedded BPF object is not as expected", hints::kBuildAgain};
  }
  if (const int error = bpf_object__load(object->get()); error != 0) {
    return bpf_error("cannot load the BPF programs for the scheduler", -error, kOffCpuHint);
  }
  return object;
}
#else
Result<BpfObject> load_off_cpu() {
  return Error{"this gpuprof was built without eBPF", "install clang and build again"};
}
#endif

// Returns the symbol of finish_task_switch(), which a thread runs when it has got a CPU. Compilers add a suffix to its
// name.
std::string find_finish_switch() {
  constexpr std::string_view kName = "finish_task_switch";
  constexpr size_t kSymbolBytes = size_t{64} << 20;
  const std::string symbols = read_text("/proc/kallsyms", kSymbolBytes);
  const std::string before = " t ";
  const size_t found = symbols.find(before + std::string(kName));
  if (found == std::string::npos) {
    return std::string(kName);
  }
  const size_t begin = found + before.size();
  return symbols.substr(begin, symbols.find_first_of(" \t\n", begin) - begin);
}

}  // namespace

OffCpuEngine::OffCpuEngine(BpfObject object)
    : object_(std::move(object)), processes_(object_.get(), true), feed_(processes_) {}

Result<std::unique_ptr<OffCpuEngine>> OffCpuEngine::start() {
  auto object = load_off_cpu();
  if (!object) {
    return impossible(object.error());
  }
  std::unique_ptr<OffCpuEngine> engine(new OffCpuEngine(std::move(*object)));
  if (Status ready = engine->init(); !ready) {
    return impossible(ready.error());
  }
  return engine;
}

Status OffCpuEngine::init() {
  const auto map = [this](const char* name) { return bpf_object__find_map_fd_by_name(object_.get(), name); };
  losses_ = map("losses");
  feeders_ = map("feeders");
  known_stacks_ = map("known_stacks");
  ring_.reset(ring_buffer__new(map("events"), &OffCpuEngine::on_event, this, nullptr));
  if (!ring_ || losses_ < 0 || feeders_ < 0 || known_stacks_ < 0) {
    return Error{"cannot set up the BPF ring buffer", hints::kAskDoctor};
  }
  const auto program = [this](const char* name) { return bpf_object__find_program_by_name(object_.get(), name); };
  // The program for the end of a time comes first. Else the first times would have no end.
  bpf_link* switched_in = bpf_program__attach_raw_tracepoint(program("on_switched_in"), "sched_exit_tp");
  if (switched_in == nullptr) {
    switched_in = bpf_program__attach_kprobe(program("on_finish_switch"), false, find_finish_switch().c_str());
  }
  if (switched_in == nullptr) {
    return bpf_error("this kernel has neither sched_exit_tp nor kprobes", errno, kOffCpuHint);
  }
  links_.emplace_back(switched_in);
  for (const char* name : {"on_waking", "on_exit", "on_switch"}) {
    bpf_link* link = bpf_program__attach(program(name));
    if (link == nullptr) {
      return bpf_error(std::string("cannot attach ") + name + " to the scheduler", errno, kOffCpuHint);
    }
    links_.emplace_back(link);
  }
  return {};
}

void OffCpuEngine::put(std::vector<ProcessEvent> events) {
  std::erase_if(events, [](const ProcessEvent& event) { return event.what == ProcessEvent::What::python; });
  feed_.put(std::move(events));
}

void OffCpuEngine::set_threads(std::vector<gpuprof_bpf_feeder> threads) {
  constexpr auto kLess = [](const gpuprof_bpf_feeder& a, const gpuprof_bpf_feeder& b) {
    return std::pair(a.pid, a.tid) < std::pair(b.pid, b.tid);
  };
  std::vector<gpuprof_bpf_feeder> changed;
  std::set_difference(threads_.begin(), threads_.end(), threads.begin(), threads.end(), std::back_inserter(changed),
                      kLess);
  for (const gpuprof_bpf_feeder& key : std::exchange(changed, {})) {
    bpf_map_delete_elem(feeders_, &key);
  }
  std::set_difference(threads.begin(), threads.end(), threads_.begin(), threads_.end(), std::back_inserter(changed),
                      kLess);
  for (const gpuprof_bpf_feeder& key : changed) {
    const uint8_t one = 1;
    bpf_map_update_elem(feeders_, &key, &one, BPF_ANY);
  }
  threads_ = std::move(threads);
}

void OffCpuEngine::forget(std::span<const uint64_t> stacks) {
  for (const uint64_t stack : stacks) {
    bpf_map_delete_elem(known_stacks_, &stack);
  }
}

size_t OffCpuEngine::drain(OffCpuSink& sink) {
  sink_ = &sink;
  drained_bytes_ = 0;
  ring_buffer__consume(ring_.get());
  sink_ = nullptr;
  return drained_bytes_;
}

int OffCpuEngine::on_event(void* context, void* data, size_t bytes) {
  auto* self = static_cast<OffCpuEngine*>(context);
  self->dispatch({static_cast<const std::byte*>(data), bytes});
  // Events may arrive faster than drain() reads them. So drain() stops after as many bytes as the ring buffer holds.
  self->drained_bytes_ += bytes;
  return self->drained_bytes_ > kBpfRingBytes ? -EAGAIN : 0;
}

void OffCpuEngine::dispatch(std::span<const std::byte> event) {
  uint32_t type = 0;
  std::memcpy(&type, event.data(), sizeof(type));
  const auto take_code = [this](uint32_t pid, const backend::PythonCode& code) { sink_->on_process_code(pid, code); };
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
    case GPUPROF_BPF_OFF_CPU:
      sink_->on_off_cpu(*reinterpret_cast<const gpuprof_bpf_off_cpu*>(event.data()));
      break;
    default:
      break;
  }
}

OffCpuEngine::Counts OffCpuEngine::counts() const {
  return {sum_of_cpus(losses_, GPUPROF_BPF_LOST_OFF_CPU),
          sum_of_cpus(losses_, GPUPROF_BPF_LOST_STACK) + sum_of_cpus(losses_, GPUPROF_BPF_LOST_READ),
          sum_of_cpus(losses_, GPUPROF_BPF_SHORT_OFF_CPU), sum_of_cpus(losses_, GPUPROF_BPF_SHORT_OFF_CPU_NS)};
}

}  // namespace gpuprof::record
