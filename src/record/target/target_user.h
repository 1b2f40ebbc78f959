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
Result<std::optional<TargetUser>> find_user(const std::string& name);  // nullopt if the name is empty

// Returns the variables with which a target starts. `own`: texts NAME=VALUE, as in environ. If `user` is unset, the
// target gets all of `own`. Otherwise, variables such as HOME are set as sudo sets them. The user must not read the
// recorder's variables, so the target gets only those for terminal, language, time zone, GPU choice and gpuprof.
// `preserve` keeps all other variables, too.
std::vector<std::pair<std::string, std::string>> target_environment(std::span<const std::string> own,
                                                                    const std::optional<TargetUser>& user,
                                                                    bool preserve);

// The child calls this before exec. Gives the child the user's ids and groups, and a separate session keyring. Starts a
// new session, so that the child cannot type into the recorder's terminal. Marks descriptors above 2 as close-on-exec.
// Returns null, or the name of the failed step with errno set.
const char* become_user(const TargetUser& user);

}  // namespace gpuprof::record
