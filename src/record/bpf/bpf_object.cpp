#include "record/bpf/bpf_object.h"

#include <bpf/bpf.h>
#include <sys/stat.h>

#include <bit>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/hints.h"
#include "base/log.h"

#ifdef GPUPROF_HAVE_BPF
extern "C" const unsigned char gpuprof_embedded_bpf_begin[];
extern "C" const unsigned char gpuprof_embedded_bpf_end[];
extern "C" const unsigned char gpuprof_embedded_bpf_stacks_begin[];
extern "C" const unsigned char gpuprof_embedded_bpf_stacks_end[];
#endif

namespace gpuprof::record {

Error bpf_error(const std::string& what, int error) {
  Error result{what + ": " + std::strerror(error), ""};
  if (error == EPERM || error == EACCES) {
    result.hint = hints::kRightsForBpf;
  } else {
    result.hint = "CPU stacks by BPF need Linux 5.17 or later; gpuprof doctor shows what this kernel offers";
  }
  return result;
}

#ifdef GPUPROF_HAVE_BPF
namespace {

constexpr uint32_t kCachedRules = 1U << 18;  // of 16 bytes each, for all processes together

int print_libbpf(enum libbpf_print_level level, const char* format, va_list args) {
  if (log::level() >= log::Level::verbose || (level == LIBBPF_WARN && std::getenv("GPUPROF_DEBUG_BPF") != nullptr)) {
    return std::vfprintf(stderr, format, args);
  }
  return 0;
}

// Walks last microseconds, but may sleep on memory that is paged out.
uint32_t slot_count() {
  const int cpus = libbpf_num_possible_cpus();
  return std::bit_ceil(static_cast<uint32_t>(cpus > 8 ? cpus * 2 : 16));
}

gpuprof_bpf_config make_config(bool sleepable) {
  constexpr ino_t kInitialPidNamespace = 0xEFFFFFFC;  // PROC_PID_INIT_INO of the kernel
  struct stat info {};
  gpuprof_bpf_config config{};
  // Inside a container with its own pid namespace, the programs must report that namespace's pids.
  if (::stat("/proc/self/ns/pid", &info) == 0 && info.st_ino != kInitialPidNamespace) {
    config.pidns_device = info.st_dev;
    config.pidns_inode = info.st_ino;
  }
  config.sleepable = sleepable ? 1 : 0;
  config.max_words = GPUPROF_STACK_MAX_WORDS;
  config.max_turns = 3 * GPUPROF_STACK_MAX_WORDS;  // native frames, Python frames, and what lies between runs of them
  config.slot_mask = slot_count() - 1;
  config.cache_mask = kCachedRules - 1;
  return config;
}

bool resize(bpf_object* object, const char* name, uint32_t entries) {
  bpf_map* map = bpf_object__find_map_by_name(object, name);
  return map != nullptr && bpf_map__set_max_entries(map, entries) == 0;
}

bool configure(bpf_object* object, BpfWalk walk, bool sleepable) {
  const gpuprof_bpf_config config = make_config(sleepable);
  bpf_map* rodata = bpf_object__find_map_by_name(object, ".rodata");
  size_t bytes = 0;
  if (rodata == nullptr || bpf_map__initial_value(rodata, &bytes) == nullptr || bytes != sizeof(config) ||
      bpf_map__set_initial_value(rodata, &config, sizeof(config)) != 0 || !resize(object, "events", kBpfRingBytes) ||
      !resize(object, "slots", config.slot_mask + 1)) {
    return false;
  }
  if (walk == BpfWalk::frame_pointers) {
    return true;
  }
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object) {
    if (sleepable && bpf_program__set_flags(program, bpf_program__flags(program) | BPF_F_SLEEPABLE) != 0) {
      return false;
    }
  }
  return resize(object, "rule_cache", config.cache_mask + 1);
}

std::span<const unsigned char> embedded(BpfWalk walk) {
  if (walk == BpfWalk::frame_pointers) {
    return {gpuprof_embedded_bpf_begin, gpuprof_embedded_bpf_end};
  }
  return {gpuprof_embedded_bpf_stacks_begin, gpuprof_embedded_bpf_stacks_end};
}

}  // namespace

Result<BpfObject> load_bpf_object(BpfWalk walk, bool sleepable) {
  libbpf_set_print(print_libbpf);
  const std::span<const unsigned char> bytes = embedded(walk);
  BpfObject object(bpf_object__open_mem(bytes.data(), bytes.size(), nullptr));
  if (!object) {
    return bpf_error("cannot open the embedded BPF object", errno);
  }
  if (!configure(object.get(), walk, sleepable)) {
    return Error{"the embedded BPF object is not as expected", hints::kBuildAgain};
  }
  if (const int error = bpf_object__load(object.get()); error != 0) {
    return bpf_error("cannot load BPF programs", -error);
  }
  return object;
}
#else
Result<BpfObject> load_bpf_object(BpfWalk /*walk*/, bool /*sleepable*/) {
  return Error{"this gpuprof was built without eBPF", "install clang and build again"};
}
#endif

}  // namespace gpuprof::record
