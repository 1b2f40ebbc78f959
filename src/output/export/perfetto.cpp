#include "output/export/perfetto.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "analyze/labels.h"
#include "base/numbers.h"
#include "base/utf8.h"
#include "output/chrome_tracks.h"
#include "output/export/perfetto_fields.h"
#include "output/export/perfetto_packets.h"
#include "output/export/perfetto_stacks.h"
#include "output/export/perfetto_tracks.h"
#include "output/export/protobuf.h"
#include "output/text.h"

namespace gpuprof::output {
namespace {

namespace p = gpuprof::profile;
using perfetto::Interned;
using Table = Interned::Table;

constexpr size_t kMostCounters = 256;   // each needs half a megabyte; a file can name any number of devices
constexpr size_t kMostRangeBytes = 80;  // of the ranges' names that come with each event

// The same for a call and for its work, whichever comes first.
uint64_t flow_of(p::ProcessId process, uint64_t correlation) {
  constexpr unsigned kProcessShift = 44;
  return (uint64_t{index(process)} << kProcessShift) + correlation;
}

}  // namespace

class PerfettoTrace::Impl {
 public:
  Impl(const p::Tables& tables, const analyze::StackOptions& stacks, Sink sink)
      : tables_(tables),
        frames_(tables, stacks),
        interned_(frames_),
        packets_(std::move(sink)),
        tracks_(tables, packets_) {}

  Status add(const p::Record& record) {
    if (const auto* event = std::get_if<p::Event>(&record)) {
      begin_event();
      take(*event);
    } else if (const auto* call = std::get_if<p::Call>(&record)) {
      begin_event();
      take(*call);
    } else if (const auto* span = std::get_if<p::Span>(&record)) {
      begin_event();
      take(*span);
    } else if (const auto* meta = std::get_if<p::Meta>(&record)) {
      take(*meta);
    }
    return packets_.is_due() ? packets_.flush() : Status();
  }

  Status finish() {
    if (Status written = put_counters(); !written) {
      return written;
    }
    tracks_.name_threads();
    return packets_.flush();
  }

  [[nodiscard]] uint64_t events() const { return events_; }
  [[nodiscard]] uint64_t left_out() const { return left_out_; }
  [[nodiscard]] const analyze::StackView::Trimmed& trimmed() { return frames_.paths().view().trimmed(); }

 private:
  void take(const p::Meta& meta) {
    if (meta.key == "start_ns") {
      start_ns_ = whole_number(meta.value).value_or(0);
    } else if (meta.key == "start_unix_ns") {
      start_unix_ns_ = whole_number(meta.value).value_or(0);
    }
  }

  void begin_event() {
    if (events_++ > 0) {
      return;
    }
    std::string defaults;
    Protobuf(defaults).number(perfetto::packet_defaults::kTimestampClockId, perfetto::clock::kMonotonic);
    std::string first;
    Protobuf(first).bytes(perfetto::packet::kTracePacketDefaults, defaults);
    packets_.put(first, true);
    std::string snapshot;
    Protobuf message(snapshot);
    put_clock(perfetto::clock::kMonotonic, start_ns_, message);
    if (start_unix_ns_ != 0) {
      put_clock(perfetto::clock::kRealtime, start_unix_ns_, message);
    }
    message.number(perfetto::clock_snapshot::kPrimaryTraceClock, perfetto::clock::kMonotonic);
    std::string clocks;
    Protobuf(clocks).bytes(perfetto::packet::kClockSnapshot, snapshot);
    packets_.put(clocks);
  }

  static void put_clock(uint64_t id, uint64_t ns, Protobuf& snapshot) {
    std::string clock;
    Protobuf message(clock);
    message.number(perfetto::clock::kClockId, id);
    message.present(perfetto::clock::kTimestamp, ns);
    snapshot.bytes(perfetto::clock_snapshot::kClocks, clock);
  }

  // ---- records ----

  void take(const p::Event& event) {
    const p::Work& work = *tables_.work(event.work);
    const uint64_t end_ns = std::max(event.start_ns, event.end_ns);
    const bool on_gpu = p::work_kind(work.op) == p::WorkKind::gpu;
    std::optional<uint64_t> track;
    if (on_gpu) {
      track = tracks_.of_device(work.device, "stream " + std::to_string(work.stream), event.start_ns, end_ns);
    } else if (work.tid != 0) {
      track = tracks_.of_thread(work.process, work.tid, event.start_ns, end_ns);
    } else {
      track = tracks_.of_device(work.device, "unified memory", event.start_ns, end_ns);
    }
    if (!track) {
      ++left_out_;
      return;
    }
    event_.clear();
    Protobuf message(event_);
    message.number(perfetto::event::kTrackUuid, *track);
    message.number(perfetto::event::kCategoryIids, interned_.text(Table::categories, on_gpu ? "gpu" : "host"));
    message.number(perfetto::event::kNameIid, name_of(work));
    if (const uint64_t stack = interned_.call_stack(analyze::stacks_of(work)); stack != 0) {
      message.number(perfetto::event::kCallstackIid, stack);
      // Of GPU work only: sums over a part of the trace are of what has a weight, and CPU time is none of GPU time.
      if (on_gpu) {
        message.fixed64(perfetto::event::kCallstackWeight,
                        std::bit_cast<uint64_t>(static_cast<double>(end_ns - event.start_ns)));
      }
    }
    put_facts(event, work, message);
    if (on_gpu && event.correlation != 0) {
      message.fixed64(perfetto::event::kFlowIds, flow_of(work.process, event.correlation));
    }
    put_slice(*track, event.start_ns, end_ns);
    if (on_gpu) {
      count_depth(event, work, end_ns);
    }
  }

  void put_facts(const p::Event& event, const p::Work& work, Protobuf& message) {
    put_number("correlation", event.correlation, message);
    put_number("bytes", event.bytes, message);
    if (event.queued_ns != 0 && event.queued_ns <= event.start_ns) {
      put_number("queue_ns", event.start_ns - event.queued_ns, message);
    }
    if (event.submitted_ns != 0 && event.submitted_ns <= event.start_ns) {
      put_number("submitted_ns", event.start_ns - event.submitted_ns, message);
    }
    if (index(work.range) != 0) {
      std::string annotation;
      Protobuf fields(annotation);
      fields.number(perfetto::annotation::kNameIid, interned_.text(Table::annotations, "range"));
      fields.bytes(perfetto::annotation::kStringValue, range_text(work.range));
      message.bytes(perfetto::event::kDebugAnnotations, annotation);
    }
  }

  void count_depth(const p::Event& event, const p::Work& work, uint64_t end_ns) {
    const uint64_t queued_ns = event.queued_ns != 0 ? std::min(event.queued_ns, event.start_ns) : event.start_ns;
    if (depths_.size() < kMostCounters || depths_.count(index(work.device)) != 0) {
      depths_.try_emplace(index(work.device), start_ns_ != 0 ? start_ns_ : queued_ns)
          .first->second.add(queued_ns, end_ns);
    }
  }

  void take(const p::Call& call) {
    const uint64_t end_ns = std::max(call.start_ns, call.end_ns);
    const auto track = tracks_.of_thread(call.process, call.tid, call.start_ns, end_ns);
    if (!track) {
      ++left_out_;
      return;
    }
    event_.clear();
    Protobuf message(event_);
    message.number(perfetto::event::kTrackUuid, *track);
    message.number(perfetto::event::kCategoryIids, interned_.text(Table::categories, "call"));
    const std::string_view function = tables_.text(call.function);
    message.number(perfetto::event::kNameIid,
                   interned_.text(Table::names, function.empty() ? analyze::kUnknown : function));
    message.number(perfetto::event::kCallstackIid, interned_.call_stack({.ustack = call.ustack}));
    put_number("correlation", call.correlation, message);
    if (call.correlation != 0) {
      message.fixed64(perfetto::event::kFlowIds, flow_of(call.process, call.correlation));
    }
    put_slice(*track, call.start_ns, end_ns);
  }

  void take(const p::Span& span) {
    const uint64_t end_ns = std::max(span.start_ns, span.end_ns);
    const auto track = tracks_.of_ranges(span.process, span.tid, span.start_ns, end_ns);
    if (!track) {
      ++left_out_;
      return;
    }
    const p::Range* const range = tables_.range(span.range);
    event_.clear();
    Protobuf message(event_);
    message.number(perfetto::event::kTrackUuid, *track);
    message.number(perfetto::event::kCategoryIids, interned_.text(Table::categories, "nvtx"));
    message.number(perfetto::event::kNameIid,
                   range == nullptr ? interned_.text(Table::names, analyze::kUnknown) : range_name(*range));
    put_slice(*track, span.start_ns, end_ns);
  }

  // ---- packets ----

  // Its beginning with the fields of event_, and its end.
  void put_slice(uint64_t track, uint64_t start_ns, uint64_t end_ns) {
    put_event(perfetto::event::kSliceBegin, start_ns);
    event_.clear();
    Protobuf(event_).number(perfetto::event::kTrackUuid, track);
    put_event(perfetto::event::kSliceEnd, end_ns);
  }

  void put_event(uint64_t type, uint64_t ns) {
    if (interned_.has_new()) {
      std::string data;
      Protobuf(data).bytes(perfetto::packet::kInternedData, interned_.take());
      packets_.put(data);
    }
    Protobuf(event_).number(perfetto::event::kType, type);
    packet_.clear();
    Protobuf message(packet_);
    message.present(perfetto::packet::kTimestamp, ns);
    message.bytes(perfetto::packet::kTrackEvent, event_);
    packets_.put(packet_);
  }

  void put_number(std::string_view name, uint64_t value, Protobuf& message) {
    if (value != 0) {
      std::string annotation;
      Protobuf fields(annotation);
      fields.number(perfetto::annotation::kNameIid, interned_.text(Table::annotations, name));
      fields.number(perfetto::annotation::kUintValue, value);
      message.bytes(perfetto::event::kDebugAnnotations, annotation);
    }
  }

  Status put_counters() {
    for (const auto& [device, depth] : depths_) {
      const uint64_t track = tracks_.counter(p::DeviceId{device}, "queue depth");
      for (const DepthCounter::Sample& sample : depth.samples()) {
        event_.clear();
        Protobuf message(event_);
        message.number(perfetto::event::kTrackUuid, track);
        message.present(perfetto::event::kCounterValue, static_cast<uint64_t>(sample.depth));
        put_event(perfetto::event::kCounter, sample.time_ns);
        if (Status written = packets_.is_due() ? packets_.flush() : Status(); !written) {
          return written;
        }
      }
    }
    return {};
  }

  // ---- names, looked up once: many events share theirs ----

  uint64_t name_of(const p::Work& work) {
    const uint64_t key = (uint64_t{static_cast<uint8_t>(work.op)} << 32U) | index(work.name);
    const auto [known, is_new] = names_.try_emplace(key);
    if (is_new) {
      known->second = interned_.text(Table::names, frames_.paths().work_label(work));
    }
    return known->second;
  }

  uint64_t range_name(const p::Range& range) {
    const auto [known, is_new] = range_names_.try_emplace(index(range.id));
    if (is_new) {
      known->second = interned_.text(Table::names, range_label(range));
    }
    return known->second;
  }

  [[nodiscard]] std::string range_label(const p::Range& range) const {
    const std::string_view domain = tables_.text(range.domain);
    const std::string_view name = tables_.text(range.name);
    return name.size() + domain.size() < kMostShownBytes ? analyze::range_label(tables_, range) : shown_text(name);
  }

  // "step/forward", of a long path its end.
  const std::string& range_text(p::RangeId id) {
    const auto [known, is_new] = range_texts_.try_emplace(index(id));
    if (is_new) {
      std::string path;
      const p::Range* range = tables_.range(id);
      for (; range != nullptr && path.size() <= kMostRangeBytes; range = tables_.range(range->parent)) {
        path = cut_middle(shown_ends(escaped(range_label(*range))), kMostRangeBytes) + (path.empty() ? "" : "/" + path);
      }
      known->second = range == nullptr ? path : ".../" + path;
    }
    return known->second;
  }

  const p::Tables& tables_;
  analyze::WalkFrames frames_;
  Interned interned_;
  perfetto::Packets packets_;
  perfetto::Tracks tracks_;
  uint64_t start_ns_ = 0;
  uint64_t start_unix_ns_ = 0;
  uint64_t events_ = 0;
  uint64_t left_out_ = 0;
  std::map<uint32_t, DepthCounter> depths_;       // by DeviceId
  std::unordered_map<uint64_t, uint64_t> names_;  // by operation and name
  std::unordered_map<uint32_t, uint64_t> range_names_;
  std::unordered_map<uint32_t, std::string> range_texts_;  // of bounded length
  std::string event_;                                      // being put together
  std::string packet_;
};

PerfettoTrace::PerfettoTrace(const profile::Tables& tables, const analyze::StackOptions& stacks, Sink sink)
    : impl_(std::make_unique<Impl>(tables, stacks, std::move(sink))) {}
PerfettoTrace::~PerfettoTrace() = default;

Status PerfettoTrace::add(const profile::Record& record) {
  return impl_->add(record);
}
Status PerfettoTrace::finish() {
  return impl_->finish();
}
uint64_t PerfettoTrace::events() const {
  return impl_->events();
}
uint64_t PerfettoTrace::left_out() const {
  return impl_->left_out();
}
const analyze::StackView::Trimmed& PerfettoTrace::trimmed() const {
  return impl_->trimmed();
}

}  // namespace gpuprof::output
