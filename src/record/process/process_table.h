// The process images of a session: who they are and what they have mapped, taken while they live.
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

// One process image; an exec makes a new one. Shared with the writer thread, which only reads what is const.
struct ProcessImage {
  profile::ProcessId id{};
  uint32_t pid = 0;
  uint32_t ppid = 0;
  uint64_t start_ns = 0;  // CLOCK_MONOTONIC, when first seen
  std::string name;       // comm
  std::string command;    // command line
  std::string rank;       // in an MPI, SLURM or torchrun job; empty: none
};

class ProcessTable {
 public:
  // Beyond the memory budget mappings are not read again.
  explicit ProcessTable(const MemoryBudget* memory = nullptr);

  struct Entry {
    std::shared_ptr<const ProcessImage> image;
    std::shared_ptr<const symbolize::ProcessMaps> maps;
    std::shared_ptr<ProcessGuard> guard;          // null: the process could not be held, and nothing of it is read
    std::set<std::string, std::less<>> backends;  // that have connected from this image
    bool alive = true;                            // at the last reading
    uint64_t next_refresh_ns = 0;                 // after a reading of the mappings that explained nothing
    uint64_t last_read_ns = 0;                    // of the mappings
    uint64_t read_took_ns = 0;
    uint64_t since_ns = 0;  // when the mappings were first read as they are in `maps`
    struct Former {
      uint64_t since_ns = 0;
      std::shared_ptr<const symbolize::ProcessMaps> maps;
    };
    std::deque<Former> former;  // oldest first
    uint64_t next_look_ns = 0;  // what is mapped may be something else by then
  };

  // Who a process was when it connected: before its on_source(). One that has other rights when it is looked at is not
  // read any more, and what was read at that moment is dropped.
  void on_process(uint32_t pid, std::shared_ptr<ProcessGuard> guard) { guards_[pid] = std::move(guard); }

  // The image that a new source of `backend` belongs to. A second source of one backend and pid is a new image.
  Entry& on_source(uint32_t pid, std::string_view backend);

  // The current image of a pid, made if need be (record -p).
  Entry& by_pid(uint32_t pid);

  // Makes sure that the mappings behind the addresses are known, reading them again if not, or if that was more than a
  // second ago: a library may have taken the place of another. What has been unmapped stays known until something else
  // takes its place. After a reading that did not help there is none for 20 ms: an address may be in no mapping at all.
  // False: the process is gone, and mappings that it made after the last reading are not known.
  bool know_mappings(Entry& entry, std::span<const uint64_t> addresses);

  // Reads the mappings again, as they are said to have changed; not twice in 20 ms. True: they have.
  bool read_again(Entry& entry);

  // The same for what a process may say as often as it likes: soon, but not twice in 100 ms.
  bool on_changed(Entry& entry);

  // Reads them again for somebody who must know when that was: entry.maps is another object then, changed or not. Takes
  // at most a twentieth of the time, and not twice in 20 ms. True: that has been done, or the process is gone.
  bool read_anew(Entry& entry);

  // The mappings as they were read at `read_ns`, where one of the addresses was in another file by them than it is by
  // entry.maps; null: none was, or those mappings are not kept any more.
  static std::shared_ptr<const symbolize::ProcessMaps> other_view(const Entry& entry, uint64_t read_ns,
                                                                  std::span<const uint64_t> addresses);

  [[nodiscard]] bool knows(uint32_t pid) const { return by_pid_.contains(pid); }
  void forget(uint32_t pid);  // it has ended; a new process may get the number

 private:
  Entry make(uint32_t pid);
  std::shared_ptr<ProcessGuard> guard_of(uint32_t pid);
  bool read(Entry& entry, uint64_t now, bool anew = false);
  const MemoryBudget* memory_;
  std::shared_ptr<symbolize::FileCache> files_;
  std::unordered_map<uint32_t, Entry> by_pid_;
  std::unordered_map<uint32_t, std::shared_ptr<ProcessGuard>> guards_;  // of those that have connected
  uint32_t next_id_ = 1;
};

}  // namespace gpuprof::record
