// The commit of the program that is recorded: a label by which its profiles are found again.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace gpuprof::record {

// The value of an environment variable; empty where it is not set.
using Variable = std::function<std::string(const char* name)>;

// As --commit: the commit is not known, and must not be looked for where the program does not come from.
inline constexpr std::string_view kNoCommit = "none";

// `given` (--commit), else what the CI says (GITHUB_SHA, CI_COMMIT_SHA), else the commit that is checked out in the
// git repository around `folder`; empty: not known. Git is not run: in a stranger's folder its configuration can start
// any program. Its files are read instead, and nothing but the digits of a commit comes out of them.
std::string source_commit(const std::string& given, const Variable& environment, const std::string& folder);

}  // namespace gpuprof::record
