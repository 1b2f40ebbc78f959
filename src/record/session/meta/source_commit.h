// Finds the commit of the recorded program, which labels its profiles.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace gpuprof::record {

using Variable = std::function<std::string(const char* name)>;

// This value of --commit means: the program's commit is unknown, and gpuprof must not search for it.
inline constexpr std::string_view kNoCommit = "none";

// Returns `given` (--commit) if it is set. Otherwise returns the commit that the CI sets (GITHUB_SHA, CI_COMMIT_SHA),
// or the commit checked out in the git repository around `folder`. Empty if unknown. Reads git's files instead of
// running git, because a repository's configuration can make git start any program. Takes nothing but the digits of a
// commit from git's files, and only from files that no other user can have written.
std::string source_commit(const std::string& given, const Variable& environment, const std::string& folder);

}  // namespace gpuprof::record
