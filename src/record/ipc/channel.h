// Connects the recorder to the injection libraries: accepts targets on a socket, gives each target a shared-memory
// segment, and reads records from the segments. wire_decoder passes the records to an EventSink.
#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
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
#include "record/ipc/wire_decoder.h"
#include "record/memory_budget.h"
#include "wire/wire.h"

namespace gpuprof::record {

struct ChannelOptions {
  // Asks targets for LAUNCH records. Needed if no stack engine reports launches.
  bool launch_records = false;
  bool stacks = false;  // targets walk their own stacks
  // New processes wait in the handshake until release().
  bool hold = false;
  bool enabled = true;  // targets record from the start
  bool wanted = true;   // see set_wanted()
  bool calls = false;   // targets send CALL and SPAN records
  // Targets send the times at which work was queued and submitted.
  bool latency = false;
  uint64_t cpu_period_ns = 0;  // see JoinOptions
  // Targets send one GPU_OP per graph launch instead of one per node.
  bool whole_graphs = false;
  bool attached = false;
  // With --pc-sampling=exact, the limit for sampled launches in percent of the elapsed time. 0: kExactPercent.
  double max_overhead = 0;
  bool duty_cycle = false;  // recording is switched on and off often
  backend::SamplingOptions sampling = {};
  // The injection libraries of these backends send GPU code, but record nothing.
  std::vector<std::string> code_only = {};
  // NAME or NAME@DOMAIN: records only launches inside this range. Empty: records all launches.
  std::string nvtx_range;
  CodeLimits code = {};
  ExpectedCallers expected = {};
  std::shared_ptr<MemoryBudget> memory = std::make_shared<MemoryBudget>();
  std::shared_ptr<backend::SourceIds> ids = std::make_shared<backend::SourceIds>();
};

// A process that connects when there are this many sources is refused. Each source may use GPUPROF_SEGMENT_BYTES of its
// target's memory.
inline constexpr size_t kMaxSources = 256;

inline constexpr size_t kMaxNvtxRange = sizeof(gpuprof_options::nvtx_range) - 1;

inline constexpr size_t kMaxCounted = sizeof(gpuprof_segment::counted) - 1;

class Channel {
 public:
  static Result<std::unique_ptr<Channel>> open(const ChannelOptions& options);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // `folder`: the open folder of env.library_dir, in which the channel's second socket is made.
  void prepare(backend::LaunchEnv& env, int folder);

  // Call it before the library is injected into the process: lets it connect from another network namespace.
  Status prepare(const ProcessGuard& process);
  void listen_at(UniqueFd socket) { listener_.listen_at(std::move(socket)); }
  // The library is injected into this process while it runs, so what the process did before is unknown.
  void expect_attached(uint32_t pid) { attached_.insert(pid); }

  // Adds descriptors that become readable when there is work, for example when a process connects or ends.
  void add_poll_fds(std::vector<pollfd>& fds) const;

  // Accepts connections of new processes, and of known processes that offer GPU code.
  void accept_all(backend::EventSink& sink);

  // With ChannelOptions::hold, returns the sources that have connected since the last call and wait in the handshake
  // for release(). After GPUPROF_HANDSHAKE_WAIT_NS, a process stops waiting and continues without being recorded.
  std::vector<backend::SourceId> take_waiting();
  void release(backend::SourceId source);

  // Stores the head of each ring. The stack engine already has the launches of all work up to these heads, so read the
  // stack engine after snapshot() and before drain().
  void snapshot();

  // Decodes the records up to the last snapshot(). Returns how many bytes it has decoded.
  size_t drain(backend::EventSink& sink);

  // Asks all targets to flush, also repeatedly. all_flushed() is true once all live targets have done so.
  void request_flush();
  [[nodiscard]] bool all_flushed() const;
  void disable_all();

  // Sets, for processes that connect later, whether they walk their own stacks and whether they wait in the handshake.
  void set_stacks(bool stacks, bool hold);

  // Switches recording on or off in connected processes and in those that connect later.
  void set_enabled(bool enabled);
  // With a duty cycle: whether the user wants to record now. Otherwise launches do not count as those between windows.
  void set_wanted(bool wanted);

  // Asks attached libraries to leave their processes. all_retracted() is true once they have.
  void request_retract();
  [[nodiscard]] bool all_retracted() const;

  // An attached process needs the socket's name and the token to find this channel.
  [[nodiscard]] const std::string& socket_name() const { return listener_.name(); }
  [[nodiscard]] const std::string& token() const { return listener_.token(); }

  // Holds the code that targets have sent. Each refused object counts as a lost detail of its source.
  [[nodiscard]] CodeObjects& code() { return code_; }

  [[nodiscard]] size_t live_sources() const;
  [[nodiscard]] bool has_source_of(pid_t pid) const;
  [[nodiscard]] const DecodeCounts& decode_counts() const { return counts_; }
  // Returns how many processes of the recording could not be recorded.
  [[nodiscard]] uint64_t refused() const { return refused_ + listener_.forgotten(); }
  // Returns whether a connection could not be accepted, because gpuprof had no free descriptor.
  [[nodiscard]] bool lacked_descriptors() const { return listener_.lacked_descriptors(); }
  // Returns whether a process of the recording has connected but is not a source yet.
  [[nodiscard]] bool expects_callers() { return listener_.expects_ours(); }
  // Call it at the end of the recording. Counts the processes that are still in their handshake as not recorded.
  void count_unmapped();

  // Time that recording cost the targets.
  struct Overhead {
    uint64_t samples = 0;      // number of launches whose overhead was measured
    uint64_t ns = 0;           // sum of these overheads
    uint64_t handover_ns = 0;  // time in which records were delivered, and the vendor library was attached and detached

    // Returns the cost per launch of a recording with this number of launches.
    [[nodiscard]] uint64_t per_launch(uint64_t launches) const {
      return (samples == 0 ? 0 : ns / samples) + (launches == 0 ? 0 : handover_ns / launches);
    }
    // Returns the cost of this number of launches, without handover_ns.
    [[nodiscard]] uint64_t of_launches(uint64_t launches) const { return samples == 0 ? 0 : ns / samples * launches; }
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
  size_t drain_piece(Source& source, size_t ring, size_t at, size_t run, backend::EventSink& sink);
  size_t drain_source(Source& source, backend::EventSink& sink);
  void choose_kernels(Source& source, std::span<const std::byte> records);
  void count_if_unmapped(const Source& source);
  void report_counters(Source& source, backend::EventSink& sink);
  void set_control(uint32_t bits, bool on);
  [[nodiscard]] bool samples_cpu(const Source& source, std::string_view backend) const;
  void set_up(std::string_view backend, Source& source) const;

  ChannelOptions options_;
  Listener listener_;
  std::vector<std::unique_ptr<Source>> sources_;
  CodeObjects code_;
  std::vector<backend::SourceId> held_;
  std::set<uint32_t> attached_;
  uint64_t refused_ = 0;
  FewWarnings cannot_guard_;  // limits warnings, because a process can connect repeatedly
  FewWarnings rejected_;
  FewWarnings no_segment_;
  FewWarnings rights_changed_;
  FewWarnings disabled_;
  FewWarnings unmapped_;
  DecodeCounts counts_;
  Overhead overhead_;
  // A copy of a piece of a ring. The target could change the ring itself during decoding.
  std::vector<std::byte> copy_;
};

}  // namespace gpuprof::record
