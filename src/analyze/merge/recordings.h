// Finds the recordings that several profiles hold, so that none counts twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace gpuprof::analyze {

// Limits the memory for ids, which is in use until a merge ends.
inline constexpr size_t kMostRecordings = size_t{1} << 18U;

inline constexpr std::string_view kRecordingKey = "recording";           // id of a recording
inline constexpr std::string_view kRecordingPartKey = "recording.part";  // the same, if only a subset may be there

struct Recordings {
  std::set<std::string> whole;  // ids of complete recordings in the profile
  std::set<std::string> parts;  // ids of recordings that may be incomplete in the profile
  std::string split;            // a hash of META part.of; "": the profile is no output of `split`
  std::string subset;           // a hash of META part.which
  std::string filters;          // a hash of the META filter lines; "": there are none
  uint64_t bytes = 0;  // size of the file: of two copies, the larger one is used, because the other may be cut short
};

// Reads the META lines at the beginning of a profile. If META recording is missing, the start time and the host are the
// id: two recordings of one host never start in the same nanosecond.
Recordings recordings_of(std::span<const std::pair<std::string, std::string>> meta);

// Returns the ids of all recordings in a profile, complete or not. `meta`: its META lines.
std::set<std::string> recording_ids(const std::multimap<std::string, std::string>& meta);

// Remembers which profile holds which recording.
class SeenRecordings {
 public:
  // Returns the name of an earlier profile that has one of the ids, or "". Remembers the new ids.
  std::string add(const std::set<std::string>& ids, const std::string& name);

 private:
  std::map<std::string, std::string> names_;  // key: id
};

struct MergeChoice {
  std::vector<bool> used;             // indexed by input; false: other inputs hold all of its work
  std::vector<std::string> warnings;  // name the inputs that are not used
};

// Chooses inputs that together hold each recording once. Fails if no choice does.
Result<MergeChoice> choose_inputs(std::span<const std::string> names, std::span<const Recordings* const> inputs);

}  // namespace gpuprof::analyze
