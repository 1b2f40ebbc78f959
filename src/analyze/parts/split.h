// Parts of a profile by process, rank, device or time. Each row goes into one part; what belongs to none of them goes
// into one of its own, "rest". So merge() of all parts is the profile again.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "analyze/merge/merge.h"
#include "analyze/parts/part.h"
#include "analyze/parts/part_meta.h"
#include "analyze/parts/whole.h"

namespace gpuprof::analyze {

enum class SplitBy : uint8_t { process, rank, device, time };

inline constexpr size_t kMostParts = 4096;  // besides the rest

class Split {
 public:
  // Opens a part. Its name is made of [A-Za-z0-9._+-], begins with a word of ours, and differs from all others.
  using OpenPart = std::function<Result<RecordSink>(const std::string& name)>;

  // `length_ns` is that of a part by time.
  Split(SplitBy by, uint64_t length_ns, OpenPart open) : by_(by), length_ns_(length_ns), open_(std::move(open)) {}

  Status take(const profile::Record& record);  // those of merge(), in turn
  Status finish();                             // fails with kExitNothing where no row belongs to a part

  [[nodiscard]] size_t parts() const { return parts_.size(); }  // without the rest
  [[nodiscard]] bool has_rest() const { return rest_.has_value(); }
  [[nodiscard]] std::vector<std::string> mismatches() const { return whole_.mismatches(); }

 private:
  Result<Part*> part_of(const profile::Record& row);
  [[nodiscard]] std::optional<uint64_t> key_of(const Belongs& row) const;
  [[nodiscard]] std::pair<std::string, std::string> identity_of(uint64_t key) const;
  [[nodiscard]] std::string name_of(uint64_t key) const;   // of its file
  [[nodiscard]] std::string which_of(uint64_t key) const;  // for META
  Result<Part*> rest();
  MetaLines own_meta(const std::string& which);
  Status add_leftovers();
  [[nodiscard]] Error nothing() const;

  SplitBy by_;
  uint64_t length_ns_;
  OpenPart open_;
  Whole whole_;
  std::string of_;  // META part.of
  std::unordered_map<uint64_t, Part*> by_key_;
  std::deque<Part> parts_;
  std::optional<Part> rest_;
  std::set<std::string> names_;
  uint64_t rows_ = 0;
};

}  // namespace gpuprof::analyze
