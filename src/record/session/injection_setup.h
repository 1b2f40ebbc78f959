// Prepares a command for the injection: unpacks the libraries, and sets the command's environment.
#pragma once

#include <memory>
#include <optional>

#include "backend/backend.h"
#include "base/result.h"
#include "record/bpf/stack_engine.h"
#include "record/ipc/channel.h"
#include "record/target/library_dir.h"
#include "record/target/target_user.h"

namespace gpuprof::record {

class InjectionSetup {
 public:
  // `user`: the user that the command runs as. If `engine` is not null, attaches its probes to the libraries.
  Status prepare(const backend::Backends& backends, Channel& channel, StackEngine* engine,
                 const std::optional<TargetUser>& user, bool preserve_environment);

  [[nodiscard]] const backend::LaunchEnv& env() const { return env_; }

 private:
  Status prepare_one(backend::Backend& backend, StackEngine* engine);

  std::unique_ptr<LibraryDir> libraries_;
  backend::LaunchEnv env_;
};

}  // namespace gpuprof::record
