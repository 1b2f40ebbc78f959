// libbpf's objects with owners, and what all who load BPF programs of ours do alike.
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

// What the kernel refuses, with a hint by `error` (an errno): that of rights, or else `hint`.
Error bpf_error(const std::string& what, int error, std::string_view hint);

// From here on libbpf says what it has to say in our log only.
void listen_to_libbpf();

// An object that is embedded in gpuprof. Not loaded yet.
Result<BpfObject> open_bpf_object(std::span<const unsigned char> bytes);

// What the programs are told that all of them need: the recorder's pid namespace, and how many walks there can be at
// once.
gpuprof_bpf_config make_bpf_config();

// Writes the configuration, and the sizes of the maps that all objects have. False: the object is not one of ours.
bool configure_bpf_object(bpf_object* object, const gpuprof_bpf_config& config);

bool resize_bpf_map(bpf_object* object, const char* name, uint32_t entries);

// Sum over the CPUs of a number in a per-CPU array.
uint64_t sum_of_cpus(int map, uint32_t index);

// A launch event is 56 bytes with its header: half a million launches a second for half a second. New stacks take more.
constexpr uint32_t kBpfRingBytes = 16U << 20;

}  // namespace gpuprof
