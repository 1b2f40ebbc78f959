#include "cupti/probes/probe_counts.h"

#include <cstdio>
#include <iterator>

#include "base/atomics.h"
#include "cupti/probes/block_memory.h"
#include "ipc/emit.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr const char* kModules[] = {
    "probes.modules",
    "probes.modules_unreadable",
    "probes.modules_machine_code_only",
    "probes.modules_of_other_architecture",
    "probes.modules_with_too_new_ptx",
    "probes.modules_with_compiler_options",
    "probes.modules_of_relocatable_code",
};
constexpr const char* kKernels[] = {
    "probes.kernels",
    "probes.kernels_with_maxnreg",
    "probes.kernels_with_clusters",
    "probes.kernels_that_launch",
    "probes.kernels_with_exit_in_function",
    "probes.kernels_with_much_shared_memory",
    "probes.kernels_not_parsed",
};
constexpr const char* kLaunches[] = {
    "probes.launches",           "probes.launches_in_captures", "probes.launches_cooperative_or_clusters",
    "probes.launches_no_memory", "probes.launches_not_probed",
};

struct Counts {
  uint64_t modules[std::size(kModules)];
  uint64_t kernels[std::size(kKernels)];
  uint64_t launches[std::size(kLaunches)];
  uint64_t undecided;
  uint64_t compile_ns;
  uint64_t compiler_errors;
  uint32_t compiler_error;
  uint64_t other_occupancy;
};
constinit Counts counts = {};

template <typename What>
void add(uint64_t* array, What what) {
  add_relaxed(&array[static_cast<size_t>(what)], uint64_t{1});
}

void report(const char* const* names, const uint64_t* values, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (values[i] != 0 || i == 0) {
      meta(names[i], load_relaxed(&values[i]));
    }
  }
}

// A remark that counts things by reasons.
class Note {
 public:
  explicit Note(const char* begin) { append("%s", begin); }

  void add(uint64_t number, const char* reason) {
    if (number != 0) {
      append("%s%llu %s", has_reason_ ? ", " : "", static_cast<unsigned long long>(number), reason);
      has_reason_ = true;
    }
  }

  // Sends the remark if there is a reason, with `end`.
  void send(const char* key, const char* end = "") {
    if (has_reason_) {
      append("%s", end);
      meta(key, text_);
    }
  }

 private:
  template <typename... Values>
  void append(const char* format, Values... values) {
    if (length_ < sizeof(text_)) {
      length_ += static_cast<size_t>(snprintf(text_ + length_, sizeof(text_) - length_, format, values...));
    }
  }

  char text_[700] = {};
  size_t length_ = 0;
  bool has_reason_ = false;
};

uint64_t of(NoPtx why) {
  return load_relaxed(&counts.modules[static_cast<size_t>(why)]);
}

uint64_t of(NotProbed why) {
  return load_relaxed(&counts.kernels[static_cast<size_t>(why)]);
}

uint64_t of(LaunchProbe what) {
  return load_relaxed(&counts.launches[static_cast<size_t>(what)]);
}

// Says what was not probed, and why.
void report_notes() {
  Note modules("modules of GPU code that are not probed: ");
  modules.add(of(NoPtx::machine_code_only),
              "have only machine code (compile with -gencode arch=compute_90,code=[compute_90,sm_90], for sm_90)");
  modules.add(of(NoPtx::other_architecture), "have no PTX of the architecture that runs");
  modules.add(of(NoPtx::too_new), "have PTX that is too new for the driver");
  modules.add(of(NoPtx::has_options), "were compiled with options that change the code");
  modules.add(of(NoPtx::linked), "are relocatable device code");
  modules.add(of(NoPtx::unreadable), "cannot be read");
  modules.add(load_relaxed(&counts.compiler_errors), "were refused by the driver's compiler");
  modules.send("note.probe_modules");
  Note kernels("kernels that are not probed: ");
  kernels.add(of(NotProbed::has_maxnreg), "limit their registers");
  kernels.add(of(NotProbed::has_cluster), "need clusters");
  kernels.add(of(NotProbed::launches_kernels), "are in a module that launches kernels");
  kernels.add(of(NotProbed::exits_in_function), "are in a module whose functions end threads");
  kernels.add(of(NotProbed::too_much_shared), "have too much shared memory");
  kernels.add(of(NotProbed::cannot_parse), "have PTX that gpuprof does not know");
  kernels.add(load_relaxed(&counts.undecided), "come after too many other names to compare them with --kernel");
  kernels.send("note.probe_kernels");
  Note launches("launches of probed kernels without a probe: ");
  launches.add(of(LaunchProbe::in_capture), "were captured into a graph");
  launches.add(of(LaunchProbe::special), "are cooperative, in clusters or have packed arguments");
  launches.add(of(LaunchProbe::no_memory), "found no free memory for their blocks");
  char probed[40];
  snprintf(probed, sizeof(probed), "; %llu had one", static_cast<unsigned long long>(of(LaunchProbe::probed)));
  launches.send("note.probe_launches", probed);
}

}  // namespace

void reset_probe_counts() {
  counts = {};
}

void count_module(NoPtx why) {
  add(counts.modules, why);
}

void count_kernels(NotProbed why, uint64_t kernels) {
  add_relaxed(&counts.kernels[static_cast<size_t>(why)], kernels);
}

void count_undecided(uint64_t kernels) {
  add_relaxed(&counts.undecided, kernels);
}

void count_launch(LaunchProbe what) {
  add(counts.launches, what);
}

void count_compile_time(uint64_t ns) {
  add_relaxed(&counts.compile_ns, ns);
}

void note_compiler_error(uint32_t result) {
  add_relaxed(&counts.compiler_errors, uint64_t{1});
  store_relaxed(&counts.compiler_error, result);
}

void note_occupancy(const char* kernel, int original, int probed) {
  if (add_relaxed(&counts.other_occupancy, uint64_t{1}) == 0) {
    char text[400];
    snprintf(text, sizeof(text), "the probe of %.200s changes how many of its blocks fit on an SM from %d to %d",
             kernel, original, probed);
    meta("note.probe_occupancy", text);
  }
}

void report_probe_counts() {
  report(kModules, counts.modules, std::size(kModules));
  report(kKernels, counts.kernels, std::size(kKernels));
  report(kLaunches, counts.launches, std::size(kLaunches));
  report_notes();
  const BlockCounts blocks = block_counts();
  meta("probes.launches_read", blocks.launches);
  meta("probes.launches_unread", blocks.unread);
  meta("probes.gpu_bytes", blocks.gpu_bytes);
  meta("probes.compile_ns", load_relaxed(&counts.compile_ns));
}

}  // namespace gpuprof::injection::cupti
