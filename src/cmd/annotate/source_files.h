// Reads the source files that a profile names. The paths may be those of another machine, or an attacker may have
// chosen them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/safe_open.h"
#include "output/source_text.h"

namespace gpuprof::cmd {

// Returns how to open the source files that a profile names. Root opens them with the rights of the user nobody, unless
// `own_rights` is set: whoever made the profile, or a file that it names, must not choose what root prints.
FileAccess source_access(bool own_rights);

class SourceFiles {
 public:
  // `started` is the start of the recording in ns of Unix time, or nullopt if the profile does not contain it.
  SourceFiles(std::optional<uint64_t> started, FileAccess access) : started_(started), access_(std::move(access)) {}

  const output::SourceText& find(std::string_view path);

 private:
  output::SourceText read(const std::string& path);
  [[nodiscard]] const char* why_unreadable(
      int error) const;  // `error`: errno of the open; 0 if the file is of another kind

  std::optional<uint64_t> started_;
  FileAccess access_;
  std::map<std::string, output::SourceText, std::less<>> known_;
  uint64_t memory_ = 0;  // used by the texts in `known_`
};

}  // namespace gpuprof::cmd
