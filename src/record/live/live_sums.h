// Sums up a recording by kernel and by call path. Its input are the records that are written to the profile.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
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

// Only one thread may call add() and close(). Any thread may call state().
class LiveSums {
 public:
  // `memory` may be null. Above its limit, new work items are ignored, while known ones are still summed up.
  LiveSums(const LiveView& view, std::shared_ptr<MemoryBudget> memory) : view_(view), memory_(std::move(memory)) {}

  void add(const profile::Record& record);

  // Publishes a new state if the view's interval has passed. `swept_ns`: device time is apportioned up to this time.
  void close(uint64_t now_ns, uint64_t swept_ns);

  [[nodiscard]] LiveState state() const;

 private:
  struct Sum {
    uint64_t ns = 0;
    uint64_t before_ns = 0;  // `ns` when the last state was published
    uint64_t count = 0;
  };
  using Key = std::pair<uint32_t, uint32_t>;  // launching function and kernel

  template <typename Row>
  static constexpr bool kIsKept = profile::kIsDefinition<Row> && !std::is_same_v<Row, profile::GpuModule> &&
                                  !std::is_same_v<Row, profile::GpuPlace> && !std::is_same_v<Row, profile::Sampling>;

  bool admits();
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
  bool full_ = false;
  std::vector<std::string> texts_;
  std::unordered_map<std::string, uint32_t> numbers_;
  std::unordered_map<uint32_t, Key> works_;
  std::unordered_map<uint32_t, Sum> kernels_;
  std::map<Key, Sum> paths_;
  std::map<uint32_t, Sum> devices_;
  bool has_shares_ = false;  // device time is known; it is not with --max-overhead
  Sum all_;
  uint64_t made_ns_ = 0;
  uint64_t made_swept_ns_ = 0;
  std::map<uint32_t, std::optional<double>> busy_;

  mutable std::mutex mutex_;
  LiveState state_;
};

}  // namespace gpuprof::record
