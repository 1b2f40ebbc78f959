// Writes a profile made of other profiles to a file, for `merge`, `import` and `filter`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analyze/merge/merge.h"
#include "base/result.h"
#include "cmd/common/output.h"
#include "profile/records.h"

namespace gpuprof::cmd {

void warn_all(const std::vector<std::string>& warnings);

// Returns `finished`. If it is an error, first prints the warnings about the inputs, which may explain it.
Status or_warn(Status finished, const std::vector<std::string>& warnings);

struct MergedProfile {
  WrittenFile file;
  std::vector<std::string> warnings;

  void report() const;
};

// Calls `make` with a sink, and writes the records that `make` passes to the sink. `make` returns warnings. If it
// fails, the file `output` does not change.
Result<MergedProfile> write_records(
    const std::string& output, const std::function<Result<std::vector<std::string>>(const analyze::RecordSink&)>& make);

// Merges the inputs into the file `output`, and calls `see` with each written record. If it fails, `output` does not
// change.
Result<MergedProfile> write_merged(std::vector<analyze::MergeInput> inputs, const std::string& output,
                                   const std::function<void(const profile::Record&)>& see);

}  // namespace gpuprof::cmd
