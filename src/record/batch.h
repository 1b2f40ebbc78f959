// What the drain thread hands to the writer thread: everything that has become known since the last batch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "profile/records.h"
#include "record/process_table.h"

namespace gpuprof::record {

using NameIndex = uint32_t;  // of a text in this session; 0 is none

struct NewName {
  NameIndex index = 0;
  std::string text;
};

struct NewDevice {
  profile::DeviceId id{};
  std::string backend;
  uint32_t index = 0;
  std::string name;
};

struct NewStack {
  std::shared_ptr<const ProcessImage> process;
  std::shared_ptr<const symbolize::ProcessMaps> maps;
  uint64_t stack = 0;               // the engine's id
  std::vector<uint64_t> addresses;  // innermost first
  bool truncated = false;
  bool maps_current = false;  // the mappings were read when the stack came; else some may be missing
};

// One GPU or LAUNCH line to be.
struct RowKey {
  uint64_t slice = 0;
  uint64_t stack = 0;  // the engine's id; 0: none
  uint64_t stream = 0;
  profile::ProcessId process{};
  profile::DeviceId device{};
  NameIndex thread = 0;
  NameIndex name = 0;  // kernel, as the vendor gives it, or the counted function
  uint8_t op = 0;      // enum gpuprof_op
  bool counted_only = false;
  bool operator==(const RowKey&) const = default;
};

struct RowValue {
  uint64_t count = 0;
  uint64_t sum_ns = 0;
  uint64_t min_ns = UINT64_MAX;
  uint64_t max_ns = 0;
  profile::Uint128 sum_squares_ns2 = 0;
  uint64_t queue_ns = 0;
  uint64_t bytes = 0;
};

struct NewLoss {
  profile::ProcessId process{};
  const char* reason = "";  // a word of profile/FORMAT.md
  uint64_t count = 0;
};

struct Batch {
  std::vector<std::shared_ptr<const ProcessImage>> processes;
  std::vector<NewName> names;
  std::vector<NewDevice> devices;
  std::vector<NewStack> stacks;
  std::vector<std::pair<RowKey, RowValue>> rows;
  std::vector<NewLoss> losses;
  std::vector<std::pair<std::string, std::string>> meta;
  std::optional<profile::End> end;
};

}  // namespace gpuprof::record
