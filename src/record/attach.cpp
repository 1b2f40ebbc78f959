#include "record/attach.h"

#include <signal.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "base/log.h"
#include "record/elf_functions.h"
#include "symbolize/process_maps.h"

namespace gpuprof::record {
namespace {

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

Result<std::vector<std::string>> attach_launch_functions(uint32_t pid,
                                                         const std::vector<std::unique_ptr<backend::Backend>>& backends,
                                                         StackEngine& engine) {
  if (::kill(static_cast<pid_t>(pid), 0) != 0) {
    return Error{"cannot attach to process " + std::to_string(pid) + ": " + std::strerror(errno),
                 errno == ESRCH ? "is it still running? give its process id" : "run gpuprof as root"};
  }
  symbolize::ProcessMaps maps(pid, symbolize::make_file_cache());
  maps.refresh();

  std::vector<std::string> attached;
  std::set<const symbolize::MappedFile*> seen;
  bool in_first_file = true;  // the program itself is what is mapped first
  for (const symbolize::Mapping& mapping : maps.mappings()) {
    if (!mapping.file || !mapping.file->fd || !seen.insert(mapping.file.get()).second) {
      continue;
    }
    std::vector<std::string_view> names;
    for (const auto& backend : backends) {
      for (const backend::LaunchFunction& function : backend->launch_functions()) {
        if (base_name(mapping.file->path).starts_with(function.library) || (in_first_file && function.in_program)) {
          names.push_back(function.symbol);
        }
      }
    }
    in_first_file = false;
    const auto functions = names.empty() ? Result<std::vector<ElfFunction>>(std::vector<ElfFunction>())
                                         : find_functions(mapping.file->fd.get(), names);
    if (!functions) {
      continue;
    }
    // By descriptor: right for files of containers and files that have been replaced since.
    const std::string path = "/proc/self/fd/" + std::to_string(mapping.file->fd.get());
    for (const ElfFunction& function : *functions) {
      const auto index = static_cast<uint32_t>(attached.size());
      if (auto status = engine.attach_function(path, function.file_offset, pid, index); !status) {
        return std::move(status).error();
      }
      attached.emplace_back(names[function.wanted]);
      log::debug("probing " + attached.back() + " in " + mapping.file->path);
    }
  }
  if (attached.empty()) {
    return Error{"process " + std::to_string(pid) + " has no launch function that can be probed",
                 "attach once it has loaded its GPU runtime, or start it with gpuprof record -- COMMAND"};
  }
  return attached;
}

}  // namespace gpuprof::record
