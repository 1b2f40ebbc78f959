// Reads a profile to its end and adds up what belongs together: one row for each distinct (process, stacks, GPU
// work). Memory grows with the rows, not with the records. Flame trees and reports are both made from the rows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyze/flame_tree.h"
#include "base/result.h"
#include "profile/reader.h"
#include "profile/tables.h"

namespace gpuprof::analyze {

// What the profile's records measure, which decides the default weight.
enum class ProfileKind : uint8_t { empty, durations, launch_counts, stall_samples, mixed };

// About the profile as a whole.
struct ProfileInfo {
  ProfileKind kind = ProfileKind::empty;
  std::map<std::string, uint64_t> losses;  // LOSS reasons, summed
  std::multimap<std::string, std::string> meta;
  std::vector<std::string> warnings;  // contradictions that do not make the profile unreadable
  bool complete = false;              // nothing is missing at the end; the published form has no END to tell
  bool cut_short = false;
  uint64_t launches = 0;  // from END, or counted
  uint64_t gpu_records = 0;
  uint64_t with_stack = 0;
  uint64_t skipped_bad = 0;
  uint64_t skipped_unknown = 0;
  uint64_t records = 0;  // GPU, LAUNCH and EUSTALL lines
};

enum class RowKind : uint8_t { gpu, launch, stall };

// The ids that tell one row from another; those that a kind of row does not have are 0.
struct RowKey {
  RowKind kind = RowKind::gpu;
  profile::Op op = profile::Op::kernel;
  uint32_t process = 0;  // ProcessId; of a stall the StringId of its process's name
  uint32_t pid = 0;      // of a stall
  profile::StackId ustack{};
  profile::StackId kstack{};
  uint32_t name = 0;  // StringId of a kernel or API function; of a stall its GPU symbol
  uint32_t gpu_file = 0;
  uint32_t insn_text = 0;
  uint32_t stall_type = 0;
  uint64_t offset = 0;
  bool operator==(const RowKey&) const = default;
};

// Aligned so that key, ns and count share one cache line: finding a row is what reading a large profile waits for.
struct alignas(64) Row {
  RowKey key;
  Weight weight;
  uint64_t min_ns = 0;  // of one GPU record; 0 and 0 for other rows
  uint64_t max_ns = 0;
};

struct Aggregate {
  ProfileInfo info;
  profile::Tables tables;
  std::vector<Row> rows;  // in the order of their first appearance
  Weight total;           // of all rows; no sum of rows overflows, since this one does not
};

Result<Aggregate> aggregate(profile::Reader& reader);

}  // namespace gpuprof::analyze
