// libbpf objects with owners, and the opening of our embedded programs.
#pragma once

#include <bpf/libbpf.h>

#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "record/bpf/stack_engine.h"
#include "wire/bpf_events.h"

namespace gpuprof::record {

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

// A launch event is 56 bytes with its header: half a million launches a second for half a second. New stacks take more.
constexpr uint32_t kBpfRingBytes = 16U << 20;

// The programs of a walk, loaded. `sleepable`: memory that is paged out may be waited for (Linux 6.0).
Result<BpfObject> load_bpf_object(BpfWalk walk, bool sleepable);

// What the kernel refuses, with a hint by `error` (an errno).
Error bpf_error(const std::string& what, int error);

}  // namespace gpuprof::record
