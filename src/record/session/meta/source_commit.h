// Finds the commit of the recorded program, which labels its profiles.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace gpuprof::record {

using Variable = std::function<std::string(const char* name)>;

// The value of --commit for a program from elsewhere: its commit is unknown, and must not be searched for.
inline constexpr std::string_view kNoCommit = "none";

// Returns `given` (--commit), else what the CI sets (GITHUB_SHA, CI_COMMIT_SHA), else the commit checked out in the git
// repository around `folder`; empty if unknown. Reads git's files instead of running git, because the configuration in
// a stranger's folder can start any program. Only the digits of a commit are taken from git's files.
std::string source_commit(const std::string& given, const Variable& environment, const std::string& folder);

}  // namespace gpuprof::record
