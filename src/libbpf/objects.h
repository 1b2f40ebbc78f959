// Defines owning types for libbpf's objects, and configures all BPF objects in the same way.
#pragma once

#include <bpf/libbpf.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/bpf_events.h"

namespace gpuprof {

struct BpfObjectClose {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
};
struct BpfLinkDestroy {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
struct BpfRingFree {
  void operator()(ring_buffer* ring) const { ring_buffer__free(ring); }
};
using BpfObject = std::unique_ptr<bpf_object, BpfObjectClose>;
using BpfLink = std::unique_ptr<bpf_link, BpfLinkDestroy>;
using BpfRing = std::unique_ptr<ring_buffer, BpfRingFree>;

// Returns the error of a failed system call. `error` is its errno. The hint is `hint`, or names missing rights if
// that is the cause.
Error bpf_error(const std::string& what, int error, std::string_view hint);

// Makes libbpf print its messages on stderr with -v, and drop them otherwise.
void listen_to_libbpf();

// Opens a BPF object that gpuprof contains, without loading it into the kernel.
Result<BpfObject> open_bpf_object(std::span<const unsigned char> bytes);

// Returns the configuration that all BPF programs need: the recorder's pid namespace, and how many stacks can be
// walked at once.
gpuprof_bpf_config make_bpf_config();

// Sets the configuration, and the sizes of the maps that all BPF objects have. Returns false if the object lacks one
// of these maps.
bool configure_bpf_object(bpf_object* object, const gpuprof_bpf_config& config);

bool resize_bpf_map(bpf_object* object, const char* name, uint32_t entries);

uint64_t sum_of_cpus(int map, uint32_t index);

// Has space for the launch events of half a second, at 500,000 launches/s and 56 bytes per event. Stacks need more.
constexpr uint32_t kBpfRingBytes = 16U << 20;

}  // namespace gpuprof
