// Stores the identity and the mappings of the session's process images. Reads them while the processes live.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "base/process/process_guard.h"
#include "profile/records.h"
#include "record/memory_budget.h"
#include "symbolize/process_maps.h"

namespace gpuprof::record {

// A process image; exec creates a new one. The writer thread shares these objects, which are constant after creation.
struct ProcessImage {
  profile::ProcessId id{};
  uint32_t pid = 0;
  uint32_t ppid = 0;
  uint64_t start_ns = 0;  // when the recorder first saw the process (CLOCK_MONOTONIC)
  std::string name;       // from /proc/PID/comm
  std::string command;
  std::string rank;  // rank in an MPI, Slurm or torchrun job; empty: no rank
};

class ProcessTable {
 public:
  // Above the limit of `memory`, mappings are not read again.
  explicit ProcessTable(const MemoryBudget* memory = nullptr);

  struct Entry {
    std::shared_ptr<const ProcessImage> image;
    std::shared_ptr<const symbolize::ProcessMaps> maps;
    std::shared_ptr<ProcessGuard> guard;  // null: the identity is unknown, so the /proc files are not read
    std::set<std::string, std::less<>> backends;
    bool alive = true;  // false: the last read did not find the process
    // Earliest time of the next read for an address that the last read did not find.
    uint64_t next_refresh_ns = 0;
    uint64_t last_read_ns = 0;
    uint64_t read_took_ns = 0;
    uint64_t since_ns = 0;  // time of the first read that returned these mappings
    struct Former {
      uint64_t since_ns = 0;
      std::shared_ptr<const symbolize::ProcessMaps> maps;
    };
    std::deque<Former> former;  // oldest first; holds earlier mappings of the process
    // Time of the next read even if all addresses are known.
    uint64_t next_check_ns = 0;
  };

  // Sets the identity of a process. Call it when the process connects or submits work, before on_source(). If the
  // process's rights change later, its /proc files are no longer read. A read during which the rights change is
  // discarded. Without an identity, or if `guard` is null, nothing is read: when an event is handled, the pid may
  // already belong to another program or process, whose data its user may not see.
  void on_process(uint32_t pid, std::shared_ptr<ProcessGuard> guard) { guards_[pid] = std::move(guard); }

  // Returns the image to which a new source of `backend` belongs. If the pid already has a source of this backend, the
  // process has called exec, so the function creates a new image.
  Entry& on_source(uint32_t pid, std::string_view backend);

  // Returns the current image of a pid. Creates it if it is missing (record -p).
  Entry& by_pid(uint32_t pid);

  // Reads the mappings again if an address is in no known mapping, or if the last read was over a second ago. Unmapped
  // files stay known until another file replaces them. If a read does not find an address, the next read for it comes
  // at least 20 ms later, because the address may be in no mapping at all. Returns false if the process has ended:
  // mappings that it made after the last read are then unknown.
  bool know_mappings(Entry& entry, std::span<const uint64_t> addresses);

  // Reads mappings that are known to have changed, at most every 20 ms. Returns whether the result differs from the
  // known mappings.
  bool read_again(Entry& entry);

  // Like read_again(), but at most every 100 ms, because targets can trigger this read at any rate.
  bool on_changed(Entry& entry);

  // Reads the mappings into a new object even if they are unchanged, so that their read time is current. Does so at
  // most every 20 ms, and for at most 1/20 of the time. Returns true if it has read, or if the process has ended.
  bool read_anew(Entry& entry);

  // Returns the mappings as they were at time `read_ns` if they are known, and if one of the addresses then belonged to
  // another file or file offset than it does now. Otherwise returns null.
  static std::shared_ptr<const symbolize::ProcessMaps> other_view(const Entry& entry, uint64_t read_ns,
                                                                  std::span<const uint64_t> addresses);

  [[nodiscard]] bool knows(uint32_t pid) const { return by_pid_.contains(pid); }
  void forget(uint32_t pid);  // call it when the process has ended, because its pid may be reused

 private:
  Entry make(uint32_t pid);
  [[nodiscard]] std::shared_ptr<ProcessGuard> guard_of(uint32_t pid) const;
  bool read(Entry& entry, uint64_t now, bool anew = false);
  const MemoryBudget* memory_;
  std::shared_ptr<symbolize::FileCache> files_;
  std::unordered_map<uint32_t, Entry> by_pid_;
  std::unordered_map<uint32_t, std::shared_ptr<ProcessGuard>> guards_;
  uint32_t next_id_ = 1;
};

}  // namespace gpuprof::record
