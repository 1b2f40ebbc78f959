// Merges profiles of several processes or hosts into one. Gives equal definitions one id, and puts all times and slices
// on one clock. Memory grows with the distinct definitions, not with the records.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "profile/reader.h"
#include "profile/records.h"

namespace gpuprof::analyze {

struct MergeInput {
  std::string name;
  std::optional<profile::Reader> reader = {};
  uint64_t bytes = 0;  // size of the input file; 0 if the input is not a file
  // Opens the input file; used if `reader` is not set. merge() calls it twice: first to read the clock, later to read
  // the records. In between the file is closed, because there may be many inputs. If the inputs are subsets of a split,
  // merge() also reads META part.count of one of them.
  std::function<Result<profile::Reader>()> reopen = {};

  // Returns `reader`, or opens the file.
  [[nodiscard]] Result<profile::Reader> take() {
    return reader ? Result<profile::Reader>(std::move(*reader)) : reopen();
  }
};

struct MergeResult {
  std::vector<std::string> warnings;
  bool complete = false;  // true: the result has an END record, because every input has one
};

// Takes the merged records in the order of the result's lines. A record is valid only during the call.
using RecordSink = std::function<Status(const profile::Record&)>;

// Merges the inputs and sends the records to `sink`. META start_unix_ns relates the inputs' clocks. The result uses the
// clock of the input that started first, and rounds each slice to the nearest slice of that input. Fails if the inputs'
// slices differ in length, an input cannot be read, or a total exceeds 64 bits.
Result<MergeResult> merge(std::vector<MergeInput> inputs, const RecordSink& sink);

}  // namespace gpuprof::analyze
