// The name of a profile, and its file.
#pragma once

#include <string>

#include "base/files/output_file.h"
#include "base/result.h"

namespace gpuprof::record {

// Where a recording goes that has not been told: gpuprof.txt, but "gpuprof.%r.txt" where it is one of several ranks, by
// the launcher's variables, as they would all take that name.
std::string default_output();

// Replaces %p (process id of the recorder), %h (host name), %r (rank by the launcher's variables, 0 without) and %%.
Result<std::string> expand_output_name(const std::string& pattern);

// The output of that name. Where it is a pipe that nobody reads, a signal (of Signals) ends the waiting.
Result<OutputFile> open_profile_file(const std::string& pattern);

// Whether a profile of that name goes where our stdout goes: a target's own output is not to be mixed into it.
bool goes_to_stdout(const std::string& pattern);

}  // namespace gpuprof::record
