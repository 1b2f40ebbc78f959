#include "output/chrome_trace.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "analyze/dimensions.h"
#include "analyze/labels.h"
#include "analyze/work_paths.h"
#include "base/numbers.h"
#include "base/utf8.h"
#include "output/chrome_stacks.h"
#include "output/chrome_tracks.h"
#include "output/json_stream.h"
#include "output/text.h"

namespace gpuprof::output {
namespace {

namespace p = gpuprof::profile;

constexpr size_t kFlushBytes = size_t{1} << 16U;
constexpr size_t kMostLanes = 256;  // of one stream
constexpr size_t kMostRangeBytes = 40;
constexpr size_t kMostNameBytes = 80;            // of what comes with each event; whole names are in its stack
constexpr size_t kMostCounters = 256;            // each needs half a megabyte; a file can name any number of devices
constexpr uint64_t kFirstExtraTid = 15'000'000;  // of tracks that are no thread

// Microseconds with three digits after the point: exact.
std::string microseconds(bool negative, uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%s%llu.%03u", negative ? "-" : "", static_cast<unsigned long long>(ns / 1000),
                static_cast<unsigned>(ns % 1000));
  return text;
}

// Of a call or a piece of GPU work: where an arrow begins or ends.
struct Place {
  Track track;
  uint64_t start_ns = 0;
};

}  // namespace

class ChromeTrace::Impl {
 public:
  Impl(const p::Tables& tables, const analyze::StackOptions& stacks, Sink sink)
      : tables_(tables), paths_(tables, stacks), sink_(std::move(sink)) {
    out_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  }

  Status add(const p::Record& record) {
    if (const auto* event = std::get_if<p::Event>(&record)) {
      ++events_;
      take(*event);
    } else if (const auto* call = std::get_if<p::Call>(&record)) {
      ++events_;
      take(*call);
    } else if (const auto* span = std::get_if<p::Span>(&record)) {
      ++events_;
      take(*span);
    } else if (const auto* meta = std::get_if<p::Meta>(&record)) {
      take(*meta);
    } else if (const auto* loss = std::get_if<p::Loss>(&record)) {
      uint64_t& sum = losses_[std::string(loss->reason)];
      sum += std::min(loss->count, UINT64_MAX - sum);
    }
    return out_.size() < kFlushBytes ? Status() : flush();
  }

  Status finish() {
    put_counters();
    name_tracks();
    for (const auto& [reason, count] : losses_) {
      other_data_["lost." + reason] = std::to_string(count);
    }
    out_ += "\n],\"stackFrames\":";
    Status written;
    stacks_.write(out_, [&] { written = out_.size() < kFlushBytes || !written ? written : flush(); });
    if (!written) {
      return written;
    }
    out_ += ",\"otherData\":";
    {
      JsonObject object(out_);
      for (const auto& [key, value] : other_data_) {
        object.foreign_key(key) += json_string(value);
      }
    }
    out_ += "}\n";
    return flush();
  }

  [[nodiscard]] uint64_t events() const { return events_; }
  [[nodiscard]] uint64_t left_out() const { return left_out_; }
  [[nodiscard]] const analyze::StackView::Trimmed& trimmed() { return paths_.view().trimmed(); }

 private:
  Status flush() {
    Status done = sink_(out_);
    out_.clear();
    return done;
  }

  void take(const p::Meta& meta) {
    if (meta.key == "start_ns" && !origin_ns_) {
      origin_ns_ = whole_number(meta.value);
    }
    other_data_.try_emplace(std::string(meta.key), meta.value);
  }

  [[nodiscard]] std::string time(uint64_t ns) {
    if (!origin_ns_) {
      origin_ns_ = ns;
    }
    return ns < *origin_ns_ ? microseconds(true, *origin_ns_ - ns) : microseconds(false, ns - *origin_ns_);
  }

  // ---- tracks ----

  Track thread_track(p::ProcessId process, uint32_t tid) {
    const p::Process* const row = tables_.process(process);
    const Track track{numbers_.process(process, row == nullptr ? 0 : row->pid), tid};
    seen_processes_.emplace(index(process), track.pid);
    threads_.emplace(std::pair(index(process), tid), track);
    return track;
  }

  Track extra_track(uint64_t pid, const std::string& name) {
    const auto [known, is_new] = extra_tids_.try_emplace(std::pair(pid, name), kFirstExtraTid + extra_tids_.size());
    return {pid, known->second};
  }

  uint64_t device_pid(p::DeviceId device) {
    const uint64_t pid = numbers_.device(device);
    seen_devices_.emplace(index(device), pid);
    return pid;
  }

  // The first lane of a device's track in which the interval is free; nothing where there is none.
  std::optional<Track> lane_track(p::DeviceId device, const std::string& name, uint64_t start_ns, uint64_t end_ns) {
    std::vector<Lane>& lanes = lanes_[std::pair(index(device), name)];
    for (size_t i = 0; i < kMostLanes; ++i) {
      if (i == lanes.size()) {
        lanes.emplace_back();
      }
      if (lanes[i].take(start_ns, end_ns)) {
        return extra_track(device_pid(device), i == 0 ? name : name + " (" + std::to_string(i + 1) + ")");
      }
    }
    ++left_out_;
    return std::nullopt;
  }

  // ---- records ----

  void take(const p::Event& event) {
    const p::Work& work = *tables_.work(event.work);
    const uint64_t end_ns = std::max(event.start_ns, event.end_ns);
    const bool on_gpu = p::work_kind(work.op) == p::WorkKind::gpu;
    std::optional<Track> track;
    if (on_gpu) {
      track = lane_track(work.device, "stream " + std::to_string(work.stream), event.start_ns, end_ns);
    } else if (work.tid != 0) {
      track = thread_track(work.process, work.tid);
    } else {
      track = lane_track(work.device, "unified memory", event.start_ns, end_ns);
    }
    if (!track) {
      return;
    }
    const Place* const call = on_gpu ? calls_.find(work.process, event.correlation) : nullptr;
    put_event(event, work, *track, end_ns);
    if (!on_gpu) {
      return;
    }
    uint64_t launched_ns = event.queued_ns != 0 ? std::min(event.queued_ns, event.start_ns) : event.start_ns;
    if (call != nullptr) {
      launched_ns = std::min(launched_ns, call->start_ns);
      put_arrow(call->track, call->start_ns, *track, event.start_ns);
    } else if (event.correlation != 0) {
      events_without_call_.put(work.process, event.correlation, {*track, event.start_ns});
    }
    if (depths_.size() < kMostCounters || depths_.count(index(work.device)) != 0) {
      depths_.try_emplace(index(work.device), origin_ns_.value_or(launched_ns)).first->second.add(launched_ns, end_ns);
    }
  }

  void put_event(const p::Event& event, const p::Work& work, const Track& track, uint64_t end_ns) {
    const bool on_gpu = p::work_kind(work.op) == p::WorkKind::gpu;
    JsonObject object(next_event());
    const bool instant = !on_gpu && end_ns == event.start_ns;
    object.word("ph", instant ? "i" : "X");
    object.word("cat", on_gpu ? "gpu" : "host");
    const Named& named = work_name(work);
    object.key("name") += named.json;
    put_place(object, track, event.start_ns);
    const uint32_t stack = stacks_.of(analyze::stacks_of(work));
    put_stack(object, named.whole.empty() ? stack : stacks_.child(stack, named.whole));
    if (instant) {
      object.word("s", "t");
    } else {
      object.key("dur") += microseconds(false, end_ns - event.start_ns);
    }
    JsonObject args(object.key("args"));
    if (event.correlation != 0) {
      args.number("correlation", event.correlation);
    }
    if (event.bytes != 0) {
      args.number("bytes", event.bytes);
    }
    if (event.queued_ns != 0 && event.queued_ns <= event.start_ns) {
      args.number("queue_ns", event.start_ns - event.queued_ns);
    }
    if (event.submitted_ns != 0 && event.submitted_ns <= event.start_ns) {
      args.number("submitted_ns", event.start_ns - event.submitted_ns);
    }
    if (index(work.range) != 0) {
      args.key("range") += range_json(work.range);
    }
  }

  void take(const p::Call& call) {
    const Track track = thread_track(call.process, call.tid);
    const uint64_t end_ns = std::max(call.start_ns, call.end_ns);
    {
      JsonObject object(next_event());
      object.word("ph", "X");
      object.word("cat", "call");
      const std::string_view function = tables_.text(call.function);
      object.text("name", function.empty() ? analyze::kUnknown : cut_middle(shown_ends(function), kMostNameBytes));
      put_place(object, track, call.start_ns);
      put_stack(object, stacks_.of({.ustack = call.ustack}));
      object.key("dur") += microseconds(false, end_ns - call.start_ns);
      JsonObject args(object.key("args"));
      if (call.correlation != 0) {
        args.number("correlation", call.correlation);
      }
    }
    if (call.correlation == 0) {
      return;
    }
    if (const Place* event = events_without_call_.find(call.process, call.correlation)) {
      put_arrow(track, call.start_ns, event->track, event->start_ns);
      events_without_call_.erase(call.process, call.correlation);
    }
    calls_.put(call.process, call.correlation, {track, call.start_ns});
  }

  // Ranges of a thread nest; those that are started and ended by handle need not, and are drawn one by one.
  void take(const p::Span& span) {
    const p::Range* const range = tables_.range(span.range);
    const std::string name = range == nullptr ? std::string(analyze::kUnknown) : range_name(*range);
    const uint64_t end_ns = std::max(span.start_ns, span.end_ns);
    Track track = thread_track(span.process, span.tid);
    if (span.tid != 0) {
      track = extra_track(track.pid, "NVTX of thread " + std::to_string(span.tid));
      JsonObject object(next_event());
      object.word("ph", "X");
      object.word("cat", "nvtx");
      object.text("name", name);
      put_place(object, track, span.start_ns);
      object.key("dur") += microseconds(false, end_ns - span.start_ns);
      return;
    }
    ++async_ids_;
    for (const bool begins : {true, false}) {
      JsonObject object(next_event());
      object.word("ph", begins ? "b" : "e");
      object.word("cat", "nvtx");
      object.text("name", name);
      object.number("id", async_ids_);
      put_place(object, track, begins ? span.start_ns : end_ns);
    }
  }

  // From the beginning of a call to that of its work.
  void put_arrow(const Track& from, uint64_t from_ns, const Track& to, uint64_t to_ns) {
    ++arrow_ids_;
    for (const bool begins : {true, false}) {
      JsonObject object(next_event());
      object.word("ph", begins ? "s" : "f");
      object.word("cat", "flow");
      object.word("name", ">");  // there are as many of them as of all else
      object.number("id", arrow_ids_);
      if (!begins) {
        object.word("bp", "e");
      }
      put_place(object, begins ? from : to, begins ? from_ns : to_ns);
    }
  }

  // ---- what comes last ----

  void put_counters() {
    for (const auto& [device, depth] : depths_) {
      const uint64_t pid = device_pid(p::DeviceId{device});
      for (const DepthCounter::Sample& sample : depth.samples()) {
        JsonObject object(next_event());
        object.word("ph", "C");
        object.word("name", "queue depth");
        put_place(object, {pid, 0}, sample.time_ns);
        JsonObject args(object.key("args"));
        args.number("depth", sample.depth);
      }
    }
  }

  void name_tracks() {
    for (const auto& [id, pid] : seen_processes_) {
      put_name("process_name", {pid, 0}, process_name(p::ProcessId{id}));
      put_sort_index("process_sort_index", {pid, 0}, 0);
    }
    for (const auto& [id, pid] : seen_devices_) {
      put_name("process_name", {pid, 0}, shown_text(analyze::device_label(tables_, p::DeviceId{id})));
      put_sort_index("process_sort_index", {pid, 0}, 1);
    }
    std::map<std::pair<uint32_t, uint32_t>, std::string_view> names;
    for (const p::Work& work : tables_.works()) {
      if (index(work.thread) != 0) {
        names.try_emplace({index(work.process), work.tid}, tables_.text(work.thread));
      }
    }
    for (const auto& [key, track] : threads_) {
      if (track.tid != 0) {
        const auto name = names.find(key);
        put_name("thread_name", track,
                 name == names.end() ? "thread " + std::to_string(track.tid) : shown_text(name->second));
      }
    }
    for (const auto& [key, tid] : extra_tids_) {
      put_name("thread_name", {key.first, tid}, key.second);
    }
  }

  // "python3, rank 3, host node1"
  std::string process_name(p::ProcessId id) {
    const p::Process* const process = tables_.process(id);
    if (process == nullptr) {
      return std::string(analyze::kUnknown);
    }
    std::string name = shown_text(tables_.text(process->name));
    const std::pair<const char*, p::StringId> facts[] = {{", rank ", process->rank}, {", host ", process->host}};
    for (const auto& [word, text] : facts) {
      if (index(text) != 0) {
        name.append(word).append(shown_text(tables_.text(text)));
      }
    }
    return name;
  }

  void put_name(const char* what, const Track& track, std::string_view name) {
    JsonObject object(next_event());
    object.word("ph", "M");
    object.word("name", what);
    object.number("pid", track.pid);
    object.number("tid", track.tid);
    JsonObject args(object.key("args"));
    args.text("name", name);
  }

  void put_sort_index(const char* what, const Track& track, uint64_t position) {
    JsonObject object(next_event());
    object.word("ph", "M");
    object.word("name", what);
    object.number("pid", track.pid);
    object.number("tid", track.tid);
    JsonObject args(object.key("args"));
    args.number("sort_index", position);
  }

  // ---- text ----

  std::string& next_event() {
    if (!first_) {
      out_ += ",\n";
    }
    first_ = false;
    return out_;
  }

  void put_place(JsonObject& object, const Track& track, uint64_t ns) {
    object.number("pid", track.pid);
    object.number("tid", track.tid);
    object.key("ts") += time(ns);
  }

  static void put_stack(JsonObject& object, uint32_t frame) {
    if (frame != 0) {
      object.number("sf", frame);
    }
  }

  struct Named {
    std::string json;   // short
    std::string whole;  // where that is more
  };
  // Many events share their names.
  const Named& work_name(const p::Work& work) {
    const uint64_t key = (uint64_t{static_cast<uint8_t>(work.op)} << 32U) | index(work.name);
    const auto [known, is_new] = names_.try_emplace(key);
    if (is_new) {
      const std::string name = shown_text(paths_.work_label(work));
      const std::string shown = name.size() <= kMostNameBytes ? name : shown_kernel(name, kMostNameBytes);
      known->second = {json_string(shown), shown == name ? std::string() : name};
    }
    return known->second;
  }

  [[nodiscard]] std::string range_name(const p::Range& range) const {
    const std::string_view name = tables_.text(range.name);
    const std::string_view domain = tables_.text(range.domain);
    if (name.size() + domain.size() < kMostShownBytes) {
      return analyze::range_label(tables_, range);
    }
    return domain.empty() ? shown_text(name) : shown_text(domain) + ":" + shown_text(name);
  }

  // The innermost one; those around it are slices of their own.
  const std::string& range_json(p::RangeId id) {
    const auto [known, is_new] = ranges_.try_emplace(index(id));
    const p::Range* const range = tables_.range(id);
    if (is_new && range != nullptr) {
      const bool has_more = index(range->parent) != 0;
      known->second =
          json_string((has_more ? ".../" : "") + cut_middle(shown_ends(range_name(*range)), kMostRangeBytes));
    }
    return known->second;
  }

  const p::Tables& tables_;
  analyze::WorkPaths paths_;
  Sink sink_;
  std::string out_;
  bool first_ = true;
  std::optional<uint64_t> origin_ns_;
  std::map<std::string, std::string> other_data_;
  std::map<std::string, uint64_t> losses_;  // by reason
  uint64_t events_ = 0;
  uint64_t left_out_ = 0;
  uint64_t arrow_ids_ = 0;
  uint64_t async_ids_ = 0;
  TrackNumbers numbers_;
  std::map<uint32_t, uint64_t> seen_processes_;  // ProcessId to pid
  std::map<uint32_t, uint64_t> seen_devices_;
  std::map<std::pair<uint32_t, uint32_t>, Track> threads_;  // by ProcessId and tid
  std::map<std::pair<uint64_t, std::string>, uint64_t> extra_tids_;
  std::map<std::pair<uint32_t, std::string>, std::vector<Lane>> lanes_;
  std::map<uint32_t, DepthCounter> depths_;  // by DeviceId
  RecentTable<Place> calls_;
  RecentTable<Place> events_without_call_;
  ChromeStacks stacks_{paths_};
  std::unordered_map<uint64_t, Named> names_;         // by operation and name
  std::unordered_map<uint32_t, std::string> ranges_;  // by RangeId; of bounded length
};

ChromeTrace::ChromeTrace(const profile::Tables& tables, const analyze::StackOptions& stacks, Sink sink)
    : impl_(std::make_unique<Impl>(tables, stacks, std::move(sink))) {}
ChromeTrace::~ChromeTrace() = default;

Status ChromeTrace::add(const profile::Record& record) {
  return impl_->add(record);
}
Status ChromeTrace::finish() {
  return impl_->finish();
}
uint64_t ChromeTrace::events() const {
  return impl_->events();
}
uint64_t ChromeTrace::left_out() const {
  return impl_->left_out();
}
const analyze::StackView::Trimmed& ChromeTrace::trimmed() const {
  return impl_->trimmed();
}

}  // namespace gpuprof::output
