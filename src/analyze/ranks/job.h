// A parallel job from the records of its profile: what each rank did in each stretch of time, and from which call path.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyze/parts/part_meta.h"
#include "analyze/paths/call_path.h"
#include "base/result.h"
#include "base/text/pattern.h"
#include "profile/records.h"
#include "profile/tables.h"

namespace gpuprof::analyze {

enum class RankBy : uint8_t { rank, pid, host };

// What a rank did; `before` of idle: the device had nothing to do until that work was launched.
enum class Activity : uint8_t { compute, collective, wait, collective_wait, other_host, idle, nothing };

struct RankCell {            // sums of a rank in a stretch of time; ns
  uint64_t busy = 0;         // GPU work but for collectives
  uint64_t floor = 0;        // as busy, had each work always taken the least that it took in that slice
  uint64_t collective = 0;   // collectives: GPU work, or waits of the CPU where the job has no GPU work of them
  uint64_t waits = 0;        // of the CPU for the GPU, but for those in collectives
  uint64_t idle = 0;         // the device had nothing to do
  uint64_t collectives = 0;  // how many
  uint64_t meetings = 0;     // waits of the CPU in collectives, until finish() knows what they are
  uint64_t meetings_ns = 0;
};

struct JobRank {
  std::string name;  // "3", or what RankBy says
  std::string host;
  std::vector<RankCell> cells;  // by block
  RankCell total;
};

struct JobPath {  // what of all ranks has the same activity, call path and kernel
  Activity activity = Activity::compute;
  profile::WorkId example{};
};

struct PathSum {
  uint64_t ns = 0;
  uint64_t count = 0;
  uint64_t floor = 0;  // of GPU work: as in RankCell
};

struct JobOptions {
  Pattern collective;
  RankBy by = RankBy::rank;
  StackOptions stacks;
};

class Job {
 public:
  static constexpr uint64_t kMostBlocks = 1024;  // blocks join in pairs where there would be more

  explicit Job(JobOptions options);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job();

  // A record of a merged profile, in the order of its lines.
  Status take(const profile::Record& record);

  // When all are taken: joins blocks until each rank has a few collectives in most of them, and sorts the ranks.
  void finish();

  [[nodiscard]] const std::vector<JobRank>& ranks() const { return ranks_; }
  [[nodiscard]] const std::vector<JobPath>& paths() const { return paths_; }
  [[nodiscard]] uint64_t interval_ns() const { return interval_ns_; }
  [[nodiscard]] uint64_t block_slices() const { return width_; }
  [[nodiscard]] uint64_t block_ns() const { return width_ * interval_ns_; }
  // When a block begins, since the start of the recording.
  [[nodiscard]] uint64_t begin_slice(uint64_t block) const { return origin_.value_or(0) + block * width_; }
  [[nodiscard]] uint64_t begin_ns(uint64_t block) const { return begin_slice(block) * interval_ns_; }
  [[nodiscard]] uint64_t blocks() const { return blocks_; }
  [[nodiscard]] uint64_t collectives() const { return collectives_; }
  [[nodiscard]] uint64_t without_rank() const { return without_rank_; }  // GPU records of processes that have none
  [[nodiscard]] uint64_t lost() const { return lost_; }
  [[nodiscard]] std::string part() const { return part_text(part_meta_); }  // of another profile; empty: it is none
  [[nodiscard]] bool has_idle() const { return has_idle_; }
  [[nodiscard]] bool has_waits() const { return has_waits_; }

  // By path, and below it by rank, what came from block to block, both included. Ranks without any of it are not there.
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
  };
  const WorkFacts& facts_of(profile::WorkId id, bool idle);
  WorkFacts make_facts(const profile::Work& work, bool idle);
  [[nodiscard]] Activity activity_of(const profile::Work& work);
  bool is_collective(const profile::Work& work);
  std::optional<uint32_t> rank_of(const profile::Work& work);
  void add(uint64_t slice, const WorkFacts& facts, const RecordSums& sums);
  uint64_t block_of(uint64_t slice);
  void join_blocks();
  void settle_meetings();
  void sort_ranks();
  [[nodiscard]] uint64_t usual_collectives() const;

  JobOptions options_;
  profile::Tables tables_;
  std::shared_ptr<WorkPaths> texts_;
  std::vector<JobRank> ranks_;
  std::map<std::string, uint32_t> rank_ids_;
  std::vector<JobPath> paths_;
  std::map<std::pair<Activity, PathKey>, uint32_t> path_ids_;
  std::vector<WorkFacts> works_[2];             // by idle or not, and by position in the tables
  std::unordered_map<uint64_t, PathSum> sums_;  // by rank, path and block
  std::map<uint64_t, bool> collective_stacks_;
  std::optional<uint64_t> origin_;  // slice of the first block
  std::string host_;
  std::multimap<std::string, std::string> part_meta_;
  uint64_t width_ = 1;
  uint64_t blocks_ = 0;
  uint64_t interval_ns_ = 0;
  uint64_t collectives_ = 0;
  uint64_t without_rank_ = 0;
  uint64_t lost_ = 0;
  bool has_idle_ = false;
  bool has_waits_ = false;
};

}  // namespace gpuprof::analyze
