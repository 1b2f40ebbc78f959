// Source files by the paths that a profile names, which may be from another machine, or somebody's trap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/common/output.h"
#include "output/source_text.h"
#include "symbolize/safe_open.h"

namespace gpuprof::cmd {

// How the files are opened that the profile names, which is `inputs`. Where gpuprof is root and the profile another
// user's: with that user's rights, or it would show what its owner may not read. A profile of root's that others can
// write counts as nobody's.
symbolize::FileAccess access_of(std::span<const FileId> inputs);

class SourceFiles {
 public:
  // `started`: when recording began, in ns of Unix time; nothing where the profile does not say.
  SourceFiles(std::optional<uint64_t> started, symbolize::FileAccess access)
      : started_(started), access_(std::move(access)) {}

  const output::SourceText& find(std::string_view path);

 private:
  output::SourceText read(const std::string& path);

  std::optional<uint64_t> started_;
  symbolize::FileAccess access_;
  std::map<std::string, output::SourceText, std::less<>> known_;
  size_t bytes_ = 0;
};

}  // namespace gpuprof::cmd
