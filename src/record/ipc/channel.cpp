#include "record/ipc/channel.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/process/packet.h"
#include "record/ipc/network_socket.h"
#include "wire/clock_offset.h"
#include "wire/wire.h"

namespace gpuprof::record {
namespace {

// After a failed handshake, the recorder gives the process this long to end. A process that still lives then is not
// recorded.
constexpr uint64_t kBrokenHandshakeNs = 200'000'000;

constexpr uint64_t kRightsIntervalNs = 1'000'000'000;
constexpr const char* kRightsHint =
    "gpuprof does not record another user's program that has more rights than its user (set-user-id, file "
    "capabilities) or is not dumpable";
// Estimated memory of the recorder per byte of wire records. One-word stacks need the most, because several tables
// store them.
constexpr size_t kGrowth = 8;
// A ring is read in pieces of this size: each one frees space for the target at once, and stays in the CPU's cache. No
// valid record is as long.
constexpr size_t kRingPieceBytes = size_t{256} << 10U;
static_assert(kRingPieceBytes > 2 * GPUPROF_WIRE_MAX_TEXT);
constexpr uint32_t kWholeShare = 1U << 16;  // the denominator of gpuprof_segment.exact_share
// With exact sampling, a sampled launch waits for its kernel. These waits may take this percentage of the elapsed time,
// unless --max-overhead sets another limit.
constexpr double kExactPercent = 10;

// Targets write the shared fields of the segment at any time, so all accesses are atomic.
template <typename T>
T load(const T& field, std::memory_order order = std::memory_order_relaxed) {
  return std::atomic_ref<T>(const_cast<T&>(field)).load(order);  // NOLINT: atomic_ref<const T> is C++26
}
template <typename T>
void store(T& field, T value, std::memory_order order = std::memory_order_relaxed) {
  std::atomic_ref<T>(field).store(value, order);
}

// Seals the size of the memfd. Otherwise a target could truncate it, and the recorder's reads would fault.
UniqueFd make_segment_file() {
  UniqueFd fd(::memfd_create("gpuprof-segment", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ::ftruncate(fd.get(), GPUPROF_SEGMENT_BYTES) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return {};
  }
  return fd;
}

}  // namespace

struct Channel::Source {
  backend::SourceId id = 0;
  uint32_t pid = 0;
  std::string backend;
  std::shared_ptr<ProcessGuard> guard;
  uint64_t next_check_ns = 0;
  bool changed_rights = false;  // true: the process's rights have changed, so it is no longer recorded
  gpuprof_segment* segment = nullptr;
  std::array<uint64_t, GPUPROF_RING_COUNT> snapshot{};
  // The recorder keeps its own tails, because a process can overwrite the tails in its segment, and no record may be
  // read twice.
  std::array<uint64_t, GPUPROF_RING_COUNT> tails{};
  // Whether the head was below the tail at the last read. The malformed record for it has then been counted.
  std::array<bool, GPUPROF_RING_COUNT> behind{};
  // True if the process had exited before the last snapshot(), so that the snapshot includes the process's last
  // records.
  bool exited = false;
  bool ended = false;
  bool reason_shown = false;
  bool serves_flushes = false;  // see request_flush()
  uint64_t launches = 0;
  uint64_t overhead_samples = 0;
  uint64_t overhead_ns = 0;
  uint64_t handover_ns = 0;
  UniqueFd connection;  // valid while the process waits for its welcome
  UniqueFd file;
  uint64_t gave_up_ns = 0;  // time at which sending the welcome failed; 0: it has not failed

  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source() {
    if (segment != nullptr) {
      ::munmap(segment, GPUPROF_SEGMENT_DATA_OFFSET);
    }
  }

  [[nodiscard]] bool has_ended() const { return guard->has_ended(); }
};

Channel::Channel(const ChannelOptions& options, Listener listener)
    : options_(options), listener_(std::move(listener)), code_(options.code, options.memory) {}
Channel::~Channel() {
  disable_all();
}

Result<std::unique_ptr<Channel>> Channel::open(const ChannelOptions& options) {
  auto listener = Listener::open(options.expected);
  if (!listener) {
    return std::move(listener).error();
  }
  return std::unique_ptr<Channel>(new Channel(options, std::move(*listener)));
}

void Channel::prepare(backend::LaunchEnv& env, int folder) {
  // Without it, only processes in other network namespaces are not recorded.
  if (const Status also = listener_.listen_in(folder); !also) {
    log::info("processes in other network namespaces are not recorded: " + also.error().message);
  }
  env.set(GPUPROF_ENV_SOCKET, socket_name());
  env.set(GPUPROF_ENV_TOKEN, token());
  env.set(GPUPROF_ENV_UID, std::to_string(::geteuid()));
  if (!options_.nvtx_range.empty()) {
    env.set(GPUPROF_ENV_NVTX_RANGE, options_.nvtx_range);
  }
  env.samples = options_.sampling.samples;
}

Status Channel::prepare(const ProcessGuard& process) {
  return shares_network(process.pid()) ? Status() : listener_.listen_in_network_of(process);
}

void Channel::add_poll_fds(std::vector<pollfd>& fds) const {
  listener_.add_poll_fds(fds);
  code_.add_poll_fds(fds);
  for (const auto& source : sources_) {
    if (!source->exited) {
      fds.push_back({source->guard->pidfd(), POLLIN, 0});
    }
  }
}

void Channel::accept_all(backend::EventSink& sink) {
  for (Caller& caller : listener_.take()) {
    if (caller.offer) {
      accept_code(std::move(caller));
    } else {
      accept_one(std::move(caller), sink);
    }
  }
  code_.take();
}

void Channel::accept_code(Caller caller) {
  const auto found = std::find_if(sources_.begin(), sources_.end(), [&](const auto& source) {
    return source->id == caller.offer->source && source->pid == caller.pid && !source->exited;
  });
  if (found == sources_.end()) {
    CodeObjects::refuse_stranger(caller.connection);
    return;
  }
  const uid_t user = (*found)->guard->credentials().uid;
  code_.on_offer({(*found)->id, user}, *caller.offer, std::move(caller.connection));
}

// Returns null if the process has ended, or if its rights have changed since it connected.
std::shared_ptr<ProcessGuard> Channel::guard_of(const Caller& caller) {
  auto guard = ProcessGuard::of_peer(caller.connection.get());
  std::string why = guard ? "" : guard.error().message;
  std::string hint = guard ? "" : guard.error().hint;
  if (guard && guard->state() == ProcessGuard::State::changed) {
    why = "its rights have changed since it connected, or it is not dumpable";
    hint = kRightsHint;
  }
  if (why.empty()) {
    return std::make_shared<ProcessGuard>(std::move(*guard));
  }
  ++refused_;
  cannot_guard_.warn("cannot record process " + std::to_string(caller.pid) + ": " + why, hint);
  return nullptr;
}

bool Channel::admits(uint32_t pid) {
  const bool many = sources_.size() >= kMaxSources;
  if (!many && options_.memory->admit_process()) {
    return true;
  }
  ++refused_;
  const std::string why = many ? std::to_string(kMaxSources) + " other processes are being recorded"
                          : options_.memory->is_full()
                              ? "gpuprof has reached its memory limit"
                              : "gpuprof has reached its limit for what it writes about processes";
  rejected_.warn("process " + std::to_string(pid) + " is not recorded: " + why, "record fewer processes");
  return false;
}

void Channel::accept_one(Caller caller, backend::EventSink& sink) {
  if (!admits(caller.pid)) {
    return;
  }
  auto source = std::make_unique<Source>();
  source->pid = caller.pid;
  source->guard = guard_of(caller);
  if (!source->guard) {
    return;
  }
  UniqueFd file = make_segment_file();
  // Map only the header, and read the rings as a file. Mapped pages of rings would count as the recorder's memory.
  void* memory = !file
                     ? MAP_FAILED
                     : ::mmap(nullptr, GPUPROF_SEGMENT_DATA_OFFSET, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) {
    ++refused_;
    no_segment_.warn("cannot record process " + std::to_string(caller.pid) + ": " + std::strerror(errno),
                     "raise the limits on open files or memory (ulimit -n, container memory)");
    return;
  }
  source->segment = static_cast<gpuprof_segment*>(memory);
  source->id = options_.ids->make();
  set_up(caller.hello.backend, *source);

  // Call the sink before sending the welcome. While the target waits for its welcome, its mappings can be read.
  const std::string backend = std::move(caller.hello.backend);
  sink.on_process(source->pid, source->guard);
  sink.on_source(source->id, source->pid, backend);
  if (is_python_layout(caller.hello.python)) {
    sink.on_python(source->id, caller.hello.python);
  }
  source->connection = std::move(caller.connection);
  source->file = std::move(file);
  if (options_.hold) {
    held_.push_back(source->id);
  } else {
    welcome(*source);
  }
  // A process that connects again with the same library has called exec, so its earlier source has ended.
  for (const auto& other : sources_) {
    other->exited = other->exited || (other->pid == source->pid && other->backend == backend);
  }
  source->backend = backend;
  sources_.push_back(std::move(source));
}

void Channel::welcome(Source& source) {
  const gpuprof_welcome welcome{GPUPROF_WIRE_MAGIC, GPUPROF_WIRE_VERSION, source.id, GPUPROF_SEGMENT_BYTES,
                                gpuprof_clock_offset() - time_namespace_offset()};
  if (!send_packet(source.connection.get(), std::as_bytes(std::span(&welcome, 1)), source.file.get(), MSG_DONTWAIT)) {
    log::debug("a target closed its connection during the handshake");
    source.gave_up_ns = monotonic_ns();
  }
  source.connection.reset();
}

std::vector<backend::SourceId> Channel::take_waiting() {
  return std::exchange(held_, {});
}

void Channel::release(backend::SourceId id) {
  const auto found =
      std::find_if(sources_.begin(), sources_.end(), [id](const auto& source) { return source->id == id; });
  if (found != sources_.end() && (*found)->connection) {
    welcome(**found);
  }
}

// Only one library of a process samples its threads: two would count their CPU time twice.
bool Channel::samples_cpu(const Source& source, std::string_view backend) const {
  return options_.cpu_period_ns != 0 && std::none_of(sources_.begin(), sources_.end(), [&](const auto& other) {
           return other->pid == source.pid && other->backend != backend && !other->has_ended();
         });
}

// The target maps the segment only after this call.
void Channel::set_up(std::string_view backend, Source& source) const {
  const ChannelOptions& options = options_;
  const bool attached = options.attached || attached_.contains(source.pid);
  const bool code_only =
      std::find(options.code_only.begin(), options.code_only.end(), backend) != options.code_only.end();
  const backend::SamplingOptions& sampling = options.sampling;
  gpuprof_segment& segment = *source.segment;
  segment.magic = GPUPROF_WIRE_MAGIC;
  segment.version = GPUPROF_WIRE_VERSION;
  segment.source_id = source.id;
  segment.heartbeat_ns = monotonic_ns();
  segment.options.flags =
      (options.latency ? GPUPROF_OPTION_LATENCY : 0u) | (options.whole_graphs ? GPUPROF_OPTION_WHOLE_GRAPHS : 0u) |
      (attached ? GPUPROF_OPTION_ATTACHED : 0u) | (options.stacks ? GPUPROF_OPTION_STACKS : 0u) |
      (sampling.samples ? GPUPROF_OPTION_SAMPLES : 0u) | (sampling.counts() ? GPUPROF_OPTION_COUNTS : 0u) |
      (sampling.exact ? GPUPROF_OPTION_EXACT : 0u) | (code_only ? GPUPROF_OPTION_CODE_ONLY : 0u) |
      (options.duty_cycle ? GPUPROF_OPTION_WINDOWS : 0u) | (samples_cpu(source, backend) ? GPUPROF_OPTION_CPU : 0u) |
      (sampling.blocks ? GPUPROF_OPTION_BLOCKS : 0u) |
      ((sampling.exact || sampling.blocks) && !sampling.chosen ? GPUPROF_OPTION_ALL_KERNELS : 0u);
  segment.options.sampling_period = sampling.period;
  std::memcpy(segment.counted, sampling.counted.data(), std::min(sampling.counted.size(), kMaxCounted));
  segment.cpu_period_ns = options.cpu_period_ns;
  segment.exact_every = sampling.exact_every;
  segment.exact_share =
      static_cast<uint32_t>((options.max_overhead > 0 ? options.max_overhead : kExactPercent) * kWholeShare / 100);
  std::memcpy(segment.options.nvtx_range, options.nvtx_range.data(),
              // The segment is zeroed, so the text ends with NUL.
              std::min(options.nvtx_range.size(), kMaxNvtxRange));
  store(segment.control,
        (options.enabled ? GPUPROF_CONTROL_ENABLED : 0u) | (options.wanted ? 0u : GPUPROF_CONTROL_UNWANTED) |
            (options.launch_records || options.stacks ? GPUPROF_CONTROL_LAUNCH_RECORDS : 0u) |
            (options.calls ? GPUPROF_CONTROL_CALLS : 0u),
        std::memory_order_release);
}

// A process can execute a set-user-id program at any time. From then on, it must not be recorded.
void Channel::check_rights(Source& source, uint64_t now_ns) {
  if (source.exited || now_ns < source.next_check_ns) {
    return;
  }
  source.next_check_ns = now_ns + kRightsIntervalNs;
  if (source.guard->state() != ProcessGuard::State::changed) {
    return;
  }
  source.changed_rights = true;
  source.exited = true;
  source.connection.reset();
  store(source.segment->control, uint32_t{0});
  ++refused_;
  rights_changed_.warn("process " + std::to_string(source.pid) + " is no longer recorded: its rights have changed",
                       kRightsHint);
}

void Channel::snapshot() {
  const uint64_t now = monotonic_ns();
  for (const auto& source : sources_) {
    check_rights(*source, now);
    // Check for the exit before reading the heads, so that the snapshot holds all records written before the exit.
    source->exited = source->exited || source->has_ended() ||
                     (source->gave_up_ns != 0 && monotonic_ns() > source->gave_up_ns + kBrokenHandshakeNs);
    for (size_t ring = 0; ring < GPUPROF_RING_COUNT; ++ring) {
      source->snapshot[ring] = load(source->segment->rings[ring].head, std::memory_order_acquire);
    }
    store(source->segment->heartbeat_ns, monotonic_ns());
  }
}

bool Channel::read_ring(const Source& source, size_t ring, size_t at, size_t bytes) {
  copy_.resize(std::max(copy_.size(), bytes));
  const size_t offset = GPUPROF_SEGMENT_DATA_OFFSET + ring * GPUPROF_RING_BYTES + at;
  const ssize_t got = ::pread(source.file.get(), copy_.data(), bytes, static_cast<off_t>(offset));
  return got == static_cast<ssize_t>(bytes);
}

// Returns whether the ring has new records. An impossible head counts as one malformed record.
bool Channel::has_records(Source& source, size_t ring) {
  const uint64_t head = source.snapshot[ring];
  const uint64_t tail = source.tails[ring];
  const bool was_behind = std::exchange(source.behind[ring], head < tail);
  // There is nothing to read. The target sees a full ring, and counts its own losses.
  if (head < tail) {
    counts_.malformed += was_behind ? 0 : 1;
    return false;
  }
  if (head - tail > GPUPROF_RING_BYTES) {
    ++counts_.malformed;
    source.tails[ring] = head;
    store(source.segment->rings[ring].tail, head, std::memory_order_release);
    return false;
  }
  return head != tail;
}

// Marks in the segment which of the newly received names belong to kernels that the user chose.
void Channel::choose_kernels(Source& source, std::span<const std::byte> records) {
  if ((!options_.sampling.exact && !options_.sampling.blocks) || !options_.sampling.chosen) {
    return;
  }
  decode_names(records, [&](uint32_t id, std::string_view name) {
    if (id < GPUPROF_CHOSEN_NAMES) {
      constexpr uint32_t kBits = 64;
      const uint64_t bit = uint64_t{1} << id % kBits;
      uint64_t& chosen = source.segment->chosen[id / kBits];
      uint64_t& decided = source.segment->decided[id / kBits];
      store(chosen, load(chosen) | (options_.sampling.chosen(name) ? bit : 0));
      store(decided, load(decided) | bit, std::memory_order_release);
    }
  });
}

// Decodes a piece of the `run` bytes at `at`. Returns how many of these bytes the target may overwrite. After a header
// with an invalid size, these are all.
size_t Channel::drain_piece(Source& source, size_t ring, size_t at, size_t run, backend::EventSink& sink) {
  const size_t bytes = std::min(run, kRingPieceBytes);
  size_t decoded = 0;
  if (read_ring(source, ring, at, bytes)) {
    const std::span<const std::byte> piece(copy_.data(), bytes);
    decoded = decode_records(source.id, piece, sink, counts_);
    choose_kernels(source, piece.first(decoded));
  }
  if (decoded == 0) {
    ++counts_.malformed;
    decoded = run;
  }
  options_.memory->grew(decoded * kGrowth);
  return decoded;
}

size_t Channel::drain_source(Source& source, backend::EventSink& sink) {
  size_t total = 0;
  for (size_t ring = 0; ring < GPUPROF_RING_COUNT; ++ring) {
    if (!has_records(source, ring)) {
      continue;
    }
    for (uint64_t& tail = source.tails[ring]; tail != source.snapshot[ring];) {
      const auto at = static_cast<size_t>(tail % GPUPROF_RING_BYTES);
      const size_t run = std::min<size_t>(source.snapshot[ring] - tail, GPUPROF_RING_BYTES - at);
      const size_t done = drain_piece(source, ring, at, run, sink);
      tail += done;
      total += done;
      store(source.segment->rings[ring].tail, tail, std::memory_order_release);
    }
  }
  return total;
}

void Channel::report_counters(Source& source, backend::EventSink& sink) {
  static_assert(std::size(backend::Counters{}.lost) == GPUPROF_LOSS_KINDS);
  static_assert(std::size(backend::Counters{}.counts) == GPUPROF_COUNTS);
  uint64_t samples = 0;
  uint64_t ns = 0;
  uint64_t handover_ns = 0;
  backend::Counters sums;
  for (const gpuprof_ring& ring : source.segment->rings) {
    sums.launches += load(ring.launches);
    samples += load(ring.overhead_samples);
    ns += load(ring.overhead_ns);
    handover_ns += load(ring.handover_ns);
    for (size_t kind = 0; kind < GPUPROF_LOSS_KINDS; ++kind) {
      sums.lost[kind] += load(ring.lost[kind]);
    }
    for (size_t what = 0; what < GPUPROF_COUNTS; ++what) {
      sums.counts[what] += load(ring.counts[what]);
    }
  }
  // The target writes these counters. Ignore them if they have decreased.
  if (samples >= source.overhead_samples && ns >= source.overhead_ns) {
    overhead_.samples += samples - source.overhead_samples;
    overhead_.ns += ns - source.overhead_ns;
    source.overhead_samples = samples;
    source.overhead_ns = ns;
  }
  if (handover_ns >= source.handover_ns) {
    overhead_.handover_ns += handover_ns - source.handover_ns;
    source.handover_ns = handover_ns;
  }
  source.launches = sums.launches;
  sums.lost[GPUPROF_LOSS_DETAIL] += code_.refused(source.id);
  sink.on_counters(source.id, sums);

  if (!source.reason_shown && load(source.segment->state, std::memory_order_acquire) == GPUPROF_STATE_DISABLED) {
    source.reason_shown = true;
    std::string reason(source.segment->reason, ::strnlen(source.segment->reason, sizeof(source.segment->reason)));
    sink.on_meta(source.id, "disabled=" + reason);
    disabled_.warn("process " + std::to_string(source.pid) + " is not profiled. It reports '" + reason + "'");
  }
}

size_t Channel::drain(backend::EventSink& sink) {
  size_t total = 0;
  for (const auto& source : sources_) {
    total += drain_source(*source, sink);
    report_counters(*source, sink);
    if (source->exited && !source->ended && !code_.expects(source->id)) {
      source->ended = true;
      count_if_unmapped(*source);
      sink.on_source_end(source->id);
    }
  }
  std::erase_if(sources_, [](const auto& source) { return source->ended; });
  return total;
}

// Counts and reports a process that never mapped its segment, because it lacked resources or stopped waiting. Excludes
// processes that executed another program or were killed during the handshake.
void Channel::count_if_unmapped(const Source& source) {
  const bool killed = source.gave_up_ns != 0 && source.has_ended();
  const bool again = std::any_of(sources_.begin(), sources_.end(), [&](const auto& other) {
    return other->id > source.id && other->pid == source.pid && other->backend == source.backend;
  });
  if (load(source.segment->state, std::memory_order_acquire) == GPUPROF_STATE_STARTING && !again && !killed &&
      !source.changed_rights) {
    ++refused_;
    unmapped_.warn(
        "process " + std::to_string(source.pid) + " is not recorded: " +
            (source.exited ? "it did not map the memory for its records" : "the recording ended before it was ready"),
        source.exited ? "it has too few descriptors (ulimit -n), or gpuprof answered too late (the machine was "
                        "overloaded, or gpuprof was stopped)"
                      : "leave out --wait main to record processes that outlive the command, or record longer");
  }
}

void Channel::count_unmapped() {
  listener_.forget_all();
  for (const auto& source : sources_) {
    count_if_unmapped(*source);
  }
}

void Channel::request_flush() {
  for (const auto& source : sources_) {
    const std::atomic_ref<uint32_t> flushed(source->segment->flushed);
    // A library that buffers nothing has set `flushed` before the first request, and does not set it again.
    source->serves_flushes = source->serves_flushes || flushed.load() == 0;
    if (source->serves_flushes) {
      flushed.store(0);
    }
    std::atomic_ref<uint32_t>(source->segment->control).fetch_or(GPUPROF_CONTROL_FLUSH);
  }
}

bool Channel::all_flushed() const {
  return std::all_of(sources_.begin(), sources_.end(), [](const auto& source) {
    return source->exited || load(source->segment->flushed, std::memory_order_acquire) != 0 ||
           load(source->segment->state) != GPUPROF_STATE_ACTIVE;
  });
}

void Channel::disable_all() {
  for (const auto& source : sources_) {
    // Keep the RETRACT bit: a library that is leaving its process must not stop doing so.
    std::atomic_ref<uint32_t>(source->segment->control).fetch_and(GPUPROF_CONTROL_RETRACT);
  }
}

void Channel::set_control(uint32_t bits, bool on) {
  for (const auto& source : sources_) {
    const std::atomic_ref<uint32_t> control(source->segment->control);
    on ? control.fetch_or(bits) : control.fetch_and(~bits);
  }
}

void Channel::set_stacks(bool stacks, bool hold) {
  options_.stacks = stacks;
  options_.hold = hold;
}

void Channel::set_enabled(bool enabled) {
  options_.enabled = enabled;
  set_control(GPUPROF_CONTROL_ENABLED, enabled);
}

void Channel::set_wanted(bool wanted) {
  options_.wanted = wanted || !options_.duty_cycle;
  set_control(GPUPROF_CONTROL_UNWANTED, !options_.wanted);
}

void Channel::request_retract() {
  set_control(GPUPROF_CONTROL_RETRACT, true);
}

bool Channel::all_retracted() const {
  return std::all_of(sources_.begin(), sources_.end(), [](const auto& source) {
    const uint32_t state = load(source->segment->state, std::memory_order_acquire);
    return source->exited || state == GPUPROF_STATE_FINISHED || state == GPUPROF_STATE_DISABLED;
  });
}

size_t Channel::live_sources() const {
  return sources_.size();
}

bool Channel::has_source_of(pid_t pid) const {
  return std::any_of(sources_.begin(), sources_.end(),
                     [pid](const auto& source) { return source->guard->pid() == pid; });
}

}  // namespace gpuprof::record
