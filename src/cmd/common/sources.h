// Opens several input profiles: the files, folders and patterns that a user names.
#pragma once

#include <string>
#include <vector>

#include "analyze/merge/merge.h"
#include "base/result.h"
#include "cmd/common/output.h"

namespace gpuprof::cmd {

// The help text for these arguments.
inline constexpr const char* kSourcesHelp =
    "profiles, folders of profiles or quoted patterns ('run-*.txt'); - is stdin";

// Opens the files that the words stand for, in their order. A folder stands for the profiles in it, sorted by name.
// These are files that begin like a profile or are compressed, except hidden files and NAME.old. Warns of other files
// in the folder. A word with * ? or [ that is not an existing file is a pattern; all matching files must be profiles.
// A file found twice by folders and patterns is used once. A folder or pattern without profiles is an error. If there
// are many files, they are closed again, and merge() reopens them.
Result<std::vector<analyze::MergeInput>> open_sources(const std::vector<std::string>& words, bool lenient,
                                                      std::vector<FileId>& files);

}  // namespace gpuprof::cmd
