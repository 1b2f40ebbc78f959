// Joins GPU work with the stacks of its launches, by (source, correlation id) and nothing else, and aggregates it.
// correlate.cpp has sources and their definitions, correlate_work.cpp GPU and host work, correlate_launches.cpp
// launches, correlate_stacks.cpp their stacks.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "backend/event_sink.h"
#include "base/clock.h"
#include "record/batch.h"
#include "record/bpf/stack_engine.h"
#include "record/join/coverage.h"
#include "record/join/graph_launches.h"
#include "record/join/graph_nodes.h"
#include "record/join/histogram.h"
#include "record/join/launch_table.h"
#include "record/join/occupancy.h"
#include "record/join/work_set.h"
#include "record/memory_budget.h"
#include "record/process/code_table.h"
#include "record/process/name_table.h"
#include "record/process/process_table.h"
#include "record/process/ranges.h"
#include "record/process/source_modules.h"
#include "record/process/instruments.h"
#include "wire/wire.h"

namespace gpuprof::record {

struct CorrelateOptions {
  uint64_t start_ns = 0;  // of the session; slices count from here
  uint64_t interval_ns = 1'000'000'000;
  std::vector<std::string> counted_functions;  // names behind on_counted_launch's index
  uint32_t attach_pid = 0;                     // the process of record -p, which may have no source
  bool stacks_wanted = true;                   // work without one is counted as such
  bool stacks_from_sources = false;            // they walk them; else the stack engine does
  bool frame_pointers = false;                 // by which the stack engine walks
  Instruments instruments;
  bool timeline = false;  // keep every event
  bool latency = false;   // histograms of the launches' phases
  uint64_t (*clock)() = monotonic_ns;
  std::shared_ptr<MemoryBudget> memory = std::make_shared<MemoryBudget>();
};

// A process whose Python frames are missing, because its library does not know that interpreter.
struct RefusedPython {
  uint32_t pid = 0;  // of the first one; 0: there was none
  std::string version;
  std::string reason;
  bool others = false;  // there were more such processes
};

struct Totals {
  uint64_t launches = 0;
  uint64_t gpu_records = 0;
  uint64_t gpu_ns = 0;
  uint64_t with_stack = 0;
  uint64_t unsampled_records = 0;        // of launches that got no stack by choice
  uint64_t off_records = 0;              // of launches made while recording was off; in none of the above
  std::map<std::string, uint64_t> lost;  // by reason
  CoverageCounts coverage;               // of the sources that have ended
  RefusedPython refused_python;          // of these, too

  [[nodiscard]] uint64_t lost_in_all() const;
};

// Something about a process that the stack engine is to be told.
struct ProcessNews {
  enum class What : uint8_t { mapped, python, ended };
  What what = What::mapped;
  uint32_t pid = 0;
  std::shared_ptr<const symbolize::ProcessMaps> maps;  // of mapped
  gpuprof_python_layout layout{};                      // of python
};

// EventSink and StackSink each have an on_code() of the same parameters: told apart here.
class EngineSink : public StackSink {
 public:
  void on_code(uint32_t pid, const backend::PythonCode& code) final { on_engine_code(pid, code); }
  virtual void on_engine_code(uint32_t pid, const backend::PythonCode& code) = 0;
};

class SourceSink : public backend::EventSink {
 public:
  void on_code(backend::SourceId source, const backend::PythonCode& code) final { on_source_code(source, code); }
  virtual void on_source_code(backend::SourceId source, const backend::PythonCode& code) = 0;
};

class Correlator final : public SourceSink, public EngineSink {
 public:
  explicit Correlator(CorrelateOptions options);

  // EventSink
  void on_process(uint32_t pid, const std::shared_ptr<ProcessGuard>& guard) override {
    processes_.on_process(pid, guard);
  }
  void on_source(backend::SourceId source, uint32_t pid, std::string_view backend) override;
  void on_name(backend::SourceId source, uint32_t id, std::string_view text) override;
  void on_device(backend::SourceId source, uint32_t device, uint32_t name_id, uint32_t uuid_id) override;
  void on_gpu_op(const backend::GpuOp& op) override;
  void on_launch(backend::SourceId source, const backend::LaunchCall& launch) override;
  void on_host_op(const backend::HostOp& op) override;
  void on_graph_node(backend::SourceId source, const backend::GraphNode& node) override;
  void on_graph_launch(backend::SourceId source, const backend::GraphLaunch& launch) override;
  void on_range(backend::SourceId source, const backend::Range& range) override;
  void on_call(backend::SourceId source, const backend::Call& call) override;
  void on_span(backend::SourceId source, const backend::Span& span) override;
  void on_meta(backend::SourceId source, std::string_view text) override;
  void on_stack(backend::SourceId source, const backend::Stack& stack) override;
  void on_module(backend::SourceId source, const backend::Module& module) override;
  void on_mappings(backend::SourceId source) override;
  void on_source_code(backend::SourceId source, const backend::PythonCode& code) override;
  void on_python(backend::SourceId source, const gpuprof_python_layout& layout) override;
  void on_counters(backend::SourceId source, const backend::Counters& counters) override;
  void on_source_end(backend::SourceId source) override;

  // StackSink
  void on_stack(uint64_t stack, uint32_t pid, std::span<const uint64_t> words, uint32_t flags,
                uint64_t read_ns) override;
  void on_engine_code(uint32_t pid, const backend::PythonCode& code) override;
  void on_thread(uint32_t pid, uint32_t tid, std::string_view name) override;
  void on_loader(uint32_t pid) override;
  void on_launch_stack(const LaunchStack& launch) override;
  void on_counted_launch(uint32_t function, const LaunchStack& launch) override;

  // Recording is on from here to there.
  void open_window(uint64_t at);
  void close_window(uint64_t at);

  // The process goes on before the stack engine is ready for it.
  void on_tables_late(backend::SourceId source);

  // After each turn of the drain: tries again what waits for a launch or a name. `last`: accept that it will not come.
  void settle(bool last = false);

  // The end of the recording: everything is accounted for. The last window must have been closed.
  void finish();

  // Stacks that have been forgotten, as the engine may as well. Each once.
  std::vector<uint64_t> take_ended_stacks() { return std::exchange(ended_stacks_, {}); }

  // For the stack engine, in this order.
  std::vector<ProcessNews> take_news() { return std::exchange(news_, {}); }

  void add_loss(profile::ProcessId process, const char* reason, uint64_t count);
  void add_meta(std::string key, std::string value) { batch_.meta.emplace_back(std::move(key), std::move(value)); }

  // Everything since the last call.
  Batch take_batch();
  [[nodiscard]] const Totals& totals() const { return totals_; }
  // Lines that the next batch will have, roughly.
  [[nodiscard]] size_t rows_waiting() const {
    return rows_.size() + latencies_.size() + batch_.events.size() + batch_.calls.size() + batch_.spans.size() +
           calls_.size();
  }
  // GPU time that came too late to be shared out (see Occupancy), or from a clock that is ahead of ours.
  [[nodiscard]] uint64_t late_ns() const { return occupancy_.late_ns() + ahead_ns_; }
  // Of the stacks of launches, as far as their sources have ended: native frames, and Python frames where there are
  // any.
  [[nodiscard]] const Depths& native_depths() const { return native_depths_; }
  [[nodiscard]] const Depths& python_depths() const { return python_depths_; }

 private:
  // A process image while it lives: what is handed to the writer once for each.
  struct Image {
    std::shared_ptr<const ProcessImage> process;
    std::shared_ptr<const symbolize::ProcessMaps> maps;  // as of its first connection
    WorkSet works;
    std::unordered_set<uint64_t> stacks_sent;
    CodeIds engine_codes;     // by the stack engine's numbers
    uint64_t eval_begin = 0;  // of the Python interpreter
    unsigned sources = 0;
  };
  struct SourceStack {
    uint64_t id = 0;  // in this session
    uint64_t launches = 0;
    StackShape shape;
    bool known = false;  // its words have come
  };
  struct Device {
    uint32_t index = 0;
    uint32_t name_id = 0;
    uint32_t uuid_id = 0;
  };
  struct Source {
    Image* image = nullptr;
    uint32_t pid = 0;
    std::string backend;
    std::unordered_map<uint32_t, NameIndex> names;
    std::unordered_map<uint32_t, profile::DeviceId> devices;
    std::vector<Device> devices_to_be;  // whose names are not known yet
    SourceRanges ranges;
    std::unordered_map<uint64_t, SourceStack> stacks;  // by its own ids
    CodeIds codes;
    gpuprof_python_layout python{};  // the last one
    unsigned python_changes = 0;
    std::string python_version;  // a target's words, as is the next one
    std::string python_refused;  // why; empty: it is not
    SourceModules modules;
    SourceCoverage coverage;
    backend::Counters counters;
    unsigned metas = 0;
  };
  struct RawStack {
    std::vector<uint64_t> words;                         // code objects by CodeIndex
    std::shared_ptr<const ProcessImage> process;         // whose it was when it came, and ...
    std::shared_ptr<const symbolize::ProcessMaps> maps;  // ... what was mapped then,
    MappingsOver over;                                   // but for these
    StackShape shape;
    bool maps_current = false;
    bool sent = false;
    size_t words_known = 0;  // so many have been found to name no code object that is still to come
  };
  using RawStacks = std::unordered_map<uint64_t, RawStack>;
  template <typename Op>
  struct Waiting {
    Op op;
    unsigned turns = 0;
  };
  struct CapturedLaunch {
    backend::SourceId source = 0;
    uint64_t correlation = 0;
    unsigned turns = 0;
  };
  // How much longer work may wait for what it refers to. All rings are read in a turn, one after the other: after the
  // turn (settled) only a launch or a name on another CPU's way can still be missing.
  enum class Patience : uint8_t { fresh, settled, none };
  struct RowKeyHash {
    size_t operator()(const RowKey& key) const {
      const uint64_t h = (key.slice << 32 ^ profile::index(key.work)) * 0x9e3779b97f4a7c15u;
      return h ^ (h >> 32);
    }
  };

  // correlate.cpp
  Source* find_source(backend::SourceId id);
  Image& image_of(const ProcessTable::Entry& process);
  bool make_device(Source& source, const Device& device, bool last);
  void settle_devices(bool last);
  NameIndex name_of(const Source& source, uint32_t id) const;
  bool knows_range(const Source& source, uint32_t id) const;
  profile::RangeId range_of(Source& source, uint32_t id);
  void close_source(Source& source);
  void note_refused_python(const Source& source);
  void forget_process(uint32_t pid);
  void bound_threads();
  void take_occupancy();
  [[nodiscard]] uint64_t slice_of(uint64_t ns) const {
    return ns <= options_.start_ns ? 0 : (ns - options_.start_ns) / options_.interval_ns;
  }
  RowValue& row(uint64_t ns, profile::WorkId work);

  // correlate_work.cpp
  [[nodiscard]] bool is_recorded_at(uint64_t ns) const;
  [[nodiscard]] bool is_ready(Source& source, const backend::GpuOp& op, const Launch* launch, Patience patience);
  bool try_gpu_op(const backend::GpuOp& op, Patience patience);
  GraphLaunches::Site site_of(backend::SourceId source, const backend::GraphLaunch& call);
  bool are_of_one_site(backend::SourceId source, std::span<GraphLaunches::Launch> launches);
  void match_graph_launch(Source& source, backend::SourceId id, GraphLaunches::Launch& launch);
  bool find_graph_launch(Source& source, backend::GpuOp& op, bool last);
  void settle_bodies(bool last, const Source* only);
  [[nodiscard]] uint64_t capture_of(const backend::GpuOp& op, const Launch* launch) const;
  [[nodiscard]] uint32_t name_id_of(const backend::GpuOp& op, const Launch* launch) const;
  NameIndex work_name(const Source& source, const backend::GpuOp& op, const Launch* launch);
  bool try_host_op(const backend::HostOp& op, Patience patience);
  WorkKey work_key(Source& source, const backend::GpuOp& op, const Launch* launch);
  void match_launch(Source& source, const backend::GpuOp& op, Launch* launch);
  void count_gpu_op(Source& source, const backend::GpuOp& op, const WorkKey& key, const Launch* launch);
  void add_times(const backend::GpuOp& op, const WorkKey& key, profile::WorkId work, uint64_t call_ns);
  void add_event(profile::WorkId work, const backend::GpuOp& op);
  profile::WorkId intern(Image& image, WorkKey& key) {
    return image.works.intern(key, next_work_, batch_.works, *memory_);
  }
  void settle_work(bool last, const Source* only = nullptr);
  void settle_timeline();
  void settle_mappings();
  void add_call(Source& source, backend::SourceId id, const backend::Call& call);

  // correlate_launches.cpp
  void take_launch(backend::SourceId source, uint64_t correlation, const Launch& launch);
  [[nodiscard]] bool is_recorded(uint32_t pid) const;
  [[nodiscard]] NameIndex thread_name(uint32_t pid, uint32_t tid) const;

  // correlate_stacks.cpp
  ProcessTable::Entry& process_of(uint32_t pid);
  void tell_mapped(const ProcessTable::Entry& process);
  RawStack make_stack(ProcessTable::Entry& process, std::span<const uint64_t> words, uint32_t flags);
  void find_modules(Source& source, ProcessTable::Entry& process, RawStack& raw, std::span<const uint32_t> modules);
  void keep_stack(uint64_t id, RawStack stack);
  void mark_gone(uint64_t stack);
  SourceStack* source_stack(Source& source, uint64_t stack);
  [[nodiscard]] bool need_stack(Image& image, uint64_t stack);
  [[nodiscard]] bool knows_stack(const Image& image, uint64_t stack);
  void add_stack_coverage(Source& source, const StackShape& shape, uint64_t launches);
  void close_stacks(Source& source);
  void drop_stacks(bool (*dropped)(const RawStack& stack));
  void forget_stacks(uint32_t pid);
  void bound_stacks();

  CorrelateOptions options_;
  MemoryBudget* memory_;  // options_.memory
  uint64_t now_ns_ = 0;   // as of the last turn
  ProcessTable processes_{memory_};
  NameTable names_{NameTable::kMaxBytes, memory_};
  RangeTable ranges_{memory_};
  GraphNodes nodes_{memory_};
  GraphLaunches graph_launches_{memory_};
  LaunchTable launches_{memory_};
  LaunchTable host_calls_{memory_};
  Occupancy occupancy_;
  Latencies latencies_;
  std::unordered_map<profile::ProcessId, Image> images_;
  std::unordered_map<backend::SourceId, Source> sources_;
  std::unordered_map<uint64_t, NameIndex> threads_;  // pid << 32 | tid
  size_t threads_limit_ = 0;                         // above it, threads that have ended are looked for
  std::unordered_map<std::string, profile::DeviceId> devices_;
  RawStacks stacks_;
  size_t words_kept_ = 0;  // of them
  uint64_t next_stack_ = 1;
  std::vector<bool> gone_;  // by stack, of sources: it was dropped before anything named it, and does not come again
  CodeTable codes_{memory_};
  std::vector<uint64_t> ended_stacks_;
  std::vector<ProcessNews> news_;
  std::unordered_set<uint32_t> reloaders_;  // processes whose mappings must be read again
  std::vector<uint64_t> native_;            // addresses of the stack that is being taken
  Depths native_depths_;
  Depths python_depths_;
  std::vector<Waiting<backend::GpuOp>> waiting_;
  struct Body {
    backend::GpuOp op;
    uint64_t came_ns = 0;
  };
  std::vector<Body> bodies_;      // work of which only the executable graph is known: new, and ...
  std::deque<Body> held_bodies_;  // ... those that more than one launch may have caused, by what is known so far
  std::vector<Waiting<backend::HostOp>> waiting_host_;
  std::vector<CapturedLaunch> captured_;
  std::vector<std::pair<backend::SourceId, backend::Call>> calls_;
  std::vector<std::pair<backend::SourceId, backend::Span>> spans_;
  std::unordered_map<RowKey, RowValue, RowKeyHash> rows_;
  uint32_t next_work_ = 1;
  std::vector<profile::Window> windows_;  // the last ones; an open one ends at UINT64_MAX
  uint64_t ahead_ns_ = 0;
  struct {
    uint64_t queue_ns = 0;
    uint64_t bytes = 0;
    uint64_t host_ns = 0;
    uint64_t host_bytes = 0;
    uint64_t host_count = 0;
    uint64_t refused = 0;  // records with which a sum would not fit, since the last batch
  } sums_;
  uint64_t timeline_dropped_ = 0;
  uint64_t late_names_ = 0;                                                // since the last batch
  std::set<std::string> notes_;                                            // META keys that were printed as well
  std::map<std::pair<profile::ProcessId, const char*>, uint64_t> losses_;  // since the last batch
  uint64_t batch_slice_ = 0;                                               // of its first moment
  Batch batch_;
  Totals totals_;
  bool have_launches_ = false;    // some launch was seen: GPU work without one is worth a wait
  bool have_host_calls_ = false;  // the same for blocking calls
  bool recording_ = false;        // a window is open
  bool finished_ = false;
};

}  // namespace gpuprof::record
