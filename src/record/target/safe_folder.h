// Opens folders in which no other user can replace a file, except root and the owner of "/".
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gpuprof::record {

struct SafeFolder {
  UniqueFd fd;       // O_PATH
  std::string path;  // absolute, without symbolic links
};

// Opens each component of the path in turn, without following links. Each component must belong to this user, root or
// the owner of "/". No other user may be able to write to it, unless the folder is sticky (as /tmp is), which protects
// existing entries. With `for_everybody`, every user must be able to pass through the folder. The error names the
// unsafe component.
Result<SafeFolder> open_safe_folder(const std::string& path, bool for_everybody);

}  // namespace gpuprof::record
