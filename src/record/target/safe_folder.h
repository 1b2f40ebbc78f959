// Folders in which nobody but we, and those who rule the machine anyway, can put one file in another's place.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gpuprof::record {

struct SafeFolder {
  UniqueFd fd;       // O_PATH
  std::string path;  // absolute, without symbolic links
};

// Opens the folder one component after the other, following no link. Each component has to belong to us, to root or to
// the owner of "/", and nobody else may write to it, unless it is sticky, as /tmp is: there, what is ours stays in its
// place. With `for_everybody`, every user has to be able to pass through it. The error says which component is wrong.
Result<SafeFolder> open_safe_folder(const std::string& path, bool for_everybody);

}  // namespace gpuprof::record
