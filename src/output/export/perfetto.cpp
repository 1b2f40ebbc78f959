#include "output/export/perfetto.h"

#include <bit>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "output/export/perfetto_fields.h"
#include "output/export/perfetto_packets.h"
#include "output/export/perfetto_stacks.h"
#include "output/export/perfetto_tracks.h"
#include "output/export/protobuf.h"
#include "output/export/work_facts.h"
#include "output/text.h"

namespace gpuprof::output {
namespace {

namespace p = gpuprof::profile;
using perfetto::Interned;
using Table = Interned::Table;

// Range names are cut to this length, because each event repeats the name of its range.
constexpr size_t kMostPacketRangeBytes = 80;

// Returns the flow id that a call shares with its GPU work.
uint64_t flow_of(p::ProcessId process, uint64_t correlation) {
  constexpr unsigned kProcessShift = 44;
  return (uint64_t{index(process)} << kProcessShift) + correlation;
}

class PerfettoTrace : public Timeline {
 public:
  PerfettoTrace(const p::Tables& tables, const analyze::StackOptions& stacks, Sink sink)
      : Timeline(tables, stacks), interned_(frames_), packets_(std::move(sink)), tracks_(tables, packets_) {}

 private:
  [[nodiscard]] bool is_due() const override { return packets_.is_due(); }
  Status flush() override { return packets_.flush(); }
  Status end() override {
    tracks_.name_threads();
    return packets_.flush();
  }

  std::optional<Track> thread_track(p::ProcessId process, uint32_t tid, uint64_t start_ns, uint64_t end_ns) override {
    return tracks_.of_thread(process, tid, start_ns, end_ns);
  }
  std::optional<Track> range_track(p::ProcessId process, uint32_t tid, uint64_t start_ns, uint64_t end_ns) override {
    return tracks_.of_ranges(process, tid, start_ns, end_ns);
  }
  std::optional<Track> device_track(p::DeviceId device, const std::string& name, uint64_t start_ns,
                                    uint64_t end_ns) override {
    return tracks_.of_device(device, name, start_ns, end_ns);
  }
  Track counter_track(p::DeviceId device, const char* name) override { return tracks_.counter(device, name); }

  void begin() override {
    std::string first;
    Protobuf(first).message(perfetto::packet::kTracePacketDefaults, [](Protobuf& defaults) {
      defaults.number(perfetto::packet_defaults::kTimestampClockId, perfetto::clock::kMonotonic);
    });
    packets_.put(first, true);
    std::string clocks;
    Protobuf(clocks).message(perfetto::packet::kClockSnapshot, [this](Protobuf& snapshot) {
      put_clock(perfetto::clock::kMonotonic, start_ns_.value_or(0), snapshot);
      if (const uint64_t unix_ns = whole_number(first_meta(info_, "start_unix_ns")).value_or(0); unix_ns != 0) {
        put_clock(perfetto::clock::kRealtime, unix_ns, snapshot);
      }
      snapshot.number(perfetto::clock_snapshot::kPrimaryTraceClock, perfetto::clock::kMonotonic);
    });
    packets_.put(clocks);
  }

  static void put_clock(uint64_t id, uint64_t ns, Protobuf& snapshot) {
    snapshot.message(perfetto::clock_snapshot::kClocks, [&](Protobuf& clock) {
      clock.number(perfetto::clock::kClockId, id);
      clock.present(perfetto::clock::kTimestamp, ns);
    });
  }

  void put(const Slice& slice) override {
    event_.clear();
    Protobuf message(event_);
    message.number(perfetto::event::kTrackUuid, slice.track.tid);
    message.number(perfetto::event::kCategoryIids, interned_.text(Table::categories, word(slice.category)));
    message.number(perfetto::event::kNameIid,
                   slice.work != nullptr ? name_of(*slice.work) : interned_.text(Table::names, slice.name));
    if (const uint64_t stack = interned_.call_stack(slice.site); stack != 0) {
      message.number(perfetto::event::kCallstackIid, stack);
      // Only GPU work gets a weight: Perfetto sums the weights of an interval, and CPU time must not count as GPU time.
      if (slice.category == Category::gpu) {
        message.fixed64(perfetto::event::kCallstackWeight,
                        std::bit_cast<uint64_t>(static_cast<double>(slice.end_ns - slice.start_ns)));
      }
    }
    put_facts(slice, message);
    if (slice.arrow != 0) {
      message.fixed64(perfetto::event::kFlowIds, flow_of(slice.process, slice.arrow));
    }
    put_event(perfetto::event::kSliceBegin, slice.start_ns);
    event_.clear();
    Protobuf(event_).number(perfetto::event::kTrackUuid, slice.track.tid);
    put_event(perfetto::event::kSliceEnd, slice.end_ns);
  }

  void put_facts(const Slice& slice, Protobuf& message) {
    for (const Fact& fact : slice.facts) {
      if (fact.value != 0) {
        put_annotation(fact.name, message,
                       [&](Protobuf& annotation) { annotation.number(perfetto::annotation::kUintValue, fact.value); });
      }
    }
    if (index(slice.range) != 0) {
      put_annotation("range", message, [&](Protobuf& annotation) {
        annotation.bytes(perfetto::annotation::kStringValue, range_text(slice.range));
      });
    }
  }

  template <typename Put>
  void put_annotation(std::string_view name, Protobuf& message, Put put_value) {
    message.message(perfetto::event::kDebugAnnotations, [&](Protobuf& annotation) {
      annotation.number(perfetto::annotation::kNameIid, interned_.text(Table::annotations, name));
      put_value(annotation);
    });
  }

  void put_counter(const Track& track, const char* /*name*/, uint64_t ns, uint64_t value) override {
    event_.clear();
    Protobuf message(event_);
    message.number(perfetto::event::kTrackUuid, track.tid);
    message.present(perfetto::event::kCounterValue, value);
    put_event(perfetto::event::kCounter, ns);
  }

  void put_note(const std::string& note) override {
    event_.clear();
    Protobuf message(event_);
    message.number(perfetto::event::kTrackUuid, tracks_.notes().tid);
    message.number(perfetto::event::kNameIid, interned_.text(Table::names, note));
    put_event(perfetto::event::kInstant, start_ns_.value_or(0));
  }

  // Writes a packet with the fields of event_. Writes the names that it refers to first.
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

  // ---- names, cached because many events share them ----

  uint64_t name_of(const p::Work& work) {
    const uint64_t key = (uint64_t{static_cast<uint8_t>(work.op)} << 32U) | index(work.name);
    const auto [known, is_new] = names_.try_emplace(key);
    if (is_new) {
      known->second = interned_.text(Table::names, frames_.paths().work_label(work));
    }
    return known->second;
  }

  // Returns the path of nested ranges: "step/forward". If it is too long, returns only the innermost ranges.
  const std::string& range_text(p::RangeId id) {
    const auto [known, is_new] = range_texts_.try_emplace(index(id));
    if (is_new) {
      std::string path;
      const p::Range* range = tables_.range(id);
      for (; range != nullptr && path.size() <= kMostPacketRangeBytes; range = tables_.range(range->parent)) {
        path = cut_middle(shown_ends(escaped(range_name(*range))), kMostPacketRangeBytes) +
               (path.empty() ? "" : "/" + path);
      }
      known->second = range == nullptr ? path : ".../" + path;
    }
    return known->second;
  }

  Interned interned_;
  perfetto::Packets packets_;
  perfetto::Tracks tracks_;
  std::unordered_map<uint64_t, uint64_t> names_;           // maps operation and name to iid
  std::unordered_map<uint32_t, std::string> range_texts_;  // maps RangeId to text of bounded length
  std::string event_;
  std::string packet_;
};

}  // namespace

std::unique_ptr<Timeline> perfetto_trace(const p::Tables& tables, const analyze::StackOptions& stacks,
                                         Timeline::Sink sink) {
  return std::make_unique<PerfettoTrace>(tables, stacks, std::move(sink));
}

}  // namespace gpuprof::output
