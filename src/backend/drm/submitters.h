// The processes that queue jobs, told to the event sink as sources: with their devices, rings, stacks and losses.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "backend/drm/job_join.h"
#include "base/process/process_guard.h"
#include "wire/drm_events.h"

namespace gpuprof::backend::drm {

// The number N of the cardN that is this device on its bus; none: it is no card (or is gone). `root` is in front of
// /sys.
std::optional<uint32_t> card_number(const std::string& device, const std::string& root = "");

// What a job is called: driver and ring. A ring of xe is a queue, whose number says nothing from one run to the next:
// of it the class of engine is left ("xe-rcs").
std::string job_name(std::string_view driver, std::string_view ring);

// What the jobs of a process are handed to: an exec queue of xe, a context of i915, or a ring.
struct StreamKey {
  uint64_t id = 0;
  uint64_t file = 0;  // that the id belongs to; 0: it is a ring
  uint32_t device = 0;
  bool operator==(const StreamKey&) const = default;
};

// The numbers by which the streams of one process are told apart.
class StreamNumbers {
 public:
  // The wanted number, unless it is of kFirstOfOthers or above, or another stream on the device has it: the drivers'
  // own numbers belong to open files, and a process may have several. And whether the stream is new.
  std::pair<uint64_t, bool> number(const StreamKey& key, uint64_t wanted);

  static constexpr uint64_t kFirstOfOthers = 1'000'000;
  static constexpr size_t kMax = 65536;

 private:
  struct Hash {
    size_t operator()(const StreamKey& key) const {
      return gpuprof_mix_hash(gpuprof_mix_hash(key.id, key.file), key.device);
    }
  };
  std::unordered_map<StreamKey, uint64_t, Hash> numbers_;
  std::set<std::pair<uint32_t, uint64_t>> taken_;  // device, number
  uint64_t next_other_ = kFirstOfOthers;
};

// A text of an event, up to its NUL.
template <size_t Bytes>
std::string_view text_of(const char (&field)[Bytes]) {
  const std::string_view all(field, Bytes);
  return all.substr(0, all.find('\0'));
}

class Submitters {
 public:
  Submitters(const Recording& recording, const char* backend, std::string root = "")
      : recording_(recording), backend_(backend), root_(std::move(root)) {}

  // A stack that the next events may name.
  void on_stack(const gpuprof_bpf_stack& stack, std::span<const uint64_t> words, std::span<const uint64_t> kernel);
  void on_code(uint32_t pid, const PythonCode& code);
  // A process has loaded or unloaded libraries, or something else runs in it.
  void on_loader(uint32_t pid);
  // Tells the launch, and all that it needs, and makes a job of it. `queued` names a process. Without a thread it was
  // queued on its behalf: that has no stack.
  Job launch(const gpuprof_drm_queued& queued);
  void tell_work(const Job& job, uint64_t start_ns);
  // A kernel of the job's batch; before or after its work.
  void tell_kernel(const Job& job, uint64_t start_ns, const std::string& kernel);
  // The source's number for a text. 0: the source has ended.
  uint32_t name_id(SourceId source, const std::string& text);
  // The number of a device on its bus, for all sources.
  uint32_t device_number(std::string_view bus);
  // The same, told to a source.
  uint32_t device_of(SourceId source, std::string_view bus, std::string_view driver);
  // The source of what is of no process that is known. It lasts until the end.
  SourceId nobody();
  // `reason`: enum gpuprof_loss.
  void lose(SourceId source, unsigned reason, uint64_t count);
  // A launch that nothing came of.
  void count_failed(SourceId source);
  // Losses of nobody in particular: kept until there is somebody to say it of.
  void lose(unsigned reason, uint64_t count) { unsaid_[reason] += count; }
  // Of the recording. False: there is nobody yet who could say it.
  bool add_meta(const std::string& text);

  // Counters that have changed.
  void settle();
  // Sources whose process has ended, or runs something else by now. They are to be ended by end().
  [[nodiscard]] std::vector<SourceId> ended() const;
  [[nodiscard]] std::vector<SourceId> all() const;
  void end(SourceId source);
  [[nodiscard]] uint32_t pid_of(SourceId source) const;  // 0: it has ended

 private:
  struct Submitter {
    SourceId id = 0;
    uint32_t pid = 0;
    uint64_t image = 0;
    std::optional<ProcessGuard> guard;  // none: it had ended when it was first heard of
    std::unordered_map<std::string, uint32_t> names;
    std::unordered_set<uint32_t> devices;
    std::unordered_map<uint64_t, bool> stacks;  // that have been told; whether they were walked by tables
    StreamNumbers streams;
    size_t described_streams = 0;
    uint64_t without_tables = 0;  // launches whose stack was walked by frame pointers
    Counters counters;
    bool changed = false;
    bool replaced = false;
  };
  struct Words {
    std::vector<uint64_t> words;
    std::vector<uint64_t> kernel;
    uint32_t flags = 0;
    uint64_t read_ns = 0;
  };

  Submitter& submitter(uint32_t pid, uint64_t image);
  Submitter& make(uint32_t pid, uint64_t image);
  uint32_t name(Submitter& of, const std::string& text);
  [[nodiscard]] SourceId somebody() const;
  uint32_t device(Submitter& of, std::string_view bus, std::string_view driver);
  uint64_t ring(const gpuprof_drm_queued& queued);
  uint64_t stream(Submitter& of, const gpuprof_drm_queued& queued, const Job& job);
  uint64_t stack(Submitter& of, uint64_t id);

  static constexpr uint32_t kFirstOfOthers = 256;  // devices that are no card
  static constexpr size_t kMaxNames = 262144;      // of a process
  static constexpr size_t kMaxWaitingStacks = 65536;
  static constexpr size_t kMaxRings = 65536;
  static constexpr size_t kMaxDescribedStreams = 256;  // of a process

  Recording recording_;
  const char* backend_;
  std::string root_;
  std::unordered_map<SourceId, Submitter> submitters_;
  std::unordered_map<uint32_t, SourceId> by_pid_;
  std::unordered_map<uint64_t, Words> waiting_;  // stacks that have come, and that no event has named
  std::unordered_map<std::string, uint32_t> devices_;
  std::map<std::pair<std::string, uint64_t>, uint64_t> rings_;
  std::map<unsigned, uint64_t> unsaid_;
  SourceId nobody_ = 0;
  uint64_t last_ring_ = 0;
  uint64_t last_correlation_ = 0;
};

}  // namespace gpuprof::backend::drm
