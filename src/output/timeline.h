// What the formats of a recorded timeline have in common: which slices there are and what is known of them, the lanes
// that they lie in, the queue depth of a device, and which call put which work on a device.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "analyze/paths/walk_frames.h"
#include "base/result.h"
#include "output/timeline_tracks.h"
#include "profile/records.h"
#include "profile/tables.h"

namespace gpuprof::output {

class Timeline {
 public:
  // Where the bytes go, piece by piece.
  using Sink = std::function<Status(std::string_view)>;

  // `tables` knows the definitions of every record before it comes.
  Timeline(const profile::Tables& tables, const analyze::StackOptions& stacks)
      : tables_(tables), frames_(tables, stacks) {}
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;
  virtual ~Timeline() = default;

  // Memory does not grow with EVENT, CALL and SPAN records, but with the tracks and the definitions.
  Status add(const profile::Record& record);
  Status finish();  // ends the file

  [[nodiscard]] uint64_t events() const { return events_; }      // EVENT, CALL and SPAN records so far
  [[nodiscard]] uint64_t left_out() const { return left_out_; }  // those that no track had room for
  [[nodiscard]] const analyze::StackView::Trimmed& trimmed() { return frames_.paths().view().trimmed(); }

 protected:
  enum class Category : uint8_t { gpu, host, call, nvtx };
  static const char* word(Category category);

  struct Fact {
    const char* name;
    uint64_t value;
  };
  struct Slice {
    Track track;
    Category category = Category::gpu;
    uint64_t start_ns = 0;
    uint64_t end_ns = 0;
    const profile::Work* work = nullptr;  // of GPU and host work, which it gives its name
    std::string_view name;                // of calls and ranges
    analyze::LaunchSite site;
    std::span<const Fact> facts;
    profile::RangeId range{};  // that the work was put on the device in
    profile::ProcessId process{};
    uint64_t arrow = 0;  // correlation id of a call and of its work on the GPU; 0: none
  };
  // A call or a piece of GPU work: where an arrow begins or ends.
  struct Place {
    Track track;
    uint64_t start_ns = 0;
  };

  // The tracks for a slice of that time; nothing if they, and those made beside them, have no room.
  virtual std::optional<Track> thread_track(profile::ProcessId process, uint32_t tid, uint64_t start_ns,
                                            uint64_t end_ns) = 0;
  virtual std::optional<Track> range_track(profile::ProcessId process, uint32_t tid, uint64_t start_ns,
                                           uint64_t end_ns) = 0;
  virtual std::optional<Track> device_track(profile::DeviceId device, const std::string& name, uint64_t start_ns,
                                            uint64_t end_ns) = 0;
  virtual Track counter_track(profile::DeviceId device, const char* name) = 0;

  virtual void begin() {}  // before the first slice
  virtual void put(const Slice& slice) = 0;
  virtual void put_arrow(const Place& /*call*/, const Place& /*work*/) {}
  virtual void put_counter(const Track& track, const char* name, uint64_t ns, uint64_t value) = 0;
  virtual Status end() = 0;  // what comes last
  [[nodiscard]] virtual bool is_due() const = 0;
  virtual Status flush() = 0;

  // "step"; "domain:step" outside of the default domain. Of bounded length.
  [[nodiscard]] std::string range_name(const profile::Range& range) const;

  const profile::Tables& tables_;
  analyze::WalkFrames frames_;
  std::optional<uint64_t> start_ns_;         // of the recording
  std::map<std::string, std::string> meta_;  // the first of each key
  std::map<std::string, uint64_t> losses_;   // by reason

 private:
  void take(const profile::Event& event);
  void take(const profile::Call& call);
  void take(const profile::Span& span);
  void join(const profile::Event& event, const profile::Work& work, const Track& track, uint64_t end_ns);

  uint64_t events_ = 0;
  uint64_t left_out_ = 0;
  std::map<uint32_t, DepthCounter> depths_;  // by DeviceId
  RecentTable<Place> calls_;
  RecentTable<Place> work_without_call_;
};

}  // namespace gpuprof::output
