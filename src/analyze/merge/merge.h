// Joins profiles of several processes or hosts into one: ids are interned again, times and slices are put on one
// clock. Memory grows with the distinct definitions, not with the records.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "profile/reader.h"
#include "profile/records.h"

namespace gpuprof::analyze {

struct MergeInput {
  std::string name;  // for messages
  std::optional<profile::Reader> reader = {};
  // Where there is no reader: opens a file, once to see when it was recorded, and again when it is its turn. So
  // thousands of files need no more than one descriptor.
  std::function<Result<profile::Reader>()> reopen = {};
};

struct MergeResult {
  std::vector<std::string> warnings;
  bool complete = false;  // an END was written: every input has its own
};

// Where the merged records go, in the order of their lines. What it is given is valid during the call.
using RecordSink = std::function<Status(const profile::Record&)>;

// The inputs' clocks are joined by META start_unix_ns: the result's clock is that of the input that started first, and
// slices go to the nearest one of that input. Fails where slices differ in length, where an input can not be read, and
// where a total exceeds 64 bits.
Result<MergeResult> merge(std::vector<MergeInput> inputs, const RecordSink& sink);

}  // namespace gpuprof::analyze
