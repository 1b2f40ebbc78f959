// Writes a profile of any size to standard output, to measure the commands that read profiles.
//   generate_profile [records] [stacks] [gpu|eustall] [places] [works] [records in a slice]
// `works`: number of WORK records, at least one per stack. `places`: number of sampled code locations (default: 200,
// one per kernel), spread evenly over the kernels. A sample is at a random location of its WORK's kernel.
#include <unistd.h>

#include <algorithm>
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

// This random generator is portable, so the profile is the same on every machine.
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

struct Shape {
  uint32_t stacks = 0;
  uint32_t places = 0;
  uint32_t works = 0;
  uint64_t in_slice = 100'000;
  Kind kind = Kind::gpu;
};

class Generator {
 public:
  Generator(uint64_t records, const Shape& shape)
      : records_(records),
        stacks_(shape.stacks),
        works_(std::max(shape.works, shape.stacks)),
        in_slice_(shape.in_slice),
        places_of_kernel_(std::max(1U, shape.places / kKernels)),
        kind_(shape.kind) {}

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
    p::format_line(p::Meta{"interval_ns", "1000000000"}, out_);
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
    for (uint32_t i = stacks_; i < works_; ++i) {
      p::format_line(work(i), out_);
    }
  }

  void define_places() {
    p::format_line(p::GpuModule{p::GpuModuleId{1}, string("kernels.cl"), p::StringId{}}, out_);
    for (uint32_t i = 1; i <= kKernels; ++i) {
      const p::StringId instruction = string("mad(8) r" + std::to_string(i) + ".0<1>:f;");
      for (uint32_t k = 0; k < places_of_kernel_; ++k) {
        const p::GpuPlaceId id{1 + (i - 1) * places_of_kernel_ + k};
        const uint64_t offset = 16 * (i + k);
        p::format_line(p::GpuPlace{id, p::GpuModuleId{1}, kernels_[i - 1], offset, instruction, {}}, out_);
      }
    }
    for (const char* reason : {"active", "control", "pipestall", "send"}) {
      reasons_.push_back(string(reason));
    }
    p::format_line(p::Sampling{p::SamplingId{1}, 4096, string("cycles")}, out_);
  }

  p::Work work(uint32_t work) const {
    p::Work r;
    r.id = p::WorkId{1 + work};
    r.process = p::ProcessId{1};
    r.tid = 4243;
    r.thread = thread_;
    r.ustack = p::StackId{1 + work % stacks_};
    r.device = p::DeviceId{1};
    r.stream = 7 + work / stacks_;
    r.name = kernels_[work % kKernels];
    return r;
  }

  void gpu(uint64_t i) {
    p::Gpu r;
    r.slice = i / in_slice_;
    r.work = p::WorkId{1 + random_.below(works_)};
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
    const uint32_t work = random_.below(works_);
    const uint32_t place = places_of_kernel_ == 1 ? 0 : random_.below(places_of_kernel_);
    r.slice = i / in_slice_;
    r.work = p::WorkId{1 + work};
    r.place = p::GpuPlaceId{1 + work % kKernels * places_of_kernel_ + place};
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
  uint32_t works_;
  uint64_t in_slice_;
  uint32_t places_of_kernel_;
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
  const auto argument = [&](int at, uint64_t otherwise) {
    return argc > at ? std::strtoull(argv[at], nullptr, 10) : otherwise;
  };
  const uint64_t records = argument(1, 1000000);
  Shape shape;
  shape.stacks = std::max(1U, static_cast<uint32_t>(argument(2, 10000)));
  shape.kind = argc > 3 && std::string(argv[3]) == "eustall" ? Kind::stall : Kind::gpu;
  shape.places = static_cast<uint32_t>(argument(4, kKernels));
  shape.works = static_cast<uint32_t>(argument(5, 0));
  shape.in_slice = std::max<uint64_t>(1, argument(6, shape.in_slice));
  return Generator(records, shape).run() ? 0 : 1;
}
