#include "record/correlate.h"

#include <algorithm>
#include <utility>

namespace gpuprof::record {
namespace {

// GPU work whose launch or name has not come yet is tried again this many turns (of some milliseconds each): the
// BPF ring buffer and the wire's rings are filled by different CPUs.
constexpr unsigned kMaxTurns = 50;
constexpr size_t kMaxWaiting = 200'000;

// Launches that produce no GPU record (graph capture, failed calls) must not pile up.
constexpr size_t kExpireAbove = 1'000'000;
constexpr uint64_t kExpireAfterNs = 60'000'000'000;

constexpr const char* kLossReasons[GPUPROF_LOSS_KINDS] = {"ring_full",         "ring_busy", "vendor_dropped",
                                                          "invalid_timestamp", "no_timing", "out_of_memory",
                                                          "reentrant",         "unfinished"};

uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15u;
  return h ^ (h >> 32);
}

}  // namespace

size_t Correlator::RowKeyHash::operator()(const RowKey& key) const {
  uint64_t h = mix(key.slice, key.stack);
  h = mix(h, key.stream);
  h = mix(h, uint64_t{profile::index(key.process)} << 32 | profile::index(key.device));
  h = mix(h, uint64_t{key.thread} << 32 | key.name);
  return mix(h, uint64_t{key.op} << 1 | (key.counted_only ? 1u : 0u));
}

Correlator::Correlator(CorrelateOptions options) : options_(std::move(options)) {}

NameIndex Correlator::name(std::string_view text) {
  if (text.empty()) {
    return 0;
  }
  const auto [entry, made] = names_.try_emplace(std::string(text), static_cast<NameIndex>(names_.size() + 1));
  if (made) {
    batch_.names.push_back({entry->second, entry->first});
  }
  return entry->second;
}

void Correlator::on_source(backend::SourceId id, uint32_t pid, std::string_view backend) {
  Source& source = sources_[id];
  source.pid = pid;
  source.backend = backend;
  const ProcessTable::Entry& process = processes_.on_source(pid, backend);
  source.process = process.image;
  source.maps = process.maps;
  if (processes_sent_.insert(profile::index(source.process->id)).second) {
    batch_.processes.push_back(source.process);
  }
}

void Correlator::on_name(backend::SourceId id, uint32_t name_id, std::string_view text) {
  const auto source = sources_.find(id);
  if (source != sources_.end()) {
    source->second.names[name_id] = name(text);
  }
}

void Correlator::on_device(backend::SourceId id, uint32_t index, uint32_t name_id) {
  const auto source = sources_.find(id);
  if (source == sources_.end()) {
    return;
  }
  std::string text;
  if (const auto named = source->second.names.find(name_id); named != source->second.names.end()) {
    const auto entry =
        std::find_if(names_.begin(), names_.end(), [&](const auto& pair) { return pair.second == named->second; });
    text = entry == names_.end() ? "" : entry->first;
  }
  // The same device in two processes is one: told apart by backend, number and name.
  const std::string key = source->second.backend + "\n" + std::to_string(index) + "\n" + text;
  const auto [known, made] = devices_.try_emplace(key, static_cast<profile::DeviceId>(devices_.size() + 1));
  if (made) {
    batch_.devices.push_back({known->second, source->second.backend, index, text});
  }
  source->second.devices[index] = known->second;
}

profile::DeviceId Correlator::device(Source& source, uint32_t index) {
  const auto known = source.devices.find(index);
  return known == source.devices.end() ? profile::DeviceId{} : known->second;
}

void Correlator::on_gpu_op(const backend::GpuOp& op) {
  if (try_gpu_op(op, false)) {
    return;
  }
  if (waiting_.size() >= kMaxWaiting) {
    try_gpu_op(op, true);
  } else {
    waiting_.push_back({op, 0});
  }
}

// Accounts for the work, if its launch and name are known, or if `last`.
bool Correlator::try_gpu_op(const backend::GpuOp& op, bool last) {
  const auto found_source = sources_.find(op.source);
  if (found_source == sources_.end()) {
    return true;
  }
  Source& source = found_source->second;
  const auto launch = launches_.find({op.source, op.correlation});
  if (launch == launches_.end() && have_launch_source_ && !last) {
    return false;
  }
  NameIndex kernel = 0;
  if (op.name_id != 0) {
    const auto named = source.names.find(op.name_id);
    if (named == source.names.end() && !last) {
      return false;
    }
    kernel = named == source.names.end() ? name("[unnamed kernel]") : named->second;
  }

  RowKey key;
  key.slice = op.end_ns <= options_.start_ns ? 0 : (op.end_ns - options_.start_ns) / options_.interval_ns;
  key.process = source.process->id;
  key.device = device(source, op.device);
  key.stream = op.stream;
  key.name = kernel;
  key.op = static_cast<uint8_t>(op.op);
  if (launch != launches_.end()) {
    key.stack = launch->second.stack;
    key.thread = launch->second.thread;
    launch->second.matched = true;
    if (!op.more) {
      launches_.erase(launch);
    }
  }
  if (!need_stack(source.process, source.maps, key.stack)) {
    key.stack = 0;
  }
  totals_.with_stack += key.stack != 0 ? 1 : 0;

  const uint64_t duration = op.end_ns - op.start_ns;
  RowValue& value = row(key);
  ++value.count;
  value.sum_ns += duration;
  value.min_ns = std::min(value.min_ns, duration);
  value.max_ns = std::max(value.max_ns, duration);
  value.sum_squares_ns2 += profile::Uint128{duration} * duration;
  value.bytes += op.bytes;
  if (op.queued_ns != 0 && op.start_ns >= op.queued_ns) {
    value.queue_ns += op.start_ns - op.queued_ns;
  }
  ++totals_.gpu_records;
  totals_.gpu_ns += duration;
  return true;
}

void Correlator::on_launch(backend::SourceId source, uint64_t correlation, uint32_t /*tid*/, std::string_view thread) {
  have_launch_source_ = true;
  launches_[{source, correlation}] = {0, monotonic_ns(), name(thread), false};
}

void Correlator::on_meta(backend::SourceId source, std::string_view text) {
  const size_t equals = text.find('=');
  const auto found = sources_.find(source);
  if (equals == std::string_view::npos || found == sources_.end()) {
    return;
  }
  // Libraries name their own keys ("cupti.version"); what the channel says of a source is told apart by its backend.
  const std::string key(text.substr(0, equals));
  const std::string scope = key.find('.') == std::string::npos ? found->second.backend + "." : "";
  add_meta("process." + std::to_string(found->second.pid) + "." + scope + key, std::string(text.substr(equals + 1)));
}

void Correlator::on_counters(backend::SourceId id, uint64_t launches, const uint64_t (&lost)[16]) {
  const auto found = sources_.find(id);
  if (found == sources_.end()) {
    return;
  }
  // A target can write anything into its counters: only growth counts.
  Source& source = found->second;
  if (launches > source.launches) {
    totals_.launches += launches - source.launches;
    source.launches = launches;
  }
  for (size_t kind = 0; kind < GPUPROF_LOSS_KINDS; ++kind) {
    if (lost[kind] > source.lost[kind] && kLossReasons[kind] != nullptr) {
      add_loss(source.process->id, kLossReasons[kind], lost[kind] - source.lost[kind]);
      source.lost[kind] = lost[kind];
    }
  }
}

void Correlator::on_source_end(backend::SourceId id) {
  settle_source(id);
  const auto found = sources_.find(id);
  if (found == sources_.end()) {
    return;
  }
  std::erase_if(launches_, [&](const auto& entry) {
    const bool ended = entry.first.source == id;
    totals_.unmatched += ended && !entry.second.matched ? 1 : 0;
    return ended;
  });
  const uint32_t pid = found->second.pid;
  sources_.erase(found);
  const bool last =
      std::none_of(sources_.begin(), sources_.end(), [pid](const auto& entry) { return entry.second.pid == pid; });
  if (last) {
    forget_process(pid);
  }
}

// What a process leaves behind would otherwise pile up over a day of short processes, open files included.
void Correlator::forget_process(uint32_t pid) {
  processes_.forget(pid);
  std::erase_if(threads_, [pid](const auto& entry) { return entry.first >> 32 == pid; });
  std::erase_if(stacks_, [&](const auto& entry) {
    const bool ended = entry.second.process->pid == pid;
    if (ended) {
      ended_stacks_.push_back(entry.first);
    }
    return ended;
  });
}

// Anybody can map our libraries and call the probe: only processes of this recording are listened to.
bool Correlator::is_recorded(uint32_t pid) const {
  return pid == options_.attach_pid || processes_.knows(pid);
}

void Correlator::on_stack(uint64_t stack, uint32_t pid, std::span<const uint64_t> addresses, bool truncated) {
  if (!is_recorded(pid)) {
    return;
  }
  ProcessTable::Entry& process = processes_.by_pid(pid);
  const bool current = processes_.know_mappings(process, addresses);
  RawStack& raw = stacks_[stack];
  raw.maps_current = current;
  raw.process = process.image;
  raw.maps = process.maps;
  raw.addresses.assign(addresses.begin(), addresses.end());
  raw.truncated = truncated;
}

// Hands a stack to the writer the first time that a row of this process image names it. False: there is no stack, or
// its frames did not fit into the BPF ring buffer (counted there) and have not been sent again yet.
bool Correlator::need_stack(const std::shared_ptr<const ProcessImage>& process,
                            const std::shared_ptr<const symbolize::ProcessMaps>& maps, uint64_t stack) {
  const auto raw = stack == 0 ? stacks_.end() : stacks_.find(stack);
  if (raw == stacks_.end()) {
    return false;
  }
  if (stacks_sent_.insert(mix(stack, profile::index(process->id))).second) {
    // The same addresses may come back in the image that an exec has made, and are then somebody else's code.
    const bool own = raw->second.process == process;
    batch_.stacks.push_back({process, own ? raw->second.maps : maps, stack, raw->second.addresses,
                             raw->second.truncated, own && raw->second.maps_current});
  }
  return true;
}

uint64_t Totals::lost_in_all() const {
  uint64_t sum = 0;
  for (const auto& [reason, count] : lost) {
    sum += count;
  }
  return sum;
}

void Correlator::on_thread(uint32_t pid, uint32_t tid, std::string_view text) {
  if (!is_recorded(pid)) {
    return;
  }
  threads_[uint64_t{pid} << 32 | tid] = name(text);
}

void Correlator::on_launch_stack(uint32_t source, uint64_t correlation, uint64_t stack, uint32_t pid, uint32_t tid) {
  const auto found = sources_.find(source);
  if (found == sources_.end() || found->second.pid != pid) {
    return;  // a process that calls the probe with somebody else's source id
  }
  have_launch_source_ = true;
  const auto thread = threads_.find(uint64_t{pid} << 32 | tid);
  launches_[{source, correlation}] = {stack, monotonic_ns(), thread == threads_.end() ? 0 : thread->second, false};
}

void Correlator::on_counted_launch(uint32_t function, uint64_t stack, uint32_t pid, uint32_t tid) {
  if (pid != options_.attach_pid) {
    return;
  }
  const ProcessTable::Entry& process = processes_.by_pid(pid);
  if (processes_sent_.insert(profile::index(process.image->id)).second) {
    batch_.processes.push_back(process.image);
  }
  RowKey key;
  const uint64_t now = monotonic_ns();
  key.slice = now <= options_.start_ns ? 0 : (now - options_.start_ns) / options_.interval_ns;
  key.process = process.image->id;
  key.counted_only = true;
  key.name = function < options_.counted_functions.size() ? name(options_.counted_functions[function]) : 0;
  if (const auto thread = threads_.find(uint64_t{pid} << 32 | tid); thread != threads_.end()) {
    key.thread = thread->second;
  }
  if (need_stack(process.image, process.maps, stack)) {
    key.stack = stack;
    ++totals_.with_stack;
  }
  ++row(key).count;
  ++totals_.launches;
}

void Correlator::settle(bool last) {
  std::erase_if(waiting_,
                [&](Waiting& waiting) { return try_gpu_op(waiting.op, last || ++waiting.turns >= kMaxTurns); });
  if (launches_.size() > kExpireAbove && monotonic_ns() >= next_expiry_ns_) {
    expire_launches();
  }
}

void Correlator::settle_source(backend::SourceId source) {
  std::erase_if(waiting_,
                [&](const Waiting& waiting) { return waiting.op.source == source && try_gpu_op(waiting.op, true); });
}

void Correlator::expire_launches() {
  const uint64_t now = monotonic_ns();
  next_expiry_ns_ = now + 1'000'000'000;
  std::erase_if(launches_, [&](const auto& entry) {
    const bool old = now - entry.second.seen_ns > kExpireAfterNs;
    totals_.unmatched += old && !entry.second.matched ? 1 : 0;
    return old;
  });
}

void Correlator::add_loss(profile::ProcessId process, const char* reason, uint64_t count) {
  if (count != 0) {
    batch_.losses.push_back({process, reason, count});
    totals_.lost[reason] += count;
  }
}

Batch Correlator::take_batch() {
  batch_.rows.assign(rows_.begin(), rows_.end());
  rows_.clear();
  return std::exchange(batch_, Batch{});
}

}  // namespace gpuprof::record
