#include "libbpf/objects.h"

#include <bpf/bpf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/log.h"
#include "base/text/hints.h"

namespace gpuprof {
namespace {

int print_libbpf(enum libbpf_print_level level, const char* format, va_list args) {
  if (log::level() >= log::Level::verbose || (level == LIBBPF_WARN && std::getenv("GPUPROF_DEBUG_BPF") != nullptr)) {
    return std::vfprintf(stderr, format, args);
  }
  return 0;
}

// Returns how many stacks can be walked at the same time. This is more than the number of CPUs, because a walk may
// sleep until memory that was paged out is read.
uint32_t slot_count() {
  const int cpus = libbpf_num_possible_cpus();
  return std::bit_ceil(static_cast<uint32_t>(cpus > 8 ? cpus * 2 : 16));
}

}  // namespace

Error bpf_error(const std::string& what, int error, std::string_view hint) {
  const bool rights = error == EPERM || error == EACCES;
  const char* const missing = ::geteuid() == 0 ? hints::kOutsideContainer : hints::kRightsForBpf;
  return {what + ": " + std::strerror(error), rights ? missing : std::string(hint)};
}

void listen_to_libbpf() {
  libbpf_set_print(print_libbpf);
}

Result<BpfObject> open_bpf_object(std::span<const unsigned char> bytes) {
  listen_to_libbpf();
  BpfObject object(bpf_object__open_mem(bytes.data(), bytes.size(), nullptr));
  if (!object) {
    return bpf_error("cannot open the embedded BPF object", errno, hints::kBuildAgain);
  }
  return object;
}

gpuprof_bpf_config make_bpf_config() {
  constexpr ino_t kInitialPidNamespace = 0xEFFFFFFC;  // PROC_PID_INIT_INO of the kernel
  struct stat info {};
  gpuprof_bpf_config config{};
  // The programs must report pids of the recorder's pid namespace. In a container, that is not the initial one.
  if (::stat("/proc/self/ns/pid", &info) == 0 && info.st_ino != kInitialPidNamespace) {
    config.pidns_device = info.st_dev;
    config.pidns_inode = info.st_ino;
  }
  config.slot_mask = slot_count() - 1;
  config.page_shift = static_cast<uint32_t>(std::countr_zero(static_cast<uint64_t>(::sysconf(_SC_PAGESIZE))));
  return config;
}

bool resize_bpf_map(bpf_object* object, const char* name, uint32_t entries) {
  bpf_map* map = bpf_object__find_map_by_name(object, name);
  return map != nullptr && bpf_map__set_max_entries(map, entries) == 0;
}

bool configure_bpf_object(bpf_object* object, const gpuprof_bpf_config& config) {
  bpf_map* rodata = bpf_object__find_map_by_name(object, ".rodata");
  size_t bytes = 0;
  return rodata != nullptr && bpf_map__initial_value(rodata, &bytes) != nullptr && bytes == sizeof(config) &&
         bpf_map__set_initial_value(rodata, &config, sizeof(config)) == 0 &&
         resize_bpf_map(object, "events", kBpfRingBytes) && resize_bpf_map(object, "slots", config.slot_mask + 1);
}

uint64_t sum_of_cpus(int map, uint32_t index) {
  std::vector<uint64_t> per_cpu(static_cast<size_t>(libbpf_num_possible_cpus()));
  uint64_t sum = 0;
  if (bpf_map_lookup_elem(map, &index, per_cpu.data()) == 0) {
    for (const uint64_t count : per_cpu) {
      sum += count;
    }
  }
  return sum;
}

}  // namespace gpuprof
