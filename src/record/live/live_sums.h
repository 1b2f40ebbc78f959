// The sums of a recording by kernel and by call path, from the records that go into its profile.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profile/record_fields.h"
#include "profile/records.h"
#include "profile/tables.h"
#include "record/live/live_view.h"
#include "record/memory_budget.h"

namespace gpuprof::record {

// Records are added by one thread, which closes a state now and then; any thread may take the last one.
class LiveSums {
 public:
  // What is kept here is detail of the session's `memory`: once that is limited, nothing new is, and what is known is
  // summed on. `memory` may be null.
  LiveSums(const LiveView& view, std::shared_ptr<MemoryBudget> memory) : view_(view), memory_(std::move(memory)) {}

  void add(const profile::Record& record);

  // After each batch. `swept_ns`: up to when devices' time has been shared out.
  void close(uint64_t now_ns, uint64_t swept_ns);

  [[nodiscard]] LiveState state() const;

 private:
  struct Sum {
    uint64_t ns = 0;
    uint64_t before_ns = 0;  // when the last state was made
    uint64_t count = 0;
  };
  using Key = std::pair<uint32_t, uint32_t>;  // of a path: its place and its kernel, by their numbers

  // The definitions that kernels and call paths are made of.
  template <typename Row>
  static constexpr bool kIsKept = profile::kIsDefinition<Row> && !std::is_same_v<Row, profile::GpuModule> &&
                                  !std::is_same_v<Row, profile::GpuPlace> && !std::is_same_v<Row, profile::Sampling>;

  bool has_room();
  void see(const profile::Work& work);
  void see(const profile::Gpu& row) { add_to(row.work, row.count, row.sum_ns); }
  void see(const profile::Launch& row) { add_to(row.work, row.count, 0); }
  void see(const profile::Share& row);
  template <typename Other>
  void see(const Other& /*nothing to sum*/) {}

  void add_to(profile::WorkId work, uint64_t count, uint64_t ns);
  uint32_t number_of(const std::string& text);
  void add_heaviest(LiveState& state);

  const LiveView& view_;
  std::shared_ptr<MemoryBudget> memory_;
  profile::Tables tables_;
  bool full_ = false;  // targets have made up more than there is room for: what is known stays
  std::vector<std::string> texts_;
  std::unordered_map<std::string, uint32_t> numbers_;
  std::unordered_map<uint32_t, Key> works_;  // by WorkId
  std::unordered_map<uint32_t, Sum> kernels_;
  std::map<Key, Sum> paths_;
  std::map<uint32_t, Sum> devices_;  // busy time
  Sum all_;
  uint64_t made_ns_ = 0;
  uint64_t made_swept_ns_ = 0;
  std::map<uint32_t, double> busy_;

  mutable std::mutex mutex_;
  LiveState state_;
};

}  // namespace gpuprof::record
