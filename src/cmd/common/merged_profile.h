// A profile made of others, into a file: the way that `merge`, `import` and `filter` share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analyze/merge/merge.h"
#include "base/result.h"
#include "cmd/common/output.h"
#include "profile/records.h"

namespace gpuprof::cmd {

struct MergedProfile {
  WrittenFile file;
  std::vector<std::string> warnings;

  // Tells on stderr where the profile is, and what is to be doubted.
  void tell() const;
};

// Writes the records that `make` hands on, which returns what is to be doubted. Where it fails, `output` keeps what it
// was.
Result<MergedProfile> write_records(
    const std::string& output, const std::function<Result<std::vector<std::string>>(const analyze::RecordSink&)>& make);

// Where it fails, `output` keeps what it was. `see` is told of each record that was written.
Result<MergedProfile> write_merged(std::vector<analyze::MergeInput> inputs, const std::string& output,
                                   const std::function<void(const profile::Record&)>& see);

}  // namespace gpuprof::cmd
