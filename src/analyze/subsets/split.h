// Splits a profile by process, rank, device or time. Each row goes into exactly one subset, so merge() of all subsets
// restores the profile. Rows without the property, such as a rank, go into the subset "rest".
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "analyze/merge/merge.h"
#include "analyze/subsets/complete_profile.h"
#include "analyze/subsets/subset_meta.h"
#include "analyze/subsets/subset_writer.h"

namespace gpuprof::analyze {

enum class SplitBy : uint8_t { process, rank, device, time };

inline constexpr size_t kMostParts = 4096;  // maximum number of subsets, not counting "rest"

class Split {
 public:
  // Opens a subset's output. `name` is unique, consists of [A-Za-z0-9._+-] and begins with a kind of subset ("rank").
  using OpenPart = std::function<Result<RecordSink>(const std::string& name)>;

  // `length_ns` is the length of a subset for SplitBy::time.
  Split(SplitBy by, uint64_t length_ns, OpenPart open) : by_(by), length_ns_(length_ns), open_(std::move(open)) {}

  Status take(const profile::Record& record);  // takes the records that merge() passes on, in their order
  Status finish();                             // fails with kExitNothing if the subset "rest" got all rows

  [[nodiscard]] size_t parts() const { return parts_.size(); }
  [[nodiscard]] bool has_rest() const { return rest_.has_value(); }
  [[nodiscard]] std::vector<std::string> mismatches() const { return whole_.mismatches(); }

 private:
  Result<SubsetWriter*> part_of(uint64_t key);
  [[nodiscard]] std::optional<uint64_t> key_of(const RowOwner& row) const;
  [[nodiscard]] std::pair<std::string, std::string> identity_of(uint64_t key) const;
  [[nodiscard]] std::string name_of(uint64_t key) const;
  [[nodiscard]] std::string which_of(uint64_t key) const;  // value of META part.which for the subset
  Result<SubsetWriter*> rest();
  MetaLines own_meta(const std::string& which);
  Status add_scales();
  Status add_weighted();
  [[nodiscard]] bool lacks_recordings() const;
  Status add_leftovers();
  [[nodiscard]] Error nothing() const;

  SplitBy by_;
  uint64_t length_ns_;
  OpenPart open_;
  CompleteProfile whole_;
  std::string of_;  // value of META part.of
  std::unordered_map<uint64_t, SubsetWriter*> by_key_;
  std::deque<SubsetWriter> parts_;
  std::optional<SubsetWriter> rest_;
  std::set<std::string> names_;
  // COVERAGE counts that scale the sums of a process but belong to no part, by process and word. The parts share them
  // as they share the GPU work of the process, which is summed by the key of the part.
  std::map<std::pair<profile::ProcessId, std::string>, uint64_t> scales_;
  std::map<profile::ProcessId, std::map<std::optional<uint64_t>, uint64_t>> gpu_counts_;
  // WEIGHTED lines, by process and slice. Each part with work of the process gets all of them.
  std::map<profile::ProcessId, std::map<uint64_t, uint64_t>> weighted_;
  uint64_t rows_ = 0;
};

}  // namespace gpuprof::analyze
