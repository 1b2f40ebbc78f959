#include "record/session/injection_setup.h"

#include <string>
#include <utility>

#include "base/log.h"
#include "record/target/environment.h"
#include "wire/wire.h"

namespace gpuprof::record {

Status InjectionSetup::prepare(const backend::Backends& backends, Channel& channel, StackEngine* engine,
                               const std::optional<TargetUser>& user, bool preserve_environment) {
  auto directory = LibraryDir::make();
  if (!directory) {
    return std::move(directory).error();
  }
  libraries_ = std::make_unique<LibraryDir>(std::move(*directory));
  env_.variables = target_environment(own_environment(), user, preserve_environment);
  if (env_.get(GPUPROF_ENV_SOCKET) != nullptr) {
    return Error{"this command is already being recorded by another gpuprof",
                 "use only the outer gpuprof: two recorders would count all work twice"};
  }
  env_.library_dir = libraries_->path();
  channel.prepare(env_, libraries_->fd());
  for (const auto& backend : backends) {
    Status ready = prepare_one(*backend, engine);
    if (!ready && backend->is_code_only()) {
      log::warn("samples will have no kernel names: " + ready.error().message, ready.error().hint);
    } else if (!ready) {
      return ready;
    }
  }
  return {};
}

Status InjectionSetup::prepare_one(backend::Backend& backend, StackEngine* engine) {
  const auto library = backend.library();
  if (library.file_name.empty()) {
    return {};
  }
  if (Status unpacked = libraries_->unpack(library); !unpacked) {
    return unpacked;
  }
  if (engine != nullptr) {
    const std::string path = libraries_->path() + "/" + std::string(library.file_name);
    if (Status probed = engine->attach_library(path); !probed) {
      return probed;
    }
  }
  return backend.prepare(env_);
}

}  // namespace gpuprof::record
