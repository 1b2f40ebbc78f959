// Connects the recorder to the injection libraries: accepts targets on a socket, gives each a shared-memory segment,
// and drains the segments. wire_decoder turns the bytes into EventSink calls.
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
  bool launch_records = false;  // ask for LAUNCH records, because no stack engine reports launches
  bool stacks = false;          // targets walk their own stacks
  bool hold = false;            // new processes wait in the handshake until release()
  bool enabled = true;          // targets record from their first call
  bool calls = false;           // ask for CALL and SPAN records
  bool latency = false;         // ask for the times at which work was queued and submitted
  bool whole_graphs = false;    // one GPU_OP per graph launch instead of one per node
  bool attached = false;        // targets were already running
  double max_overhead = 0;      // percent of elapsed time; above it, fewer launches get a stack. 0: no limit
  backend::SamplingOptions sampling = {};
  std::vector<std::string> code_only = {};  // backends whose injection libraries send GPU code and record nothing
  std::string nvtx_range;                   // NAME or NAME@DOMAIN: record only launches inside; empty: all
  CodeLimits code = {};                     // limits on GPU code that targets send
  ExpectedCallers expected = {};
  std::shared_ptr<MemoryBudget> memory = std::make_shared<MemoryBudget>();
  std::shared_ptr<backend::SourceIds> ids = std::make_shared<backend::SourceIds>();
};

// More connected sources are refused. Each may use GPUPROF_SEGMENT_BYTES of its target's memory.
inline constexpr size_t kMaxSources = 256;

inline constexpr size_t kMaxNvtxRange = sizeof(gpuprof_options::nvtx_range) - 1;

inline constexpr size_t kMaxCounted = sizeof(gpuprof_segment::counted) - 1;

class Channel {
 public:
  static Result<std::unique_ptr<Channel>> open(const ChannelOptions& options);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Adds the environment variables with which a target finds this channel.
  void prepare(backend::LaunchEnv& env) const;

  // Adds descriptors that become readable when there is work, such as new or ended processes.
  void add_poll_fds(std::vector<pollfd>& fds) const;

  // Accepts connections of new processes, and of known processes that offer GPU code.
  void accept_all(backend::EventSink& sink);

  // Returns, if ChannelOptions::hold is set, the processes that have connected since the last call. They wait in the
  // handshake for release(). After GPUPROF_HANDSHAKE_WAIT_NS they continue without being recorded.
  std::vector<backend::SourceId> take_waiting();
  void release(backend::SourceId source);

  // Stores the fill level of each ring. The stack engine already has the launches of all work up to this level, so read
  // the stack engine after snapshot() and before drain().
  void snapshot();

  // Decodes the records up to the last snapshot(). Returns how many bytes it has decoded.
  size_t drain(backend::EventSink& sink);

  // Asks all targets to flush. all_flushed() is true once all live targets have done so.
  void request_flush();
  [[nodiscard]] bool all_flushed() const;
  void disable_all();  // stops recording in all targets

  // For new processes: whether they walk their own stacks, and wait in the handshake.
  void set_stacks(bool stacks, bool hold);

  // Switches recording on or off, for connected and new processes.
  void set_enabled(bool enabled);

  // Adjusts each process's share of launches with a stack, to keep the overhead below options.max_overhead.
  void keep_budget(uint64_t now_ns);
  struct BudgetState {
    uint32_t least_share = GPUPROF_ALL_STACKS;  // smallest share of any process so far, in 1/GPUPROF_ALL_STACKS
    bool exceeded = false;                      // the overhead exceeded the limit even at the smallest allowed share
  };
  [[nodiscard]] BudgetState budget_state() const { return budget_state_; }

  // Asks attached libraries to leave their processes. all_retracted() is true once they have.
  void request_retract();
  [[nodiscard]] bool all_retracted() const;

  // What an attached process needs to find this channel.
  [[nodiscard]] const std::string& socket_name() const { return listener_.name(); }
  [[nodiscard]] const std::string& token() const { return listener_.token(); }

  // The code that targets have sent. Refused objects count as lost details of their source.
  [[nodiscard]] const CodeObjects& code() const { return code_; }

  [[nodiscard]] size_t live_sources() const;
  [[nodiscard]] bool has_source_of(pid_t pid) const;
  [[nodiscard]] const DecodeCounts& decode_counts() const { return counts_; }
  // Number of the recording's processes that could not be recorded.
  [[nodiscard]] uint64_t refused() const { return refused_ + listener_.forgotten(); }
  // Whether a process of the recording has connected but is not a source yet.
  [[nodiscard]] bool expects_callers() { return listener_.expects_ours(); }
  // At the end of the recording, counts the processes that are still in their handshake as not recorded.
  void count_unmapped();

  // What recording cost the targets: time of the injection libraries at sampled launches, and of all handing over.
  struct Overhead {
    uint64_t samples = 0;
    uint64_t ns = 0;  // of the sampled launches
    uint64_t handover_ns = 0;

    // Returns the cost per launch of a recording with this number of launches.
    [[nodiscard]] uint64_t per_launch(uint64_t launches) const {
      return (samples == 0 ? 0 : ns / samples) + (launches == 0 ? 0 : handover_ns / launches);
    }
  };
  [[nodiscard]] Overhead overhead() const { return overhead_; }

 private:
  struct Source;
  Channel(const ChannelOptions& options, Listener listener);
  void accept_one(Caller caller, backend::EventSink& sink);
  void accept_code(Caller caller);
  std::shared_ptr<ProcessGuard> guard_of(const Caller& caller);
  void check_rights(Source& source, uint64_t now_ns);
  bool admits(uint32_t pid);
  bool read_ring(const Source& source, size_t ring, size_t at, size_t bytes);
  void welcome(Source& source);
  bool has_records(Source& source, size_t ring);
  static void move_tail(Source& source, size_t ring);
  size_t drain_source(Source& source, backend::EventSink& sink);
  void choose_kernels(Source& source, std::span<const std::byte> records);
  void count_if_unmapped(const Source& source);
  void report_counters(Source& source, backend::EventSink& sink);
  void set_control(uint32_t bits, bool on);
  static void set_up(const ChannelOptions& options, std::string_view backend, Source& source);

  ChannelOptions options_;
  Listener listener_;
  std::vector<std::unique_ptr<Source>> sources_;
  CodeObjects code_;
  std::vector<backend::SourceId> held_;
  uint64_t refused_ = 0;
  FewWarnings cannot_guard_;  // limits warnings, because a process can connect repeatedly
  FewWarnings rejected_;
  FewWarnings no_segment_;
  FewWarnings rights_changed_;
  FewWarnings disabled_;
  FewWarnings unmapped_;
  DecodeCounts counts_;
  Overhead overhead_;
  BudgetState budget_state_;
  std::vector<std::byte> copy_;  // a piece of a ring, copied because the target could change it during decoding
};

}  // namespace gpuprof::record
