#include "scripted_source.h"

#include <array>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/process/process_guard.h"
#include "wire/wire.h"

namespace gpuprof::test {
namespace {

using backend::EventSink;
using backend::SourceId;

// Facts that the target has written into a file about itself.
struct TargetFacts {
  uint32_t pid = 0;
  pid_t parent = 0;
  uint64_t submit_step = 0;  // this and the following members are addresses of functions
  uint64_t copy_back = 0;
  uint64_t evaluate = 0;
  uint64_t run_model = 0;
};

std::optional<TargetFacts> read_target(const std::string& folder) {
  std::ifstream file(folder + "/ready");
  TargetFacts facts;
  if (file >> facts.pid >> facts.parent >> facts.submit_step >> facts.copy_back >> facts.evaluate >> facts.run_model) {
    return facts;
  }
  return std::nullopt;
}

constexpr uint32_t kSaxpy = 1;  // this and the next constant are name ids in both sources
constexpr uint32_t kReduce = 2;

class ScriptedSource : public backend::Backend {
 public:
  ScriptedSource(const char* name, std::string folder) : descriptor_{name, "a test's"}, folder_(std::move(folder)) {}

  [[nodiscard]] const backend::Descriptor& descriptor() const override { return descriptor_; }
  [[nodiscard]] backend::Availability probe() const override { return {true, "scripted", ""}; }
  Status prepare(backend::LaunchEnv& /*env*/) override { return {}; }
  [[nodiscard]] bool is_local() const override { return true; }

  Status start(const backend::Recording& recording) override {
    sink_ = &recording.sink;
    ids_ = &recording.ids;
    root_ = recording.root;
    return {};
  }

  void set_recording(bool on) override {
    is_new_ = is_new_ || on != on_;
    on_ = on;
  }

  size_t drain() override {
    if (!target_ && !find_target()) {
      return 0;
    }
    if (!is_new_) {
      return 0;
    }
    is_new_ = false;
    if (on_) {
      tell_round(++round_);
      leave_mark("round" + std::to_string(round_));
    } else if (round_ != 0) {
      tell_while_off();
      leave_mark("off" + std::to_string(round_));
    }
    return 1;
  }

  void stop() override {
    if (target_) {
      sink_->on_source_end(source_);
    }
    leave_mark("stopped");
  }

 protected:
  virtual void tell_source() = 0;
  virtual void tell_round(uint64_t round) = 0;
  virtual void tell_while_off() = 0;

  // Returns a sample in the kernel saxpy() that names no launch.
  [[nodiscard]] backend::Sample sample(uint64_t count, std::string_view reason, uint32_t place) const {
    return {.source = source_,
            .time_ns = monotonic_ns(),
            .count = count,
            .period = 512,
            .reason = reason,
            .name_id = kSaxpy,
            .place = place,
            .device = 0};
  }

  EventSink& sink() { return *sink_; }
  [[nodiscard]] SourceId source() const { return source_; }
  [[nodiscard]] const TargetFacts& target() const { return *target_; }

 private:
  bool find_target() {
    const auto found = read_target(folder_);
    if (!found || found->parent != root_) {
      return false;
    }
    target_ = found;
    source_ = ids_->make();
    if (auto guard = ProcessGuard::of_process(static_cast<pid_t>(target_->pid))) {
      sink_->on_process(target_->pid, std::make_shared<ProcessGuard>(std::move(*guard)));
    }
    sink_->on_source(source_, target_->pid, descriptor_.name);
    sink_->on_name(source_, kSaxpy, "saxpy");
    sink_->on_name(source_, kReduce, "_Z6reducePKfi");
    sink_->on_name(source_, 3, "Mock GPU");
    sink_->on_name(source_, 4, "GPU-1");
    sink_->on_device(source_, 0, 3, 4);
    tell_source();
    return true;
  }

  void leave_mark(const std::string& name) const { std::ofstream(folder_ + "/" + descriptor_.name + "." + name); }

  backend::Descriptor descriptor_;
  std::string folder_;
  EventSink* sink_ = nullptr;
  backend::SourceIds* ids_ = nullptr;
  pid_t root_ = 0;
  std::optional<TargetFacts> target_;
  SourceId source_ = 0;
  uint64_t round_ = 0;
  bool on_ = false;
  bool is_new_ = false;
};

// Reports a code location in saxpy(), at which another function is inlined.
void tell_saxpy_place(EventSink& sink, SourceId source, uint32_t module, uint32_t place) {
  sink.on_gpu_module(source, {.id = module, .name = "kernels.cubin", .hash = "c0ffee"});
  constexpr std::array<backend::GpuFrame, 2> kLines = {{{"saxpy", "kernels.cu", 12}, {"fused", "math.h", 5}}};
  sink.on_gpu_place(source, {.id = place,
                             .module = module,
                             .function = "saxpy",
                             .offset = 0x40,
                             .instruction = "FFMA R1, R2, R3, R4",
                             .frames = kLines});
}

class Sampler final : public ScriptedSource {
 public:
  Sampler(const std::string& folder, bool drops) : ScriptedSource("sampler", folder), drops_(drops) {}

 private:
  static constexpr uint32_t kSaxpyPlace = 1;
  static constexpr uint32_t kReducePlace = 2;
  static constexpr uint64_t kSaxpyStack = 1;
  static constexpr uint64_t kReduceStack = 2;
  static constexpr uint32_t kRange = 1;

  void tell_source() override {
    sink().on_traits(source(), {.walks_stacks = true, .takes_samples = true});
    sink().on_name(source(), 5, "epoch");
    sink().on_range(source(), {.id = kRange, .name_id = 5});
    tell_saxpy_place(sink(), source(), 1, kSaxpyPlace);
    constexpr std::array<backend::GpuFrame, 1> kLines = {{{"_Z6reducePKfi", "kernels.cu", 30}}};
    sink().on_gpu_place(source(), {.id = kReducePlace,
                                   .module = 1,
                                   .function = "_Z6reducePKfi",
                                   .offset = 0x10,
                                   .instruction = "LDG.E R0, [R2]",
                                   .frames = kLines});
    tell_stacks();
  }

  // The first word of each stack is an address in the innermost function. Other native addresses are return addresses.
  void tell_stacks() {
    sink().on_code(source(), {.id = 1, .version = 0x030b0000, .first_line = 7, .name = "train", .file = "train.py"});
    const std::array<uint64_t, 4> saxpy = {target().submit_step, GPUPROF_WORD_OF_PYTHON(1, UINT32_MAX),
                                           (target().evaluate + 1) | GPUPROF_WORD_EVAL, target().run_model + 1};
    sink().on_stack(source(), {.id = kSaxpyStack, .words = saxpy});
    const std::array<uint64_t, 2> reduce = {target().copy_back, target().run_model + 1};
    sink().on_stack(source(), {.id = kReduceStack, .words = reduce});
  }

  void tell_round(uint64_t round) override {
    const uint64_t saxpy = 10 * round;
    const uint64_t reduce = 10 * round + 1;
    tell_sample(reduce, kReduce, kReducePlace, 4, "long_scoreboard");  // this sample arrives before its launch
    tell_launch(saxpy, kSaxpyStack, kRange);
    tell_work(saxpy, kSaxpy, 1000);
    tell_launch(reduce, kReduceStack, 0);
    tell_work(reduce, kReduce, 500);
    tell_sample(saxpy, kSaxpy, kSaxpyPlace, 5, "long_scoreboard");  // this sample arrives after its work
    tell_sample(saxpy, kSaxpy, kSaxpyPlace, 3, "selected");
    tell_sample(reduce, kReduce, kReducePlace, 2, "long_scoreboard", true);
    tell_sample(10'000, kSaxpy, kSaxpyPlace, 6, "selected");  // the launch of this sample never arrives
    if (drops_) {
      sink().on_samples_dropped(source(), 11);
    }
    backend::Counters counters;
    counters.launches = 2 * round;
    sink().on_counters(source(), counters);
  }

  void tell_while_off() override {
    sink().on_sample(sample(13, "selected", kSaxpyPlace));
    tell_work(20'000, kSaxpy, 700);
  }

  void tell_launch(uint64_t correlation, uint64_t stack, uint32_t range) {
    sink().on_launch(source(), {.correlation = correlation,
                                .stack = stack,
                                .time_ns = monotonic_ns(),
                                .tid = target().pid,
                                .range = range,
                                .thread = "worker"});
  }

  void tell_work(uint64_t correlation, uint32_t kernel, uint64_t ns) {
    const uint64_t now = monotonic_ns();
    sink().on_gpu_op({.source = source(),
                      .correlation = correlation,
                      .start_ns = now,
                      .end_ns = now + ns,
                      .stream = 7,
                      .name_id = kernel,
                      .op = GPUPROF_OP_KERNEL});
  }

  void tell_sample(uint64_t correlation, uint32_t kernel, uint32_t place, uint64_t count, std::string_view reason,
                   bool estimated = false) {
    backend::Sample made = sample(count, reason, place);
    made.correlation = correlation;
    made.stream = 7;
    made.name_id = kernel;
    made.estimated = estimated;
    sink().on_sample(made);
  }

  bool drops_;
};

class Second final : public ScriptedSource {
 public:
  Second(const std::string& folder, bool fails) : ScriptedSource("second", folder), fails_(fails) {}

  Status start(const backend::Recording& recording) override {
    if (fails_) {
      return Error{"second: the device is used by somebody else", "wait until it is free"};
    }
    return ScriptedSource::start(recording);
  }

 private:
  static constexpr uint32_t kPlace = 5;

  void tell_source() override { tell_saxpy_place(sink(), source(), 9, kPlace); }

  void tell_round(uint64_t /*round*/) override {
    backend::Sample made = sample(7, "selected", kPlace);
    made.tid = target().pid;
    made.period = 1000;
    made.unit = backend::SamplingUnit::ns;
    sink().on_sample(made);
  }

  void tell_while_off() override {}

  bool fails_;
};

}  // namespace

std::unique_ptr<backend::Backend> make_sampler(const std::string& folder, bool drops) {
  return std::make_unique<Sampler>(folder, drops);
}

std::unique_ptr<backend::Backend> make_second(const std::string& folder, bool fails) {
  return std::make_unique<Second>(folder, fails);
}

}  // namespace gpuprof::test
