#include "backend/drm/stalls/kernel_counters.h"

#include <string>
#include <vector>

#include "catch.h"

using namespace gpuprof::backend;
using namespace gpuprof::backend::drm;

namespace {

Job done_job(SourceId source, uint64_t stream, uint64_t done_ns) {
  Job made;
  made.source = source;
  made.device = 3;
  made.stream = stream;
  made.done_ns = done_ns;
  return made;
}

std::vector<std::string> told(KernelCounters& tally, SourceId source) {
  std::vector<std::string> lines;
  tally.report(source, [&](const std::string& line) { lines.push_back(line); });
  return lines;
}

}  // namespace

TEST_CASE("kernels are listed per stream by number of jobs, with the time of their exclusive jobs") {
  KernelCounters tally;
  tally.add(done_job(7, 1, 150), 100, "kernel at 0x8000", true);
  tally.add(done_job(7, 2, 150), 100, "kernel at 0x8000", false);
  tally.add(done_job(7, 2, 250), 200, "kernel at 0x8000", true);
  tally.add(done_job(7, 2, 270), 250, "kernel at 0x8000", true);
  tally.add(done_job(8, 1, 150), 100, "kernel at 0x9000", false);
  CHECK(told(tally, 7) ==
        std::vector<std::string>{"drm.kernel0=kernel at 0x8000, device 3, stream 2, jobs 3, alone in 2 for 70 ns",
                                 "drm.kernel1=kernel at 0x8000, device 3, stream 1, jobs 1, alone in 1 for 50 ns"});
  CHECK(told(tally, 7).empty());
  CHECK(told(tally, 8) == std::vector<std::string>{"drm.kernel0=kernel at 0x9000, device 3, stream 1, jobs 1"});
}

TEST_CASE("kernels beyond a limit are only counted") {
  KernelCounters tally;
  for (size_t i = 0; i < KernelCounters::kMaxKernels + 5; ++i) {
    tally.add(done_job(7, 1, 150), 100, "kernel at " + std::to_string(i), false);
  }
  const auto lines = told(tally, 7);
  REQUIRE(lines.size() == KernelCounters::kMaxKernels + 1);
  CHECK(lines.back() == "drm.kernels_not_listed=5");
}
