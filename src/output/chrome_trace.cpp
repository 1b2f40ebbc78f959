#include "output/chrome_trace.h"

#include <cstdio>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyze/rows/dimensions.h"
#include "base/hash.h"
#include "base/text/utf8.h"
#include "output/json_stream.h"
#include "output/text.h"

namespace gpuprof::output {
namespace {

namespace p = gpuprof::profile;

constexpr size_t kFlushBytes = size_t{1} << 16U;
constexpr size_t kMostRangeBytes = 40;
constexpr size_t kMostNameBytes = 80;      // names in events are cut to this length, but not those in stacks
constexpr uint64_t kNotesPid = 5'000'000;  // above the pids of all processes, and below those of devices
// The tracks that do not belong to a thread get tids from this number on.
constexpr uint64_t kFirstExtraTid = 15'000'000;

// Formats ns as microseconds with three decimal places, which is exact.
std::string microseconds(bool negative, uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%s%llu.%03u", negative ? "-" : "", static_cast<unsigned long long>(ns / 1000),
                static_cast<unsigned>(ns % 1000));
  return text;
}

// A trie of stack frames. Each event refers to the node of its innermost frame, so the trace stores no stack twice.
class StackFrames {
 public:
  explicit StackFrames(analyze::WorkPaths& paths) : paths_(paths) {}

  // Returns the node of the innermost frame; 0 for an empty stack.
  uint32_t of(const analyze::LaunchSite& site) {
    uint32_t node = 0;
    for (const analyze::WorkPaths::PathSegment part : paths_.launch(site)) {
      node = descend(node, part);
    }
    return node;
  }

  uint32_t child(uint32_t parent, std::string_view text) {
    return add(parent, paths_.view().text(text, analyze::FrameClass::gpu));
  }

  // Writes all nodes as a JSON object. Calls `put` after each one; `put` may flush and empty the string.
  template <typename Put>
  void write(std::string& out, Put put) const {
    out += '{';
    for (uint32_t id = 1; id <= nodes_.size(); ++id) {
      const Node& node = nodes_[id - 1];
      out.append(id == 1 ? "\n\"" : ",\n\"").append(std::to_string(id)).append("\":");
      {
        JsonObject object(out);
        object.text("name", shown_text(paths_.view().label(node.label)));
        if (node.parent != 0) {
          object.word("parent", std::to_string(node.parent));
        }
      }
      put();
    }
    out += '}';
  }

 private:
  struct Node {
    uint32_t parent = 0;
    uint32_t label = 0;  // index of a frame in the stack view
  };
#ifdef GPUPROF_FUZZING
  static constexpr size_t kMostNodes = 4096;
#else
  static constexpr size_t kMostNodes = 4'000'000;  // limits memory for hostile files: further frames are dropped
#endif

  uint32_t descend(uint32_t parent, analyze::WorkPaths::PathSegment part) {
    const auto [known, is_new] = ends_.try_emplace(join_ids(parent, part));
    if (is_new) {
      uint32_t node = parent;
      for (const uint32_t frame : paths_.frames(part)) {
        node = add(node, frame);
      }
      known->second = node;
    }
    return known->second;
  }

  uint32_t add(uint32_t parent, uint32_t label) {
    if (nodes_.size() >= kMostNodes) {
      const auto known = ids_.find(join_ids(parent, label));
      return known == ids_.end() ? parent : known->second;
    }
    const auto [known, is_new] = ids_.try_emplace(join_ids(parent, label), static_cast<uint32_t>(nodes_.size() + 1));
    if (is_new) {
      nodes_.push_back({parent, label});
    }
    return known->second;
  }

  analyze::WorkPaths& paths_;
  std::vector<Node> nodes_;                     // the node with number n is nodes_[n - 1]
  std::unordered_map<uint64_t, uint32_t> ids_;  // key: parent node and label
  // Maps a parent node and a path segment to the node of the segment's innermost frame.
  std::unordered_map<uint64_t, uint32_t> ends_;
};

class ChromeTrace : public Timeline {
 public:
  ChromeTrace(const p::Tables& tables, const analyze::StackOptions& stacks, Sink sink)
      : Timeline(tables, stacks), sink_(std::move(sink)) {
    out_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  }

 private:
  [[nodiscard]] bool is_due() const override { return out_.size() >= kFlushBytes; }

  Status flush() override {
    Status done = sink_(out_);
    out_.clear();
    return done;
  }

  Status end() override {
    name_tracks();
    out_ += "\n],\"stackFrames\":";
    Status written;
    stacks_.write(out_, [&] { written = !is_due() || !written ? written : flush(); });
    if (!written) {
      return written;
    }
    out_ += ",\"otherData\":";
    {
      JsonObject object(out_);
      for (auto line = info_.meta.begin(); line != info_.meta.end(); line = info_.meta.upper_bound(line->first)) {
        // Of a repeated key, only the first value is written.
        object.escaped_key(line->first) += json_string(line->second);
      }
      for (const auto& [reason, count] : info_.losses) {
        object.escaped_key("lost." + reason) += json_string(std::to_string(count));
      }
    }
    out_ += "}\n";
    return flush();
  }

  Track thread(p::ProcessId process, uint32_t tid) {
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

  std::optional<Track> thread_track(p::ProcessId process, uint32_t tid, uint64_t /*start_ns*/,
                                    uint64_t /*end_ns*/) override {
    return thread(process, tid);
  }

  std::optional<Track> range_track(p::ProcessId process, uint32_t tid, uint64_t /*start_ns*/,
                                   uint64_t /*end_ns*/) override {
    const Track track = thread(process, tid);
    return tid == 0 ? track : extra_track(track.pid, "NVTX of thread " + std::to_string(tid));
  }

  std::optional<Track> device_track(p::DeviceId device, const std::string& name, uint64_t start_ns,
                                    uint64_t end_ns) override {
    const auto lane = free_lane(lanes_[std::pair(index(device), name)],
                                [&](Lane& candidate) { return candidate.take(start_ns, end_ns); });
    return lane ? std::optional(extra_track(device_pid(device), lane_name(name, *lane))) : std::nullopt;
  }

  Track counter_track(p::DeviceId device, const char* /*name*/) override { return {device_pid(device), 0}; }

  void put(const Slice& slice) override {
    if (slice.category == Category::nvtx && slice.track.tid == 0) {
      return put_unnested(slice);
    }
    JsonObject object(next_event());
    const bool instant = slice.category == Category::host && slice.end_ns == slice.start_ns;
    object.word("ph", instant ? "i" : "X");
    object.word("cat", word(slice.category));
    uint32_t stack = 0;
    if (slice.work != nullptr) {
      const Named& named = work_name(*slice.work);
      object.key("name") += named.json;
      stack = stacks_.of(slice.site);
      stack = named.whole.empty() ? stack : stacks_.child(stack, named.whole);
    } else {
      const bool is_call = slice.category == Category::call;
      object.text("name", is_call ? cut_middle(shown_ends(slice.name), kMostNameBytes) : std::string(slice.name));
      stack = stacks_.of(slice.site);
    }
    put_place(object, slice.track, slice.start_ns);
    if (stack != 0) {
      object.number("sf", stack);
    }
    if (instant) {
      object.word("s", "t");
    } else {
      object.key("dur") += microseconds(false, slice.end_ns - slice.start_ns);
    }
    if (slice.category != Category::nvtx) {
      put_facts(object, slice);
    }
  }

  void put_facts(JsonObject& object, const Slice& slice) {
    JsonObject args(object.key("args"));
    for (const Fact& fact : slice.facts) {
      args.number(fact.name, fact.value);
    }
    if (index(slice.range) != 0) {
      args.key("range") += range_json(slice.range);
    }
  }

  // Ranges that are started and ended by handle may partly overlap. They are drawn as separate asynchronous events.
  void put_unnested(const Slice& slice) {
    ++async_ids_;
    for (const bool begins : {true, false}) {
      JsonObject object(next_event());
      object.word("ph", begins ? "b" : "e");
      object.word("cat", word(slice.category));
      object.text("name", slice.name);
      object.number("id", async_ids_);
      put_place(object, slice.track, begins ? slice.start_ns : slice.end_ns);
    }
  }

  // Draws an arrow from the start of a call to the start of its work.
  void put_arrow(const Place& call, const Place& work) override {
    ++arrow_ids_;
    for (const bool begins : {true, false}) {
      JsonObject object(next_event());
      object.word("ph", begins ? "s" : "f");
      object.word("cat", "flow");
      object.word("name", ">");  // the name is short, because a trace can have as many arrows as other events
      object.number("id", arrow_ids_);
      if (!begins) {
        object.word("bp", "e");
      }
      put_place(object, begins ? call.track : work.track, begins ? call.start_ns : work.start_ns);
    }
  }

  void put_counter(const Track& track, const char* name, uint64_t ns, uint64_t value) override {
    JsonObject object(next_event());
    object.word("ph", "C");
    object.word("name", name);
    put_place(object, track, ns);
    JsonObject args(object.key("args"));
    args.number("depth", value);
  }

  void put_note(const std::string& note) override {
    if (!std::exchange(has_notes_, true)) {
      put_metadata("process_name", {kNotesPid, 0}, [](JsonObject& args) { args.text("name", kNotesTrack); });
    }
    JsonObject object(next_event());
    object.word("ph", "i");
    object.word("cat", "note");
    object.text("name", note);
    object.word("s", "g");  // "g" draws a line across all tracks
    put_place(object, {kNotesPid, 0}, start_ns_.value_or(0));
  }

  void name_tracks() {
    const auto put_process = [this](uint64_t pid, std::string_view name, uint64_t position) {
      put_metadata("process_name", {pid, 0}, [&](JsonObject& args) { args.text("name", name); });
      put_metadata("process_sort_index", {pid, 0}, [&](JsonObject& args) { args.number("sort_index", position); });
    };
    const auto put_thread = [this](const Track& track, std::string_view name) {
      put_metadata("thread_name", track, [&](JsonObject& args) { args.text("name", name); });
    };
    for (const auto& [id, pid] : seen_processes_) {
      put_process(pid, process_name(tables_, p::ProcessId{id}), 0);
    }
    for (const auto& [id, pid] : seen_devices_) {
      put_process(pid, shown_text(analyze::device_label(tables_, p::DeviceId{id})), 1);
    }
    const auto names = thread_names(tables_);
    for (const auto& [key, track] : threads_) {
      if (track.tid != 0) {
        const auto name = names.find(key);
        put_thread(track, name == names.end() ? "thread " + std::to_string(track.tid) : shown_text(name->second));
      }
    }
    for (const auto& [key, tid] : extra_tids_) {
      put_thread({key.first, tid}, key.second);
    }
  }

  template <typename Put>
  void put_metadata(const char* what, const Track& track, Put put_args) {
    JsonObject object(next_event());
    object.word("ph", "M");
    object.word("name", what);
    object.number("pid", track.pid);
    object.number("tid", track.tid);
    JsonObject args(object.key("args"));
    put_args(args);
  }

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
    if (!start_ns_) {
      start_ns_ = ns;
    }
    object.key("ts") += ns < *start_ns_ ? microseconds(true, *start_ns_ - ns) : microseconds(false, ns - *start_ns_);
  }

  struct Named {
    std::string json;   // at most kMostNameBytes
    std::string whole;  // the complete name if `json` is shortened; otherwise empty
  };
  // Returns a work item's name as JSON. Caches it, because many events share a name.
  const Named& work_name(const p::Work& work) {
    const uint64_t key = (uint64_t{static_cast<uint8_t>(work.op)} << 32U) | index(work.name);
    const auto [known, is_new] = names_.try_emplace(key);
    if (is_new) {
      const std::string name = shown_text(frames_.paths().work_label(work));
      const std::string shown = name.size() <= kMostNameBytes ? name : shown_kernel(name, kMostNameBytes);
      known->second = {json_string(shown), shown == name ? std::string() : name};
    }
    return known->second;
  }

  // Returns the name of a work item's innermost range as JSON. The trace shows outer ranges as separate slices.
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

  Sink sink_;
  std::string out_;
  bool first_ = true;
  bool has_notes_ = false;
  uint64_t arrow_ids_ = 0;
  uint64_t async_ids_ = 0;
  TrackNumbers numbers_;
  std::map<uint32_t, uint64_t> seen_processes_;  // maps ProcessId to pid
  std::map<uint32_t, uint64_t> seen_devices_;
  std::map<std::pair<uint32_t, uint32_t>, Track> threads_;  // key: ProcessId and tid
  std::map<std::pair<uint64_t, std::string>, uint64_t> extra_tids_;
  std::map<std::pair<uint32_t, std::string>, std::vector<Lane>> lanes_;
  StackFrames stacks_{frames_.paths()};
  std::unordered_map<uint64_t, Named> names_;         // key: operation and name
  std::unordered_map<uint32_t, std::string> ranges_;  // maps RangeId to JSON of at most kMostRangeBytes
};

}  // namespace

std::unique_ptr<Timeline> chrome_trace(const p::Tables& tables, const analyze::StackOptions& stacks,
                                       Timeline::Sink sink) {
  return std::make_unique<ChromeTrace>(tables, stacks, std::move(sink));
}

}  // namespace gpuprof::output
