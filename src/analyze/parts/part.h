// One profile that is a part of another: its rows with the definitions that they need, what is said of the whole, and
// sums of its own.
#pragma once

#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "analyze/merge/merge.h"
#include "analyze/parts/part_ids.h"
#include "analyze/parts/whole.h"

namespace gpuprof::analyze {

// What a part has of the META lines of the whole.
struct PartMeta {
  bool sums = true;  // those that merge() sums
  size_t most = std::numeric_limits<size_t>::max();
  bool parts_nested = false;  // "part.x" of a whole that was a part is "part.part.x"
};

class Part {
 public:
  // `whole` must outlive it.
  Part(const Whole& whole, RecordSink sink, PartMeta options) : whole_(whole), sink_(std::move(sink)), meta_(options) {}
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  ~Part() = default;

  // `own` comes behind the META lines that are known so far: a reader needs those in front of the first row.
  Status begin(const MetaLines& own);
  Status add(profile::Record row);  // of the whole
  Status add_definitions(std::span<const profile::ProcessId> processes, std::span<const profile::DeviceId> devices);

  // It has no rows but those about processes (LOSS, COVERAGE).
  [[nodiscard]] bool is_empty() const { return is_empty_; }

  // How many launches END says, as far as the part tells.
  [[nodiscard]] uint64_t launches() const { return has_launches_ ? end_.launches : pieces_; }

  struct Last {
    MetaLines meta;
    std::span<const profile::Window> windows;
    std::set<uint32_t> pids;  // of which `process.<pid>.` lines are due, besides those of the part's processes
    uint64_t launches = 0;
  };
  // END is written where the whole has one.
  Status finish(const Last& last);

  [[nodiscard]] const PartIds& ids() const { return ids_; }

 private:
  Status put_meta();
  Status put_lines(const MetaLines& lines);
  [[nodiscard]] bool count(const profile::Record& row);  // false: a sum exceeds 64 bits

  const Whole& whole_;
  RecordSink sink_;
  PartMeta meta_;
  PartIds ids_{whole_, sink_};
  size_t meta_written_ = 0;
  profile::End end_;
  uint64_t pieces_ = 0;  // of GPU work, and counted launches
  bool has_launches_ = false;
  bool is_empty_ = true;
};

}  // namespace gpuprof::analyze
