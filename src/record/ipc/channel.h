// The recorder's end of the wire: accepts target processes on a socket, gives each a shared-memory segment, and
// drains the segments. Bytes become EventSink calls in wire_decoder.
#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "backend/event_sink.h"
#include "backend/sampling_options.h"
#include "base/few_warnings.h"
#include "base/process/process_guard.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "record/ipc/code_objects.h"
#include "record/ipc/listener.h"
#include "record/ipc/overhead_limiter.h"
#include "record/ipc/wire_decoder.h"
#include "record/memory_budget.h"
#include "wire/wire.h"

namespace gpuprof::record {

struct ChannelOptions {
  bool launch_records = false;  // ask targets for LAUNCH records (there is no other source of launches)
  bool stacks = false;          // targets walk their stacks themselves
  bool hold = false;            // new processes wait in the handshake until release()
  bool enabled = true;          // targets record from their first call on
  bool calls = false;           // ask for CALL and SPAN records
  bool latency = false;         // ask for the times at which work was queued and submitted
  bool whole_graphs = false;    // one GPU_OP a graph launch instead of one a node
  bool attached = false;        // targets are processes that run already
  double max_overhead = 0;      // percent; above it, fewer launches get a stack. 0: no limit
  backend::SamplingOptions sampling = {};
  std::vector<std::string> code_only = {};  // backends whose libraries hand over code, and tell of nothing
  std::string nvtx_range;                   // NAME or NAME@DOMAIN: only what is launched inside; empty: everything
  CodeLimits code = {};                     // of the GPU code that targets may hand over
  ExpectedCallers expected = {};
  std::shared_ptr<MemoryBudget> memory = std::make_shared<MemoryBudget>();
  std::shared_ptr<backend::SourceIds> ids = std::make_shared<backend::SourceIds>();
};

// Connected at once; later ones are refused. Each may fill GPUPROF_SEGMENT_BYTES of memory, which counts as its own.
inline constexpr size_t kMaxSources = 256;

// Longest nvtx_range that reaches a target.
inline constexpr size_t kMaxNvtxRange = sizeof(gpuprof_options::nvtx_range) - 1;

inline constexpr size_t kMaxCounted = sizeof(gpuprof_segment::counted) - 1;

class Channel {
 public:
  static Result<std::unique_ptr<Channel>> open(const ChannelOptions& options);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // The variables that let a target find this channel.
  void prepare(backend::LaunchEnv& env) const;

  // Descriptors whose readability means that there is something to do now (new processes, ended ones).
  void add_poll_fds(std::vector<pollfd>& fds) const;

  // Takes in new processes.
  void accept_all(backend::EventSink& sink);

  // With ChannelOptions::hold: the processes that have come since the last call. They wait in their handshake until
  // they are released; after GPUPROF_HANDSHAKE_WAIT_NS they give up, and are not recorded.
  std::vector<backend::SourceId> take_held();
  void release(backend::SourceId source);

  // Remembers how far each ring is filled. Launches of the GPU work up to here have reached the stack engine.
  void snapshot();

  // Decodes up to the last snapshot. Returns the number of bytes.
  size_t drain(backend::EventSink& sink);

  // Asks all targets to flush; all_flushed() once all that live have done so.
  void request_flush();
  [[nodiscard]] bool all_flushed() const;
  void disable_all();  // targets stop recording

  // For processes to come: whether they walk their stacks themselves, or wait in the handshake.
  void set_stacks(bool stacks, bool hold);

  // For processes that are connected and for those to come.
  void set_enabled(bool enabled);

  // Lowers or raises each process's share of stacks, so that recording costs it no more than options.max_overhead.
  void keep_budget(uint64_t now_ns);
  struct BudgetState {
    uint32_t least_share = GPUPROF_ALL_STACKS;  // of all processes and times
    bool exceeded = false;                      // even the least share cost too much
  };
  [[nodiscard]] BudgetState budget_state() const { return budget_state_; }

  // Attached libraries leave their processes; all_retracted() once they have.
  void request_retract();
  [[nodiscard]] bool all_retracted() const;

  // What a process that was not started by us must be told to find this channel.
  [[nodiscard]] const std::string& socket_name() const { return listener_.name(); }
  [[nodiscard]] const std::string& token() const { return listener_.token(); }

  // What targets have handed over. What was not taken counts in its source's counters as a detail lost.
  [[nodiscard]] const CodeObjects& code() const { return code_; }

  [[nodiscard]] size_t live_sources() const;
  [[nodiscard]] const DecodeCounts& decode_counts() const { return counts_; }
  // Processes of ours that could not be recorded.
  [[nodiscard]] uint64_t refused() const { return refused_ + listener_.forgotten(); }
  // Whether a process of ours has called that is not a source yet.
  [[nodiscard]] bool expects_callers() { return listener_.expects_ours(); }
  // At the end: those that are still in their handshake have not been recorded.
  void count_unheard();

  // What our own code cost in the targets, from the sampled launches.
  struct Overhead {
    uint64_t samples = 0;
    uint64_t ns = 0;
  };
  [[nodiscard]] Overhead overhead() const { return overhead_; }

 private:
  struct Source;
  Channel(const ChannelOptions& options, Listener listener);
  void accept_one(Caller caller, backend::EventSink& sink);
  void accept_code(Caller caller);
  std::shared_ptr<ProcessGuard> guard_of(const Caller& caller);
  void look_at_rights(Source& source, uint64_t now_ns);
  bool has_room(uint32_t pid);
  bool read_ring(const Source& source, size_t ring, size_t at, size_t bytes);
  void welcome(Source& source);
  bool has_records(Source& source, size_t ring);
  static void move_tail(Source& source, size_t ring);
  size_t drain_source(Source& source, backend::EventSink& sink);
  void choose_kernels(Source& source, std::span<const std::byte> records);
  void count_if_unheard(const Source& source);
  void report_counters(Source& source, backend::EventSink& sink);
  void set_control(uint32_t bits, bool on);
  static void set_up(const ChannelOptions& options, std::string_view backend, Source& source);

  ChannelOptions options_;
  Listener listener_;
  std::vector<std::unique_ptr<Source>> sources_;
  CodeObjects code_;
  std::vector<backend::SourceId> held_;
  uint64_t refused_ = 0;
  FewWarnings cannot_guard_;  // a process can come again and again
  FewWarnings no_room_;
  FewWarnings no_segment_;
  FewWarnings rights_changed_;
  FewWarnings disabled_;
  FewWarnings unheard_;
  DecodeCounts counts_;
  Overhead overhead_;
  BudgetState budget_state_;
  std::vector<std::byte> copy_;  // a record span out of shared memory, so that it can not change while decoded
};

}  // namespace gpuprof::record
