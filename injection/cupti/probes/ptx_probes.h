#pragma once

#include <cstddef>
#include <cstdint>

#include "cupti/probes/ptx_text.h"

namespace gpuprof::injection::cupti {

// A kernel. `name` points into the text and has no NUL.
struct PtxEntry {
  const char* name;
  size_t name_bytes;
  uint32_t params;
};

// Lists the kernels of a module. Returns their number (up to `most`), or SIZE_MAX if the text cannot be parsed.
size_t list_entries(const PtxText& ptx, PtxEntry* entries, size_t most);

// Why a kernel has no probed copy.
enum class NotProbed : uint8_t {
  no,                 // it has one, or it was not chosen
  has_maxnreg,        // it limits registers, which the probe could exceed
  has_cluster,        // it needs thread block clusters
  launches_kernels,   // its module can launch kernels
  exits_in_function,  // a device function ends threads, so some threads miss the end of the probe
  too_much_shared,    // its static shared memory leaves too few bytes for the probe
  cannot_parse,
};

// The probed copy of kernel NAME is named NAME__gpuprof. After the parameters of NAME it has a 64-bit device pointer.
// If the pointer is not null, each block writes at `pointer + 32 * linear block index` when its last thread ends:
//   u64 start and u64 end (%globaltimer, ns), u32 SM, u32 low half of the block index, u64 %gridid.
constexpr char kProbedSuffix[] = "__gpuprof";

// Returns the text with probed copies of those kernels for which `chosen` is true. The original kernels stay unchanged.
// `entries` and `count` come from list_entries. `why[i]` says why kernel i was left alone. Returns null text if no
// kernel has a probed copy, or if memory is exhausted.
PtxText add_block_probes(const PtxText& ptx, const PtxEntry* entries, size_t count, const bool* chosen, NotProbed* why);

}  // namespace gpuprof::injection::cupti
