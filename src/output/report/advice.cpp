#include "output/report/advice.h"

#include <algorithm>
#include <array>

namespace gpuprof::output {
namespace {

// A cause has the first advice whose beginning it has.
constexpr std::array kAdvice = {
    Advice{"on CPU", "make these functions faster, or run them ahead of time in other threads"},
    Advice{"sleeps", "wait for the event itself instead of sleeping, or sleep for a shorter time"},
    Advice{"waits: futex", "shorten what other threads do under this lock, or before they wake this thread"},
    Advice{"waits: poll", "request the data earlier, or find out why its sender is slow"},
    Advice{"waits: socket", "request the data earlier, or find out why its sender is slow"},
    Advice{"waits: read or write", "read ahead in another thread, or make the other end faster"},
    Advice{"waits: child", "start child processes before their results are needed"},
    Advice{"disk", "read files ahead in other threads, or keep them in memory"},
    Advice{"page fault", "touch memory and mapped files before they are needed, or lock them in memory"},
    Advice{"throttled", "raise the CPU limit of the cgroup (cpu.max), or use fewer threads"},
    Advice{"no processor", "use fewer threads, or give the program more processors"},
    Advice{"memory reclaim", "give the program more memory, or let it use less"},
    Advice{"in clBuildProgram", "build once, and keep the binary (clCreateProgramWithBinary)"},
    Advice{"in nvrtc", "compile once, and keep the result"},
    Advice{"in cuLink", "link once, and keep the result"},
    Advice{"in cuModuleLoad", "load modules before the first step"},
    Advice{"in cuLibraryLoad", "load modules before the first step"},
    Advice{"in zeModuleCreate", "build once, and keep the native binary"},
    Advice{"in ", "make fewer such calls, or launch the next work before them"},
    Advice{"not sampled",
           "sample more often (record --cpu=500); waits of a thread before its first launch are not seen"},
};

}  // namespace

const Advice* advice_for(std::string_view cause) {
  const auto* const found =
      std::find_if(kAdvice.begin(), kAdvice.end(), [cause](const Advice& a) { return cause.starts_with(a.cause); });
  return found == kAdvice.end() ? nullptr : found;
}

}  // namespace gpuprof::output
