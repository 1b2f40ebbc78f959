// Launches at a steady rate from several call sites, for soak tests. A launch is cheap enough for 100 000 per second.
#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "mock_app.h"

namespace gpuprof::mock_app {
namespace {

constexpr size_t kMaxStacks = 16;
constexpr uint64_t kSecond = 1000000000;
constexpr uint64_t kTickNs = 500000;  // the thread makes all launches of one interval together, then sleeps
constexpr uint64_t kLoopNs = 1000;

uint64_t now_ns() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kSecond + static_cast<uint64_t>(now.tv_nsec);
}

template <size_t kPlace>
__attribute__((noinline)) void launch_from(CUfunction function, CUstream stream) {
  CHECK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr));
  __asm__ volatile("" ::"i"(kPlace));  // keeps the compiler from merging two call sites
}

template <size_t... kPlaces>
constexpr auto make_places(std::index_sequence<kPlaces...> /*unused*/) {
  return std::array<void (*)(CUfunction, CUstream), sizeof...(kPlaces)>{launch_from<kPlaces>...};
}
constexpr auto kPlaces = make_places(std::make_index_sequence<kMaxStacks>());

}  // namespace

void steady_loop(Worker& worker) {
  const Options& options = worker.options;
  const size_t stacks = std::min<size_t>(static_cast<size_t>(std::max(options.stacks, 1)), kMaxStacks);
  const auto rate = static_cast<uint64_t>(std::max(options.rate / options.threads, 1));
  const uint64_t all = rate * static_cast<uint64_t>(options.seconds);
  const std::array<std::string, 4> names = {"loop_a", "loop_b", "loop_c", "loop_d"};
  std::array<CUfunction, 4> functions = {};
  CUmodule module = nullptr;
  std::string image;
  for (const std::string& name : names) {
    image += name + " " + std::to_string(kLoopNs) + "\n";
  }
  CHECK(cuModuleLoadData(&module, image.c_str()));
  for (size_t i = 0; i < names.size(); ++i) {
    CHECK(cuModuleGetFunction(&functions[i], module, names[i].c_str()));
  }
  std::array<uint64_t, 4> counts = {};
  const uint64_t begin = now_ns();
  for (uint64_t done = 0; done < all;) {
    const uint64_t due = std::min(all, (now_ns() - begin) * rate / kSecond + 1);
    for (; done < due; ++done) {
      kPlaces[done % stacks](functions[done % names.size()], worker.stream);
      ++counts[done % names.size()];
    }
    const uint64_t wake = begin + std::max(kTickNs + (now_ns() - begin), done * kSecond / rate);
    const timespec until = {static_cast<time_t>(wake / kSecond), static_cast<long>(wake % kSecond)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    worker.totals.ops[names[i]].count += counts[i];
    worker.totals.ops[names[i]].ns += counts[i] * kLoopNs;
  }
  worker.totals.launches += all;
}

}  // namespace gpuprof::mock_app
