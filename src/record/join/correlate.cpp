#include "record/join/correlate.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/utf8.h"

namespace gpuprof::record {
namespace {

// What a source may define, beyond which it is left out: none of ours comes near.
constexpr size_t kMaxNames = 4'000'000;
constexpr size_t kMaxDevices = 1024;
constexpr size_t kMaxSessionDevices = 65536;
constexpr unsigned kMaxMeta = 1000;
constexpr size_t kMaxNotes = 16;
constexpr size_t kMaxNote = 300;  // bytes
constexpr size_t kMaxWindows = 64;
constexpr uint64_t kMaxCounter = uint64_t{1} << 40;  // months of launches; sums over sources must fit into 64 bits

constexpr size_t kThreadsKept = 65536;
constexpr unsigned kMaxTurns = 50;

// The sweep stays this far behind: CUPTI's buffers are flushed once a second.
constexpr uint64_t kSweepDelayNs = 3'000'000'000;
static_assert(kSweepDelayNs > 2 * GPUPROF_IDLE_FLUSH_NS);
constexpr size_t kMaxSweepPending = 2'000'000;  // then it does not wait for the oldest launch either

constexpr const char* kLossReasons[GPUPROF_LOSS_KINDS] = {
    "ring_full", "ring_busy",  "vendor_dropped", "invalid_timestamp", "no_timing",    "out_of_memory",
    "reentrant", "unfinished", "range_limit",    "stack_not_taken",   "details_lost", "kernel_name"};

}  // namespace

Correlator::Correlator(CorrelateOptions options)
    : options_(std::move(options)),
      memory_(options_.memory.get()),
      now_ns_(options_.clock()),
      occupancy_(options_.start_ns, options_.interval_ns),
      threads_limit_(kThreadsKept) {}

Correlator::Source* Correlator::find_source(backend::SourceId id) {
  const auto found = sources_.find(id);
  return found == sources_.end() ? nullptr : &found->second;
}

Correlator::Image& Correlator::image_of(const ProcessTable::Entry& process) {
  const auto [entry, made] = images_.try_emplace(process.image->id);
  Image& image = entry->second;
  if (made) {
    image.process = process.image;
    image.maps = process.maps;
    batch_.processes.push_back(process.image);
  }
  return image;
}

void Correlator::on_source(backend::SourceId id, uint32_t pid, std::string_view backend) {
  Source& source = sources_[id];
  source.pid = pid;
  source.backend = backend;
  const bool known = processes_.knows(pid);
  ProcessTable::Entry& process = processes_.on_source(pid, backend);
  if (known && !images_.contains(process.image->id)) {  // an exec has put another image in its place
    news_.push_back({.what = ProcessNews::What::ended, .pid = pid, .maps = nullptr, .layout = {}});
  }
  news_.push_back({.what = ProcessNews::What::mapped, .pid = pid, .maps = process.maps, .layout = {}});
  source.image = &image_of(process);
  ++source.image->sources;
}

void Correlator::on_name(backend::SourceId id, uint32_t name_id, std::string_view text) {
  Source* source = find_source(id);
  if (source == nullptr || source->names.size() >= kMaxNames) {
    return;
  }
  if (memory_->is_full()) {
    memory_->leave_out();
    return;
  }
  source->names[name_id] = names_.intern(text);
}

NameIndex Correlator::name_of(const Source& source, uint32_t id) const {
  const auto known = source.names.find(id);
  return known == source.names.end() ? 0 : known->second;
}

void Correlator::on_device(backend::SourceId id, uint32_t index, uint32_t name_id, uint32_t uuid_id) {
  Source* source = find_source(id);
  if (source == nullptr || source->devices.size() + source->devices_to_be.size() >= kMaxDevices) {
    return;
  }
  if (!source->devices.contains(index) && !memory_->admit()) {
    return;
  }
  const Device device{index, name_id, uuid_id};
  if (!make_device(*source, device, false)) {
    source->devices_to_be.push_back(device);
  }
}

// False: its name or uuid is in another ring and has not been read yet.
bool Correlator::make_device(Source& source, const Device& device, bool last) {
  for (const uint32_t id : {device.name_id, device.uuid_id}) {
    if (id != 0 && !source.names.contains(id) && !last) {
      return false;
    }
  }
  const std::string name(names_.text(name_of(source, device.name_id)));
  const std::string uuid(names_.text(name_of(source, device.uuid_id)));
  // The same device in two processes is one. Each may see only some of the devices and count them from 0: the number
  // tells nothing where there is something better.
  const std::string which = uuid.empty() ? std::to_string(device.index) + "\n" + name : "\n" + uuid;
  const std::string key = source.backend + "\n" + which;
  if (!devices_.contains(key) && (devices_.size() >= kMaxSessionDevices || !memory_->admit())) {
    return true;
  }
  const auto [known, made] = devices_.try_emplace(key, static_cast<profile::DeviceId>(devices_.size() + 1));
  if (made) {
    batch_.devices.push_back({known->second, source.backend, device.index, name, uuid});
  }
  source.devices[device.index] = known->second;
  return true;
}

void Correlator::settle_devices(bool last) {
  for (auto& entry : sources_) {
    Source& source = entry.second;
    std::erase_if(source.devices_to_be, [&](const Device& device) { return make_device(source, device, last); });
  }
}

void Correlator::on_range(backend::SourceId id, const backend::Range& range) {
  Source* source = find_source(id);
  if (source != nullptr && source->ranges.told.size() < SourceRanges::kMaxRanges && memory_->admit()) {
    source->ranges.told[range.id] = range;
  }
}

// Whether a range can be resolved to what it will always be: all that it consists of has been read.
bool Correlator::knows_range(const Source& source, uint32_t id) const {
  constexpr int kMaxDepth = 128;
  for (int depth = 0; id != 0 && depth < kMaxDepth; ++depth) {
    if (source.ranges.resolved.contains(id)) {
      return true;
    }
    const auto told = source.ranges.told.find(id);
    if (told == source.ranges.told.end() || !source.names.contains(told->second.name_id) ||
        (told->second.domain_id != 0 && !source.names.contains(told->second.domain_id))) {
      return false;
    }
    id = told->second.parent;
  }
  return true;
}

profile::RangeId Correlator::range_of(Source& source, uint32_t id) {
  return ranges_.resolve(source.ranges, id, [&](uint32_t name_id) { return name_of(source, name_id); });
}

void Correlator::on_meta(backend::SourceId id, std::string_view text) {
  const size_t equals = text.find('=');
  Source* source = find_source(id);
  if (equals == std::string_view::npos || source == nullptr || source->metas >= kMaxMeta || !memory_->admit()) {
    return;
  }
  ++source->metas;
  // Libraries name their own keys ("cupti.version"); what the channel says of a source is told apart by its backend.
  const std::string key(text.substr(0, equals));
  if (key == "python.version") {
    source->python_version = text.substr(equals + 1, kMaxNote);
  } else if (key == "python.refused") {
    source->python_refused = text.substr(equals + 1, kMaxNote);
  }
  if (key.starts_with("note.") && notes_.size() < kMaxNotes && notes_.insert(key).second) {
    std::string shown;  // a target may write anything
    append_escaped(text.substr(equals + 1, kMaxNote), {}, shown);
    log::info(shown);  // what the user should know, from whichever process says so first
  }
  const std::string scope = key.find('.') == std::string::npos ? source->backend + "." : "";
  add_meta("process." + std::to_string(source->pid) + "." + scope + key, std::string(text.substr(equals + 1)));
}

void Correlator::on_tables_late(backend::SourceId id) {
  const Source* source = find_source(id);
  if (source == nullptr) {
    return;
  }
  const std::string process = "process." + std::to_string(source->pid);
  if (notes_.insert("tables").second) {
    log::warn(
        "the first stacks of process " + std::to_string(source->pid) + " are cut until its unwind tables are ready",
        "the next recording finds them in the cache");
  }
  add_meta(process + ".note.tables", "not ready in time: the first stacks are cut");
}

void Correlator::on_counters(backend::SourceId id, const backend::Counters& counters) {
  Source* source = find_source(id);
  if (source == nullptr) {
    return;
  }
  // A target can write anything into its counters: only growth counts, up to a limit.
  const auto growth = [](uint64_t& known, uint64_t told) {
    const uint64_t before = known;
    known = std::max(known, std::min(told, kMaxCounter));
    return known - before;
  };
  backend::Counters& known = source->counters;
  totals_.launches += growth(known.launches, counters.launches);
  for (size_t kind = 0; kind < GPUPROF_LOSS_KINDS; ++kind) {
    if (kLossReasons[kind] != nullptr) {
      add_loss(source->image->process->id, kLossReasons[kind], growth(known.lost[kind], counters.lost[kind]));
    }
  }
  for (size_t what = 0; what < GPUPROF_COUNTS; ++what) {
    growth(known.counts[what], counters.counts[what]);
  }
}

// Who looks for the Python frames should be told, unless none would have been followed in any case.
void Correlator::note_refused_python(const Source& source) {
  if (source.python_refused.empty() || !options_.stacks_wanted || options_.frame_pointers) {
    return;
  }
  RefusedPython& first = totals_.refused_python;
  if (first.pid == 0) {
    first.pid = source.pid;
    append_escaped(source.python_version, {}, first.version);
    append_escaped(source.python_refused, {}, first.reason);
  }
  first.others = first.others || first.pid != source.pid;
}

// The source's share of the trust footer: nothing more will come from it.
void Correlator::close_source(Source& source) {
  close_stacks(source);
  note_refused_python(source);
  const CoverageCounts counts = source.coverage.sum_up(source.counters);
  totals_.coverage.add(counts);
  counts.append_to(batch_.coverage, source.image->process->id);
  source.coverage = {};
  source.counters = {};
}

void Correlator::on_source_end(backend::SourceId id) {
  const auto found = sources_.find(id);
  if (found == sources_.end()) {
    return;
  }
  Source& source = found->second;
  settle_devices(true);
  settle_work(true, &source);
  settle_timeline();
  close_source(source);
  launches_.end_source(id);
  host_calls_.end_source(id);
  nodes_.end_source(id);
  graph_launches_.end_source(id);
  codes_.end(source.codes);
  if (--source.image->sources == 0) {
    const profile::ProcessId image = source.image->process->id;
    codes_.end(source.image->engine_codes);
    batch_.ended.push_back(image);
    images_.erase(image);
  }
  const uint32_t pid = source.pid;
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
  forget_stacks(pid);
  reloaders_.erase(pid);
  news_.push_back({.what = ProcessNews::What::ended, .pid = pid, .maps = nullptr, .layout = {}});
}

// A process may make a thread for each request: those that have ended are dropped now and then.
void Correlator::bound_threads() {
  if (threads_.size() <= threads_limit_) {
    return;
  }
  std::erase_if(threads_, [](const auto& entry) {
    const std::string path =
        "/proc/" + std::to_string(entry.first >> 32) + "/task/" + std::to_string(static_cast<uint32_t>(entry.first));
    return ::access(path.c_str(), F_OK) != 0;
  });
  threads_limit_ = std::max(kThreadsKept, threads_.size() * 2);
}

void Correlator::open_window(uint64_t at) {
  recording_ = true;
  if (windows_.size() >= kMaxWindows) {
    windows_.erase(windows_.begin());
  }
  windows_.push_back({at, UINT64_MAX});
  occupancy_.open_window(at);
}

void Correlator::close_window(uint64_t at) {
  if (!recording_) {
    return;
  }
  recording_ = false;
  occupancy_.close_window(at);
  windows_.back().end_ns = std::max(at, windows_.back().start_ns);
  batch_.windows.push_back(windows_.back());
}

void Correlator::settle(bool last) {
  now_ns_ = options_.clock();
  settle_devices(true);  // all rings have been read: a name that is not there was lost
  std::erase_if(captured_, [&](CapturedLaunch& launch) {
    const bool there = launches_.find(launch.source, launch.correlation) != nullptr;
    launches_.erase(launch.source, launch.correlation);
    return there || last || ++launch.turns >= kMaxTurns;
  });
  nodes_.settle(now_ns_);
  settle_work(last);
  settle_timeline();
  settle_mappings();
  if (memory_->is_limited() && !finished_) {
    occupancy_.advance(now_ns_);  // what comes later than this is not shared out any more
  }
  launches_.expire(now_ns_);
  host_calls_.expire(now_ns_);
  bound_stacks();
  bound_threads();
}

void Correlator::finish() {
  settle(true);
  for (auto& [id, source] : sources_) {
    close_source(source);
  }
  occupancy_.finish();
  finished_ = true;
}

void Correlator::add_loss(profile::ProcessId process, const char* reason, uint64_t count) {
  if (count != 0) {
    losses_[{process, reason}] += count;
    totals_.lost[reason] += count;
  }
}

uint64_t Totals::lost_in_all() const {
  uint64_t sum = 0;
  for (const auto& [reason, count] : lost) {
    sum += count;
  }
  return sum;
}

// What the sweep has found out. It follows at a distance, and waits for the launches that are still to be matched: the
// work of theirs may have started long ago.
void Correlator::take_occupancy() {
  if (!finished_) {
    const uint64_t latest = now_ns_ > kSweepDelayNs ? now_ns_ - kSweepDelayNs : 0;
    const bool hurry = occupancy_.pending() > kMaxSweepPending || memory_->is_limited();
    occupancy_.advance(hurry ? latest : std::min(latest, launches_.oldest_waiting(now_ns_)));
  }
  for (const auto& [key, share] : occupancy_.take_shares()) {
    batch_.shares.push_back({key.slice, profile::WorkId{key.work}, share.busy_ns, share.exclusive_ns});
  }
  for (const auto& [key, ns] : occupancy_.take_idle()) {
    batch_.idle.push_back({key.slice, profile::DeviceId{key.device}, profile::WorkId{key.work}, ns});
  }
}

Batch Correlator::take_batch() {
  take_occupancy();
  add_loss({}, "malformed", std::exchange(sums_.refused, 0));
  add_loss({}, "late_name", std::exchange(late_names_, 0));
  add_loss({}, "timeline_full", std::exchange(timeline_dropped_, 0));
  for (const auto& [key, count] : std::exchange(losses_, {})) {
    batch_.losses.push_back({key.first, key.second, count});
  }
  batch_slice_ = slice_of(options_.clock());
  batch_.names = names_.take_new();
  batch_.ranges = ranges_.take_new();
  batch_.codes = codes_.take_new();
  batch_.rows.assign(rows_.begin(), rows_.end());
  rows_.clear();
  for (auto& [key, histogram] : latencies_.take()) {
    batch_.latencies.push_back({key.first, key.second, std::move(histogram)});
  }
  return std::exchange(batch_, Batch{});
}

}  // namespace gpuprof::record
