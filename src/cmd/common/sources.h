// Opens several input profiles: the files, folders and patterns that a user names.
#pragma once

#include <string>
#include <vector>

#include "analyze/merge/merge.h"
#include "base/result.h"
#include "cmd/common/output.h"

namespace gpuprof::cmd {

inline constexpr const char* kSourcesHelp =
    "profiles, folders of profiles or quoted patterns ('run-*.txt'); - is stdin";

// Opens the files that the words stand for, in order. A folder stands for its profiles, sorted by name: files that
// begin like a profile or are compressed, except hidden files and NAME.old; a warning lists its other files. A word
// with * ? or [ that is no existing file is a pattern that must match only profiles. A file found twice by folders and
// patterns is used once. A folder or pattern without profiles is an error. Many files are closed again; merge() reopens
// them.
Result<std::vector<analyze::MergeInput>> open_sources(const std::vector<std::string>& words, bool lenient,
                                                      std::vector<FileId>& files);

}  // namespace gpuprof::cmd
