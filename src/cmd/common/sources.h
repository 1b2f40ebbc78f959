// Opens several input profiles. Users name them by files, folders and patterns.
#pragma once

#include <string>
#include <vector>

#include "analyze/merge/merge.h"
#include "base/result.h"
#include "cmd/common/output.h"

namespace gpuprof::cmd {

inline constexpr const char* kSourcesHelp =
    "profiles, folders of profiles or quoted patterns ('run-*.txt'); - is stdin";

// Opens the files that the words stand for, in order. A folder stands for its profiles, sorted by name. These are the
// files that begin like a profile or are compressed, except hidden files and NAME.old. A warning lists the other
// files. A word that contains *, ? or [ is a pattern, unless a file has that name. A pattern must match only
// profiles. A file that is found twice is opened once, and a warning says so if the user named it twice. A folder or
// pattern without profiles is an error. If there are more than 64 inputs, closes the files again, and merge() reopens
// them.
Result<std::vector<analyze::MergeInput>> open_sources(const std::vector<std::string>& words, bool lenient,
                                                      std::vector<FileId>& files);

}  // namespace gpuprof::cmd
