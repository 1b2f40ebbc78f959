// Base class of the timeline formats. From the records, it derives slices and facts about them, the queue depth of each
// device, and which call launched which work.
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
#include "analyze/rows/aggregate.h"
#include "analyze/rows/totals.h"
#include "base/result.h"
#include "output/timeline_tracks.h"
#include "profile/records.h"
#include "profile/tables.h"

namespace gpuprof::output {

inline constexpr const char* kNotesTrack = "gpuprof: missing from this recording";

class Timeline {
 public:
  using Sink = std::function<Status(std::string_view)>;

  // `tables` must outlive the timeline. It must have all definitions that a record uses before the record is added.
  Timeline(const profile::Tables& tables, const analyze::StackOptions& stacks)
      : tables_(tables), frames_(tables, stacks) {
    info_.only_in_windows = true;
  }
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;
  virtual ~Timeline() = default;

  // Writes a record. Memory grows with the tracks and the definitions, not with EVENT, CALL and SPAN records.
  Status add(const profile::Record& record);
  Status finish();

  // What the records say about the recording. The caller must add the counts of skipped lines before finish().
  [[nodiscard]] analyze::ProfileInfo& info() { return info_; }

  // Number of EVENT, CALL and SPAN records that were added.
  [[nodiscard]] uint64_t events() const { return events_; }
  // Number of records that were dropped because all lanes were full.
  [[nodiscard]] uint64_t left_out() const { return left_out_; }
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
    const profile::Work* work = nullptr;  // GPU or host work, whose name is the name of the slice
    std::string_view name;
    analyze::LaunchSite site;
    std::span<const Fact> facts;
    profile::RangeId range{};  // NVTX range in which the work was launched
    profile::ProcessId process{};
    uint64_t arrow = 0;  // correlation id, which a call and its GPU work share; 0: no arrow
  };
  // One end of an arrow: the track and the start of a call, or of the GPU work that the call launched.
  struct Place {
    Track track;
    uint64_t start_ns = 0;
  };

  // Return the track for a slice [start_ns, end_ns). Return nullopt if the track and all its additional lanes are full.
  virtual std::optional<Track> thread_track(profile::ProcessId process, uint32_t tid, uint64_t start_ns,
                                            uint64_t end_ns) = 0;
  virtual std::optional<Track> range_track(profile::ProcessId process, uint32_t tid, uint64_t start_ns,
                                           uint64_t end_ns) = 0;
  virtual std::optional<Track> device_track(profile::DeviceId device, const std::string& name, uint64_t start_ns,
                                            uint64_t end_ns) = 0;
  virtual Track counter_track(profile::DeviceId device, const char* name) = 0;

  virtual void begin() {}
  virtual void put(const Slice& slice) = 0;
  virtual void put_arrow(const Place& /*call*/, const Place& /*work*/) {}
  virtual void put_counter(const Track& track, const char* name, uint64_t ns, uint64_t value) = 0;
  virtual Status end() = 0;  // writes what follows the last slice
  [[nodiscard]] virtual bool is_due() const = 0;
  virtual Status flush() = 0;

  // Returns "step", or "domain:step" outside the default domain. The length is bounded.
  [[nodiscard]] std::string range_name(const profile::Range& range) const;

  const profile::Tables& tables_;
  analyze::WalkFrames frames_;
  std::optional<uint64_t> start_ns_;

  virtual void put_note(const std::string& note) = 0;  // shows a note at the start of the recording

  analyze::ProfileInfo info_;  // losses, META lines and gaps of the profile

 private:
  void take(const profile::Event& event);
  void take(const profile::Call& call);
  void take(const profile::Span& span);
  [[nodiscard]] bool is_failure(const profile::Host& host) const;
  void join(const profile::Event& event, const profile::Work& work, const Track& track, uint64_t end_ns);

  analyze::LaunchScale scale_;
  analyze::RecordsByProcess records_;
  std::map<uint32_t, uint64_t> failures_;  // key: position of the WORK; the number of calls that failed
  uint64_t events_ = 0;
  uint64_t lost_ = 0;  // the sum of info_.losses
  uint64_t left_out_ = 0;
  std::map<uint32_t, DepthCounter> depths_;  // key: DeviceId
  RecentTable<Place> calls_;
  RecentTable<Place> work_without_call_;
};

}  // namespace gpuprof::output
