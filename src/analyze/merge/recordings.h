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

// Id of a recording that is in the profile completely.
inline constexpr std::string_view kRecordingKey = "recording";
// Id of a recording that may be in the profile only partly.
inline constexpr std::string_view kRecordingPartKey = "recording.part";
// Value: id of the recording to which the rows and WINDOW lines up to the next such line belong. Empty: not known.
inline constexpr std::string_view kRecordingRowsKey = "recording.rows";

struct Recordings {
  std::set<std::string> whole;  // ids of complete recordings in the profile
  std::set<std::string> parts;  // ids of recordings that may be incomplete in the profile
  std::string split;            // hash of META part.of; empty if the profile was not made by `split`
  std::string subset;           // hash of META part.which
  // Ids of META part.recording: all subsets of the split together hold these recordings completely.
  std::set<std::string> whole_if_joined;
  std::string filters;  // hash of the META filter lines; empty without such lines
  // File size; of two copies the larger one is used, because the smaller one may have been cut short.
  uint64_t bytes = 0;
};

// Reads the META lines at the beginning of a profile. If META recording is missing, the start time and the host are the
// id: two recordings of one host never start in the same nanosecond.
Recordings recordings_of(std::span<const std::pair<std::string, std::string>> meta);

// Returns the ids of all recordings in the profile with these META lines, including recordings that may be incomplete.
std::set<std::string> recording_ids(const std::multimap<std::string, std::string>& meta);

// Returns how many recordings the META lines name. All files of a rotation are one. Returns 0 for profiles of old
// versions, and for imported ones.
size_t named_recordings(const std::multimap<std::string, std::string>& meta);

class SeenRecordings {
 public:
  // Returns the name of an earlier profile that has one of the ids, or "". Remembers the new ids.
  std::string add(const std::set<std::string>& ids, const std::string& name);

 private:
  // Maps a recording id to the name of the first profile that has the recording.
  std::map<std::string, std::string> names_;
};

struct MergeChoice {
  // Indexed by input; false: the input is not needed, because other inputs have all of its work.
  std::vector<bool> used;
  std::vector<std::string> warnings;  // one for each input that is not used
};

// Chooses inputs that together have each recording exactly once. Fails if no such choice exists.
Result<MergeChoice> choose_inputs(std::span<const std::string> names, std::span<const Recordings* const> inputs);

}  // namespace gpuprof::analyze
