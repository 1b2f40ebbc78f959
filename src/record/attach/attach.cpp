#include "record/attach/attach.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "base/clock.h"
#include "base/files/path.h"
#include "base/log.h"
#include "base/return_if_error.h"
#include "base/text/hints.h"
#include "reader/file_symbols.h"
#include "record/signals.h"
#include "symbolize/process_maps.h"

namespace gpuprof::record {
namespace {

// Time limit of the search for launch functions. The target's owner could map files that take very long to search.
constexpr uint64_t kSearchNs = 20'000'000'000;
constexpr size_t kMaxPoints = 4096;

struct ProbePoint {
  std::shared_ptr<symbolize::MappedFile> file;
  uint64_t file_offset = 0;
  std::string_view symbol;
  bool outer = false;
};

std::vector<ProbePoint> find_points(const symbolize::ProcessMaps& maps,
                                    const std::vector<std::unique_ptr<backend::Backend>>& backends,
                                    const std::function<bool()>& stop) {
  std::vector<ProbePoint> points;
  std::set<const symbolize::MappedFile*> seen;
  reader::Process reader({.goes_on = [&stop] { return !stop(); }});
  bool in_program = true;  // the first mapping belongs to the main program
  for (const symbolize::Mapping& mapping : maps.mappings()) {
    if (stop() || points.size() > kMaxPoints) {
      break;
    }
    if (!mapping.file || !mapping.file->fd || !seen.insert(mapping.file.get()).second) {
      continue;
    }
    std::vector<backend::LaunchFunction> candidates;
    std::vector<std::string_view> names;
    for (const auto& backend : backends) {
      for (const backend::LaunchFunction& function : backend->launch_functions()) {
        if (base_name(mapping.file->path).starts_with(function.library) || (in_program && function.in_program)) {
          candidates.push_back(function);
          names.push_back(function.symbol);
        }
      }
    }
    in_program = false;
    if (names.empty()) {
      continue;
    }
    for (const symbolize::ElfSymbol& symbol : reader::find_symbols(reader, mapping.file->fd.get(), names).found) {
      if (symbol.code) {
        const backend::LaunchFunction& wanted = candidates[symbol.wanted];
        points.push_back({mapping.file, *symbol.code, wanted.symbol, wanted.outer});
      }
    }
  }
  return points;
}

// Ends the search after kSearchNs, or when a stop signal is pending. Stop signals are blocked, so the search polls for
// them.
Result<std::vector<ProbePoint>> find_points_in_time(const symbolize::ProcessMaps& maps, uint32_t pid,
                                                    const std::vector<std::unique_ptr<backend::Backend>>& backends) {
  const uint64_t deadline = monotonic_ns() + kSearchNs;
  std::vector<ProbePoint> points =
      find_points(maps, backends, [deadline] { return pending_stop() != 0 || monotonic_ns() > deadline; });
  const std::string process = "process " + std::to_string(pid);
  if (pending_stop() != 0) {
    return Error{"gpuprof was ended by a signal before " + process + " could be recorded", ""};
  }
  if (monotonic_ns() > deadline || points.size() > kMaxPoints) {
    return Error{
        "the search for launch functions in the files of " + process + " took more than 20 s or found more than 4096",
        "start it with gpuprof record -- COMMAND"};
  }
  return points;
}

bool has_mapped(const symbolize::ProcessMaps& maps, std::string_view library) {
  return std::any_of(maps.mappings().begin(), maps.mappings().end(), [&](const auto& mapping) {
    return mapping.file && base_name(mapping.file->path).starts_with(library);
  });
}

bool has_function(const symbolize::ProcessMaps& maps, std::string_view library, std::string_view function) {
  return std::any_of(maps.mappings().begin(), maps.mappings().end(), [&](const auto& mapping) {
    if (!mapping.file || !mapping.file->fd || !base_name(mapping.file->path).starts_with(library)) {
      return false;
    }
    reader::Process reader({});
    const auto found = reader::find_symbols(reader, mapping.file->fd.get(), {function}).found;
    return std::any_of(found.begin(), found.end(), [](const auto& symbol) { return symbol.code.has_value(); });
  });
}

// Returns whether the backend's injection library can be loaded into the running process.
bool can_attach(const symbolize::ProcessMaps& maps, const backend::Backend& backend) {
  const std::string_view library = backend.descriptor().vendor_library;
  return backend.attaches() && has_mapped(maps, library) &&
         (backend.attach_needs().empty() || has_function(maps, library, backend.attach_needs()));
}

const backend::Backend* backend_for(const symbolize::ProcessMaps& maps,
                                    const std::vector<std::unique_ptr<backend::Backend>>& backends) {
  for (const auto& backend : backends) {
    if (can_attach(maps, *backend) && !backend->library().bytes.empty()) {
      return backend.get();
    }
  }
  return nullptr;
}

Error cannot_inject(const symbolize::ProcessMaps& maps,
                    const std::vector<std::unique_ptr<backend::Backend>>& backends) {
  for (const auto& backend : backends) {
    const std::string_view library = backend->descriptor().vendor_library;
    const bool never = !backend->attaches() || !(backend->attach_needs().empty() || can_attach(maps, *backend));
    if (never && !library.empty() && has_mapped(maps, library)) {
      return {"the process uses " + std::string(backend->descriptor().name) +
                  ", which loads an injection library only at the program's first call",
              "for GPU times, start it with gpuprof record -- COMMAND"};
    }
  }
  return {"the process has not loaded CUDA or Level Zero, which gpuprof can record in a running process",
          "attach once it has loaded CUDA or Level Zero, or start it with gpuprof record -- COMMAND"};
}

}  // namespace

Result<Injection> attach_by_injection(const TracedIdentity& who,
                                      const std::vector<std::unique_ptr<backend::Backend>>& backends,
                                      const AttachChannel& channel) {
  symbolize::ProcessMaps maps(who.pid(), symbolize::make_file_cache());
  maps.refresh();
  const backend::Backend* backend = backend_for(maps, backends);
  if (backend == nullptr) {
    return cannot_inject(maps, backends);
  }
  const auto library = backend->library();
  return inject({who, std::string(library.file_name), library.bytes, channel.socket, channel.token, channel.stop});
}

Status attach_probes(const std::vector<LaunchProbe>& probes, uint32_t pid, StackEngine& engine) {
  for (uint32_t index = 0; index < probes.size(); ++index) {
    if (pending_stop() != 0) {
      return Error{"gpuprof was ended by a signal", ""};
    }
    // The path through the descriptor also works for files in containers, and for files that were replaced after being
    // mapped.
    const std::string path = "/proc/self/fd/" + std::to_string(probes[index].file->fd.get());
    RETURN_IF_ERROR(engine.attach_function(path, probes[index].file_offset, pid, index));
  }
  return {};
}

Result<std::vector<LaunchProbe>> attach_launch_functions(uint32_t pid,
                                                         const std::vector<std::unique_ptr<backend::Backend>>& backends,
                                                         StackEngine& engine) {
  if (::kill(static_cast<pid_t>(pid), 0) != 0) {
    return Error{"cannot attach to process " + std::to_string(pid) + ": " + std::strerror(errno),
                 errno == ESRCH ? hints::kNameLiveProcess : hints::kRunAsRoot};
  }
  symbolize::ProcessMaps maps(pid, symbolize::make_file_cache());
  maps.refresh();
  auto found = find_points_in_time(maps, pid, backends);
  RETURN_IF_ERROR(found);
  std::vector<ProbePoint> points = std::move(*found);
  // An outer launch function calls an inner one. Probes on both would count each launch twice.
  if (std::any_of(points.begin(), points.end(), [](const ProbePoint& point) { return !point.outer; })) {
    std::erase_if(points, [](const ProbePoint& point) { return point.outer; });
  }

  engine.on_process(maps);
  std::vector<LaunchProbe> probes;
  for (const ProbePoint& point : points) {
    probes.push_back({std::string(point.symbol), point.file, point.file_offset});
    log::debug("probing " + probes.back().function + " in " + point.file->path);
  }
  if (probes.empty()) {
    return Error{"process " + std::to_string(pid) + " has no launch function that can be probed",
                 "attach once it has loaded its GPU runtime, or start it with gpuprof record -- COMMAND"};
  }
  RETURN_IF_ERROR(attach_probes(probes, pid, engine));
  return probes;
}

}  // namespace gpuprof::record
