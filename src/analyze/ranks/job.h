// Sums up what each rank of a parallel job did in each block of time, and from which call path.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyze/paths/call_path.h"
#include "analyze/rows/aggregate.h"
#include "analyze/rows/shared_devices.h"
#include "analyze/subsets/subset_meta.h"
#include "base/result.h"
#include "base/text/pattern.h"
#include "profile/records.h"
#include "profile/slice_grid.h"
#include "profile/tables.h"

namespace gpuprof::analyze {

enum class RankBy : uint8_t { rank, pid, host };

// What a rank did. `idle`: the device waited for the next launch. `other_host`: CPU work that is not a wait, such as an
// allocation. `on_cpu`, `blocked`: a thread computed, or a launching thread did not, by CPU samples. `nothing`: not
// counted.
enum class Activity : uint8_t {
  compute,
  collective,
  wait,
  collective_wait,
  other_host,
  on_cpu,
  blocked,
  idle,
  nothing
};

struct RankCell {           // sums of a rank in one block of time, in ns
  uint64_t busy = 0;        // GPU work without collectives
  uint64_t floor = 0;       // like `busy`, but counts each work item with the shortest time of its kind in its slice
  uint64_t collective = 0;  // GPU work of collectives; without such GPU work, the CPU's waits in collectives
  uint64_t waits = 0;       // time for which the CPU waited for the GPU, except in `collective`
  uint64_t idle = 0;
  uint64_t collectives = 0;
  // Number of CPU waits in collectives; finish() counts them as collectives or as ordinary waits.
  uint64_t meetings = 0;
  uint64_t meetings_ns = 0;
  // Longest GPU work item, and longest CPU wait, that ended in the block.
  uint64_t longest_gpu = 0;
  uint64_t longest_wait = 0;
};

struct JobRank {
  std::string name;  // "3", or the name that RankBy selects
  std::string host;
  std::vector<RankCell> cells;
  RankCell total;
  std::set<profile::DeviceId> idle_devices;  // devices whose idle time the cells contain
  std::set<profile::ProcessId> processes;    // those with GPU work
};

struct JobPath {  // work items of all ranks with the same activity, call path and kernel
  Activity activity = Activity::compute;
  profile::WorkId example{};
};

struct PathSum {
  uint64_t ns = 0;
  uint64_t count = 0;
  uint64_t floor = 0;  // like RankCell::floor; GPU work only
};

struct JobOptions {
  Pattern collective;
  RankBy by = RankBy::rank;
  StackOptions stacks;
  // Limits the memory for the sums of ranks, paths and blocks: above it, blocks are joined while enough of them remain.
  size_t most_sums = 4'000'000;
};

class Job {
 public:
  // Maximum number of blocks; if a job needs more, adjacent blocks are joined.
  static constexpr uint64_t kMostBlocks = 1024;

  explicit Job(JobOptions options);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job();

  // Takes the records of a merged profile, in the order of its lines.
  Status take(const profile::Record& record);

  // Call it after the last record. Joins blocks until most blocks have several collectives per rank. Sorts the ranks.
  void finish();

  [[nodiscard]] const std::vector<JobRank>& ranks() const { return ranks_; }
  [[nodiscard]] const std::vector<JobPath>& paths() const { return paths_; }
  [[nodiscard]] const profile::SliceGrid& grid() const { return grid_.grid(); }
  [[nodiscard]] uint64_t block_slices() const { return width_; }
  [[nodiscard]] uint64_t block_ns() const { return width_ * grid().interval_ns; }
  // Return the start of a block: in slices, or in ns since the start of the recording.
  [[nodiscard]] uint64_t begin_slice(uint64_t block) const { return origin_.value_or(0) + block * width_; }
  [[nodiscard]] uint64_t begin_ns(uint64_t block) const { return begin_slice(block) * grid().interval_ns; }
  [[nodiscard]] uint64_t blocks() const { return blocks_; }
  [[nodiscard]] uint64_t collectives() const { return collectives_; }
  // Returns whether collectives are GPU work, and not CPU waits.
  [[nodiscard]] bool collectives_on_gpu() const { return collectives_on_gpu_; }
  [[nodiscard]] uint64_t without_rank() const { return without_rank_; }
  [[nodiscard]] uint64_t lost() const { return lost_; }
  // Which subset of a profile the records are; empty for a complete profile.
  [[nodiscard]] std::string part() const { return part_text(info_.meta); }
  // Only the fields that no_work() and estimate_text() use.
  [[nodiscard]] const ProfileInfo& info() const { return info_; }
  // False if the idle time of each rank is unknown, for example because the ranks of one recording share a device.
  [[nodiscard]] bool has_idle() const { return has_idle_; }
  [[nodiscard]] bool has_waits() const { return has_waits_; }

  // Sums the blocks `first` to `last` (inclusive): for each path, the sums of the ranks that have work of that path.
  [[nodiscard]] std::vector<std::unordered_map<uint32_t, PathSum>> sums(uint64_t first, uint64_t last) const;

  [[nodiscard]] std::string kernel(const JobPath& path);
  [[nodiscard]] CallPath call_path(const JobPath& path);

 private:
  struct WorkFacts {
    uint32_t rank = 0;
    uint32_t path = 0;
    Activity activity = Activity::nothing;
    bool known = false;
  };
  struct RecordSums {
    uint64_t ns = 0;
    uint64_t count = 0;
    uint64_t min_ns = 0;
    uint64_t max_ns = 0;
  };
  const WorkFacts& facts_of(profile::WorkId id, bool idle);
  WorkFacts make_facts(const profile::Work& work, bool idle);
  [[nodiscard]] Activity activity_of(const profile::Work& work);
  bool is_collective(const profile::Work& work);
  std::optional<uint32_t> rank_of(const profile::Work& work);
  void add(uint64_t slice, const WorkFacts& facts, const RecordSums& sums);
  uint64_t block_of(uint64_t slice);
  void join_blocks();
  void assign_collective_waits();
  void forget_idle();
  void sort_ranks();
  [[nodiscard]] uint64_t usual_collectives() const;

  JobOptions options_;
  profile::Tables tables_;
  static bool has_lines(Activity activity) { return activity == Activity::on_cpu || activity == Activity::blocked; }
  WorkPaths& texts_of(Activity activity) { return has_lines(activity) ? *lines_ : *texts_; }

  std::shared_ptr<WorkPaths> texts_;
  std::shared_ptr<WorkPaths> lines_;  // the frames of CPU samples and waits have lines
  std::vector<JobRank> ranks_;
  std::map<std::string, uint32_t> rank_ids_;
  SharedDevices devices_;
  std::vector<JobPath> paths_;
  std::map<std::pair<Activity, PathKey>, uint32_t> path_ids_;
  // works_[1] is for idle time, works_[0] for other work. Both are indexed by the position of the WORK.
  std::vector<WorkFacts> works_[2];
  std::unordered_map<uint64_t, PathSum> sums_;  // key: key_of(rank, path, block)
  std::map<uint64_t, bool> collective_stacks_;
  std::optional<uint64_t> origin_;
  std::string host_;
  ProfileInfo info_;
  uint64_t width_ = 1;
  uint64_t blocks_ = 0;
  profile::SliceGridReader grid_;
  bool has_long_slices_ = false;  // a record was in one
  uint64_t collectives_ = 0;
  bool collectives_on_gpu_ = false;
  uint64_t without_rank_ = 0;
  uint64_t lost_ = 0;
  bool has_idle_ = false;
  bool has_waits_ = false;
};

}  // namespace gpuprof::analyze
