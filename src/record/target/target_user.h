// Prepares a target that runs as another user (--user).
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

// Returns the variables that a target starts with. `own`: NAME=VALUE each, as in environ. Without a user, all of `own`
// stay. With a user, HOME and so on are set as sudo sets them. The user must not read the recorder's variables, so only
// those for terminal, language, time zone, GPU choice and gpuprof stay. `preserve` keeps all other variables, too.
std::vector<std::pair<std::string, std::string>> target_environment(std::span<const std::string> own,
                                                                    const std::optional<TargetUser>& user,
                                                                    bool preserve);

// Runs in the child before exec. Gives the child the user's ids and groups, and a separate session keyring. Starts a
// new session, so that the child cannot type into the recorder's terminal. Marks descriptors above 2 close-on-exec.
// Returns null, or the failed step with errno set.
const char* become_user(const TargetUser& user);

}  // namespace gpuprof::record
