// Names and opens the output file of a recording.
#pragma once

#include <string>

#include "base/files/output_file.h"
#include "base/result.h"

namespace gpuprof::record {

// Returns the default output name: gpuprof.txt, or gpuprof.%r.txt if the launcher's variables show several ranks.
std::string default_output();

// Replaces %p (the recorder's pid), %h (host name), %r (rank from the launcher's variables, else 0) and %%.
Result<std::string> expand_output_name(const std::string& pattern);

// Opens the output. If it is a FIFO, waits until the FIFO has a reader or a stop signal (see Signals) arrives.
Result<OutputFile> open_profile_file(const std::string& pattern);

// Returns whether the profile would go to the recorder's stdout. The target's output must not mix with it.
bool goes_to_stdout(const std::string& pattern);

}  // namespace gpuprof::record
