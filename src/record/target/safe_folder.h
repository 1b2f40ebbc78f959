// Opens folders in which no other user can replace a file, apart from root and the owner of "/".
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gpuprof::record {

struct SafeFolder {
  UniqueFd fd;       // O_PATH
  std::string path;  // absolute, without symbolic links
};

// Opens the folder component by component, following no link. Each component must belong to this user, root or the
// owner of "/". Nobody else may write to it unless it is sticky (as /tmp), which protects existing entries. With
// `for_everybody`, every user must be able to pass through it. The error names the unsafe component.
Result<SafeFolder> open_safe_folder(const std::string& path, bool for_everybody);

}  // namespace gpuprof::record
