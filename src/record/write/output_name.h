// Names and opens the output file of a recording.
#pragma once

#include <string>

#include "base/files/output_file.h"
#include "base/result.h"

namespace gpuprof::record {

// Returns the default output name. It is gpuprof.%r.txt if the launcher's variables show several ranks, else
// gpuprof.txt.
std::string default_output();

// Replaces %p by the recorder's pid, %h by the host name, %r by the rank (from the launcher's variables, else 0), and
// %% by %.
Result<std::string> expand_output_name(const std::string& pattern);

// Opens the output. If it is a FIFO, waits until the FIFO has a reader or until a stop signal arrives (see Signals).
Result<OutputFile> open_profile_file(const std::string& pattern);

// Returns whether a file is a complete file of a rotation, except the last one.
bool is_rotated_part(int fd);

// Returns whether the profile would go to the recorder's stdout. Then the target's output must go elsewhere.
bool goes_to_stdout(const std::string& pattern);

}  // namespace gpuprof::record
