// Writes a profile of any size to standard output, for measuring `gpuprof flame`.
//   generate_profile [records] [stacks] [gpu|eustall]
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "profile/writer.h"

namespace {

namespace p = gpuprof::profile;

constexpr uint32_t kDepth = 40;
constexpr uint32_t kFrames = 2000;
constexpr uint32_t kKernels = 200;

// A small generator of our own, so that a profile is the same everywhere.
struct Random {
  uint64_t state = 88172645463325252U;
  uint32_t below(uint32_t limit) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    return static_cast<uint32_t>((state >> 32U) * limit >> 32U);
  }
};

enum class Kind { gpu, stall };

class Generator {
 public:
  Generator(uint64_t records, uint32_t stacks, Kind kind) : records_(records), stacks_(stacks), kind_(kind) {}

  bool run() {
    p::format_header(out_);
    definitions();
    for (uint64_t i = 0; i < records_; ++i) {
      if (kind_ == Kind::stall) {
        stall(i);
      } else {
        gpu(i);
      }
      if (out_.size() > (size_t{1} << 20U) && !flush()) {
        return false;
      }
    }
    p::format_line(p::End{.end_ns = 1,
                          .launches = records_,
                          .gpu_records = count_,
                          .gpu_ns = sum_ns_,
                          .with_stack = count_,
                          .samples = samples_},
                   out_);
    return flush();
  }

 private:
  p::StringId string(const std::string& text) {
    p::format_line(p::String{p::StringId{++strings_}, text}, out_);
    return p::StringId{strings_};
  }

  void definitions() {
    p::format_line(p::Process{p::ProcessId{1}, 4242, 1, 1, string("trainer"), string("trainer --steps 1000")}, out_);
    p::format_line(p::Device{p::DeviceId{1}, string("cupti"), 0, string("GPU")}, out_);
    thread_ = string("worker");
    for (uint32_t i = 1; i <= kFrames; ++i) {
      const p::StringId name = string("torch::autograd::Engine::function_" + std::to_string(i) + "(at::Tensor const&)");
      p::format_line(p::Frame{.id = p::FrameId{i}, .name = name, .address = 0x1000 + i * 16U}, out_);
    }
    for (uint32_t i = 1; i <= kKernels; ++i) {
      kernels_.push_back(string("void kernel_" + std::to_string(i) + "<float, 4>(float*, int)"));
    }
    define_places();
    std::vector<p::StackElement> elements(kDepth);
    for (uint32_t i = 1; i <= stacks_; ++i) {
      for (uint32_t depth = 0; depth < kDepth; ++depth) {
        elements[depth].frame = p::FrameId{depth < kDepth / 2 ? depth + 1 : 1 + random_.below(kFrames)};
      }
      p::format_line(p::Stack{false, p::StackId{i}, elements}, out_);
      p::format_line(work(i - 1), out_);
    }
  }

  // Of samples: a place in each kernel, and what was waited for there.
  void define_places() {
    p::format_line(p::GpuModule{p::GpuModuleId{1}, string("kernels.cl"), p::StringId{}}, out_);
    for (uint32_t i = 1; i <= kKernels; ++i) {
      const p::StringId instruction = string("mad(8) r" + std::to_string(i) + ".0<1>:f;");
      p::format_line(p::GpuPlace{p::GpuPlaceId{i}, p::GpuModuleId{1}, kernels_[i - 1], 16 * i, instruction, {}}, out_);
    }
    for (const char* reason : {"active", "control", "pipestall", "send"}) {
      reasons_.push_back(string(reason));
    }
    p::format_line(p::Sampling{p::SamplingId{1}, 4096, string("cycles")}, out_);
  }

  p::Work work(uint32_t stack) const {
    p::Work r;
    r.id = p::WorkId{1 + stack};
    r.process = p::ProcessId{1};
    r.tid = 4243;
    r.thread = thread_;
    r.ustack = p::StackId{1 + stack};
    r.device = p::DeviceId{1};
    r.stream = 7;
    r.name = kernels_[stack % kKernels];
    return r;
  }

  void gpu(uint64_t i) {
    p::Gpu r;
    const uint32_t stack = random_.below(stacks_);
    r.slice = i / 100000;
    r.work = p::WorkId{1 + stack};
    r.count = 1 + random_.below(50);
    r.min_ns = 1000 + random_.below(1000);
    r.max_ns = r.min_ns + 500;
    r.sum_ns = r.count * (r.min_ns + random_.below(500));
    r.sum_squares_ns2 = p::Uint128{r.sum_ns} * r.min_ns;
    r.queue_ns = random_.below(100000);
    count_ += r.count;
    sum_ns_ += r.sum_ns;
    p::format_line(r, out_);
  }

  void stall(uint64_t i) {
    p::EuStall r;
    const uint32_t stack = random_.below(stacks_);
    r.slice = i / 100000;
    r.work = p::WorkId{1 + stack};
    r.place = p::GpuPlaceId{1 + stack % kKernels};
    r.reason = reasons_[random_.below(static_cast<uint32_t>(reasons_.size()))];
    r.sampling = p::SamplingId{1};
    r.count = 1 + random_.below(50);
    samples_ += r.count;
    p::format_line(r, out_);
  }

  bool flush() {
    size_t done = 0;
    while (done < out_.size()) {
      const ssize_t n = ::write(STDOUT_FILENO, out_.data() + done, out_.size() - done);
      if (n <= 0) {
        return false;
      }
      done += static_cast<size_t>(n);
    }
    out_.clear();
    return true;
  }

  uint64_t records_;
  uint32_t stacks_;
  Kind kind_;
  std::string out_;
  Random random_;
  uint32_t strings_ = 0;
  uint64_t count_ = 0;
  uint64_t sum_ns_ = 0;
  uint64_t samples_ = 0;
  p::StringId thread_{};
  std::vector<p::StringId> kernels_;
  std::vector<p::StringId> reasons_;
};

}  // namespace

int main(int argc, char** argv) {
  const uint64_t records = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000000;
  const auto stacks = static_cast<uint32_t>(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 10000);
  const std::string wanted = argc > 3 ? argv[3] : "gpu";
  const Kind kind = wanted == "eustall" ? Kind::stall : Kind::gpu;
  return Generator(records, stacks == 0 ? 1 : stacks, kind).run() ? 0 : 1;
}
