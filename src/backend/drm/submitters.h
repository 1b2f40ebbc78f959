// Reports each process that queues jobs as a source to the event sink, with its devices, rings, stacks and losses.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
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

// Returns N if cardN is the device with this name on its bus. Returns nullopt if the device has no card or is gone.
// Tests put `root` before /sys.
std::optional<uint32_t> card_number(const std::string& device, const std::string& root = "");

// Makes a job's name from its driver and ring. In xe, a ring is a queue, and its number differs between runs. So the
// name contains only the ring's engine class, as in "xe-rcs".
std::string job_name(std::string_view driver, std::string_view ring);

// The object to which a process submits jobs: an exec queue of xe, a context of i915, or a ring.
struct StreamKey {
  uint64_t id = 0;
  uint64_t file = 0;  // the open file to which the id belongs; 0 for a ring
  uint32_t device = 0;
  bool operator==(const StreamKey&) const = default;
};

class StreamNumbers {
 public:
  // Returns the number of the stream and whether it is new. The number is `wanted` if it is below kFirstOfOthers and
  // free on the device. It may be taken, because drivers number streams per open file, and a process may have
  // several.
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
  std::set<std::pair<uint32_t, uint64_t>> taken_;
  uint64_t next_other_ = kFirstOfOthers;
};

template <size_t Bytes>
std::string_view text_of(const char (&field)[Bytes]) {
  const std::string_view all(field, Bytes);
  return all.substr(0, all.find('\0'));
}

class Submitters {
 public:
  Submitters(const Recording& recording, const char* backend, std::string root = "")
      : recording_(recording), backend_(backend), root_(std::move(root)) {}

  // Stores a stack. Later events may refer to it.
  void on_stack(const gpuprof_bpf_stack& stack, std::span<const uint64_t> words, std::span<const uint64_t> kernel);
  void on_code(uint32_t pid, const PythonCode& code);
  // Reports that the process has loaded or unloaded libraries, or has executed another program.
  void on_loader(uint32_t pid);
  // Reports the launch of a job with its device and stack, and returns the job. `queued` must name a process. If its
  // tid is 0, a kernel thread queued the job for the process, and the launch has no stack.
  Job launch(const gpuprof_drm_queued& queued);
  void report_work(const Job& job, uint64_t start_ns);
  // Reports a kernel of the job's batch. Called before or after the job's work is reported.
  void report_kernel(const Job& job, uint64_t start_ns, const std::string& kernel);
  // Returns the name id of a text in the source. Returns 0 if the source has ended.
  uint32_t name_id(SourceId source, const std::string& text);
  // Returns the number of the device with this name on its bus. The number is the same for all sources.
  uint32_t device_number(std::string_view bus);
  // Like device_number(), and reports the device to the source.
  uint32_t device_of(SourceId source, std::string_view bus, std::string_view driver);
  // Returns the source for events of unknown processes, and of processes that the recording does not admit. It exists
  // until the recording ends.
  SourceId unknown_source();
  // Returns the name id that says that the job's time is unknown.
  uint32_t untimed_name(const Job& job);
  void lose(SourceId source, unsigned reason, uint64_t count);  // `reason` is an enum gpuprof_loss
  void count_failed(SourceId source);
  // Counts losses that belong to no process. They are reported when a source exists.
  void lose(unsigned reason, uint64_t count) { pending_losses_[reason] += count; }
  // Adds a META record KEY=VALUE about the recording to the profile. Returns false if no source exists yet that can
  // send it.
  bool add_meta(const std::string& text);

  void report_counters();
  // Returns the sources of processes that have ended or executed another program. The caller must call end() for
  // them.
  [[nodiscard]] std::vector<SourceId> ended() const;
  [[nodiscard]] std::vector<SourceId> all() const;
  void end(SourceId source);
  [[nodiscard]] uint32_t pid_of(SourceId source) const;  // 0 if the source has ended

 private:
  struct Submitter {
    SourceId id = 0;
    uint32_t pid = 0;
    uint64_t image = 0;
    std::shared_ptr<ProcessGuard> guard;  // null: the process had ended before its first event was handled
    std::unordered_map<std::string, uint32_t> names;
    std::unordered_map<uint32_t, uint32_t> untimed_names;  // from the name id of a job
    std::unordered_set<uint32_t> devices;
    std::unordered_map<uint64_t, bool> stacks;  // by id of a reported stack: whether its walk used unwind tables
    StreamNumbers streams;
    size_t described_streams = 0;
    uint64_t without_tables = 0;  // launches whose stacks were walked by frame pointers
    Counters counters;
    bool changed = false;
    bool replaced = false;
  };
  struct Words {
    std::vector<uint64_t> words;
    std::vector<uint64_t> kernel;
    uint32_t flags = 0;
    uint64_t read_ns = 0;
    // Returns the number of words, plus the estimated size of a stack without words.
    [[nodiscard]] size_t size() const { return words.size() + kernel.size() + 16; }
  };

  Submitter& submitter(const gpuprof_drm_queued& queued);
  Submitter& make(const Credentials& process, uint64_t image);
  uint32_t name(Submitter& of, const std::string& text);
  [[nodiscard]] SourceId any_source() const;
  uint32_t device(Submitter& of, std::string_view bus, std::string_view driver);
  uint64_t ring(const gpuprof_drm_queued& queued);
  uint64_t stream(Submitter& of, const gpuprof_drm_queued& queued, const Job& job);
  uint64_t stack(Submitter& of, uint64_t id);
  void forget_waiting(uint64_t stack);

  static constexpr uint32_t kFirstOfOthers = 256;  // number of the first device that has no card number
  // Limits for all processes together.
  static constexpr size_t kMaxNames = 262144;
  static constexpr size_t kMaxStacks = 524288;
  // A stack waits only until the event after it. If that event was lost, the stack stays.
  static constexpr size_t kMaxWaitingWords = size_t{1} << 21;
  static constexpr size_t kMaxRings = 65536;
  static constexpr size_t kMaxDescribedStreams = 256;

  Recording recording_;
  const char* backend_;
  std::string root_;
  std::unordered_map<SourceId, Submitter> submitters_;
  std::unordered_map<uint32_t, SourceId> by_pid_;
  std::unordered_map<uint64_t, Words> waiting_;  // stacks to which no event has referred yet
  size_t waiting_words_ = 0;                     // size of all waiting stacks
  size_t names_ = 0;                             // Submitter::names of all processes
  size_t stacks_ = 0;                            // Submitter::stacks of all processes
  std::unordered_map<std::string, uint32_t> devices_;
  std::map<std::pair<std::string, uint64_t>, uint64_t> rings_;
  std::map<unsigned, uint64_t> pending_losses_;
  SourceId unknown_source_ = 0;
  uint64_t last_ring_ = 0;
  uint64_t last_correlation_ = 0;
};

}  // namespace gpuprof::backend::drm
