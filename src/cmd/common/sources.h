// Opens several input profiles. Users name them by files, folders and patterns.
#pragma once

#include <string>
#include <vector>

#include "analyze/merge/merge.h"
#include "base/result.h"
#include "cmd/common/output.h"

namespace gpuprof::cmd {

// Returns an input that reads `reader`, which open_profile() has opened from `path`. Closes a regular file again, until
// it is read: a compressed input needs up to 128 MiB while it is open.
analyze::MergeInput input_of(const std::string& path, bool lenient, profile::Reader reader);

inline constexpr const char* kSourcesHelp =
    "profiles, folders of profiles or quoted patterns ('run-*.txt'); - is stdin";

// Opens the files that the words stand for, in order. A folder stands for its profiles, sorted by name. These are the
// files that begin like a profile or are compressed, except hidden files and NAME.old. A warning lists the other
// files. A word that contains *, ? or [ is a pattern, unless a file has that name. A pattern must match only
// profiles. A file that is found twice is opened once, and a warning says so if the user named it twice. A folder or
// pattern without profiles is an error.
Result<std::vector<analyze::MergeInput>> open_sources(const std::vector<std::string>& words, bool lenient,
                                                      std::vector<FileId>& files);

}  // namespace gpuprof::cmd
