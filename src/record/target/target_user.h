// The user that a target runs as (--user), and what is around it then.
#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace gpuprof::record {

struct TargetUser {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string name;
  std::string home;
  std::string shell;
};
Result<std::optional<TargetUser>> find_user(const std::string& name);  // nullopt for an empty name

// The variables that a target starts with. `own`: NAME=VALUE each, as in environ. Without a user, all of them. For a
// user, who is not to read what is in ours: those of that user, as sudo would set them, and of ours only what tells
// about the terminal, the language, the time zone and the choice of the GPU. With `preserve`, all of ours but those
// that name the user.
std::vector<std::pair<std::string, std::string>> target_environment(std::span<const std::string> own,
                                                                    const std::optional<TargetUser>& user,
                                                                    bool preserve);

// For the child that is to be the target, before it execs: a session of its own, so that it has no terminal that it
// could type commands into; the user's ids and groups; a session keyring of its own; and no descriptor of ours but 0, 1
// and 2. Null, or what could not be done, with errno.
const char* become_user(const TargetUser& user);

}  // namespace gpuprof::record
