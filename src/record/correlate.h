// Joins GPU work with the stacks of its launches, by (source, correlation id) and nothing else, and aggregates it.
#pragma once

#include <cstdint>
#include <map>
#include <memory_resource>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "backend/event_sink.h"
#include "record/batch.h"
#include "record/process_table.h"
#include "record/stack_engine.h"
#include "wire/wire.h"

namespace gpuprof::record {

struct CorrelateOptions {
  uint64_t start_ns = 0;  // of the session; slices count from here
  uint64_t interval_ns = 1'000'000'000;
  std::vector<std::string> counted_functions;  // names behind on_counted_launch's index
  uint32_t attach_pid = 0;                     // the process of record -p, which has no source
};

struct Totals {
  uint64_t launches = 0;
  uint64_t gpu_records = 0;
  uint64_t gpu_ns = 0;
  uint64_t with_stack = 0;
  std::map<std::string, uint64_t> lost;  // by reason
  uint64_t unmatched = 0;                // launches for which no GPU record came

  [[nodiscard]] uint64_t lost_in_all() const;
};

class Correlator final : public backend::EventSink, public StackSink {
 public:
  explicit Correlator(CorrelateOptions options);

  // EventSink
  void on_source(backend::SourceId source, uint32_t pid, std::string_view backend) override;
  void on_name(backend::SourceId source, uint32_t id, std::string_view text) override;
  void on_device(backend::SourceId source, uint32_t device, uint32_t name_id) override;
  void on_gpu_op(const backend::GpuOp& op) override;
  void on_launch(backend::SourceId source, uint64_t correlation, uint32_t tid, std::string_view thread) override;
  void on_meta(backend::SourceId source, std::string_view text) override;
  void on_counters(backend::SourceId source, uint64_t launches, const uint64_t (&lost)[16]) override;
  void on_source_end(backend::SourceId source) override;

  // StackSink
  void on_stack(uint64_t stack, uint32_t pid, std::span<const uint64_t> addresses, bool truncated) override;
  void on_thread(uint32_t pid, uint32_t tid, std::string_view name) override;
  void on_launch_stack(uint32_t source, uint64_t correlation, uint64_t stack, uint32_t pid, uint32_t tid) override;
  void on_counted_launch(uint32_t function, uint64_t stack, uint32_t pid, uint32_t tid) override;

  // Tries again what waits for a launch or a name. `last`: accept that it will not come.
  void settle(bool last = false);

  // Stacks of processes that have ended, which the engine may forget as well. Each once.
  std::vector<uint64_t> take_ended_stacks() { return std::exchange(ended_stacks_, {}); }

  void add_loss(profile::ProcessId process, const char* reason, uint64_t count);
  void add_meta(std::string key, std::string value) { batch_.meta.emplace_back(std::move(key), std::move(value)); }

  // Everything since the last call.
  Batch take_batch();
  [[nodiscard]] const Totals& totals() const { return totals_; }
  [[nodiscard]] size_t rows_waiting() const { return rows_.size(); }

 private:
  struct LaunchKey {
    uint32_t source;
    uint64_t correlation;
    bool operator==(const LaunchKey&) const = default;
  };
  struct LaunchKeyHash {
    size_t operator()(const LaunchKey& key) const {
      return (key.correlation * 0x9e3779b97f4a7c15u) ^ (uint64_t{key.source} << 32);
    }
  };
  struct Launch {
    uint64_t stack = 0;
    uint64_t seen_ns = 0;
    NameIndex thread = 0;
    bool matched = false;
  };
  struct Source {
    std::shared_ptr<const ProcessImage> process;
    std::shared_ptr<const symbolize::ProcessMaps> maps;  // as of its first connection
    uint32_t pid = 0;
    std::string backend;
    std::unordered_map<uint32_t, NameIndex> names;
    std::unordered_map<uint32_t, profile::DeviceId> devices;
    uint64_t launches = 0;
    uint64_t lost[GPUPROF_LOSS_KINDS] = {};
  };
  struct RawStack {
    std::vector<uint64_t> addresses;
    std::shared_ptr<const ProcessImage> process;         // whose it was when it came, and ...
    std::shared_ptr<const symbolize::ProcessMaps> maps;  // ... what was mapped then
    bool truncated = false;
    bool maps_current = false;
  };
  struct Waiting {
    backend::GpuOp op;
    unsigned turns = 0;
  };
  struct RowKeyHash {
    size_t operator()(const RowKey& key) const;
  };

  NameIndex name(std::string_view text);
  profile::DeviceId device(Source& source, uint32_t device);
  bool try_gpu_op(const backend::GpuOp& op, bool last);
  bool need_stack(const std::shared_ptr<const ProcessImage>& process,
                  const std::shared_ptr<const symbolize::ProcessMaps>& maps, uint64_t stack);
  bool is_recorded(uint32_t pid) const;
  void settle_source(backend::SourceId source);
  void forget_process(uint32_t pid);
  void expire_launches();
  RowValue& row(const RowKey& key) { return rows_[key]; }

  CorrelateOptions options_;
  ProcessTable processes_;
  std::pmr::unsynchronized_pool_resource pool_;  // launches come and go by the hundred thousand a second
  std::pmr::unordered_map<LaunchKey, Launch, LaunchKeyHash> launches_{&pool_};
  std::unordered_map<backend::SourceId, Source> sources_;
  std::unordered_map<uint64_t, NameIndex> threads_;  // pid << 32 | tid
  std::unordered_map<std::string, NameIndex> names_;
  std::unordered_map<std::string, profile::DeviceId> devices_;
  std::unordered_map<uint64_t, RawStack> stacks_;
  std::unordered_set<uint64_t> stacks_sent_;  // hash of (process image, stack)
  std::unordered_set<uint32_t> processes_sent_;
  std::vector<uint64_t> ended_stacks_;
  std::vector<Waiting> waiting_;
  uint64_t next_expiry_ns_ = 0;
  std::unordered_map<RowKey, RowValue, RowKeyHash> rows_;
  Batch batch_;
  Totals totals_;
  bool have_launch_source_ = false;  // some launch was seen: GPU work without one is worth a wait
};

}  // namespace gpuprof::record
