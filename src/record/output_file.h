// The file that a profile is written to.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gpuprof::record {

// Replaces %p (process id of the recorder), %h (host name), %r (rank by the launcher's variables, 0 without) and %%.
Result<std::string> expand_output_name(const std::string& pattern);

struct OutputFile {
  UniqueFd fd;
  std::string name;  // for messages; "stdout" for "-"
};

// Opens `name` for writing ("-": stdout); an existing file is kept as NAME.old.
Result<OutputFile> open_output(const std::string& name);

}  // namespace gpuprof::record
