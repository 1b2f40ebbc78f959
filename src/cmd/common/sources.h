// Several profiles as input: files, folders and patterns that a user names, and the files that these stand for.
#pragma once

#include <string>
#include <vector>

#include "analyze/merge/merge.h"
#include "base/result.h"
#include "cmd/common/output.h"

namespace gpuprof::cmd {

// What --help says of them.
inline constexpr const char* kSourcesHelp =
    "profiles, folders of profiles or quoted patterns ('run-*.txt'); - is stdin";

// Opens the files that the words stand for, in their order. A folder stands for the profiles that lie in it, by name:
// files that begin as a profile, or compressed; neither hidden ones, nor NAME.old. What it holds besides is reported on
// stderr. A word with * ? or [ that is no file's name is a pattern, all of whose files have to be profiles. A file that
// folders and patterns bring twice is taken once. A folder or a pattern that brings none is an error. Of many files
// none stays open: merge() opens them again.
Result<std::vector<analyze::MergeInput>> open_sources(const std::vector<std::string>& words, bool lenient,
                                                      std::vector<FileId>& files);

}  // namespace gpuprof::cmd
