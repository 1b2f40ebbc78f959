#include "record/process/unrecorded.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <set>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/files/file_rights.h"
#include "base/files/path.h"
#include "base/files/safe_open.h"
#include "base/process/children.h"
#include "base/process/stranger.h"
#include "base/text/numbers.h"
#include "base/unique_fd.h"
#include "record/process/environ.h"
#include "symbolize/maps_line.h"
#include "wire/wire.h"

namespace gpuprof::record {
namespace {

constexpr uint64_t kFirstIntervalNs = 20'000'000;
constexpr uint64_t kLastIntervalNs = 250'000'000;
constexpr uint64_t kShareOfTime = 100;
constexpr size_t kMaxProcesses = 512;
// Limit on the threads whose children one call of look() reads.
constexpr size_t kMaxTasks = 4096;
// Time limit of one call of look(), because the rings are not read during that time.
constexpr uint64_t kMaxExamineNs = 10'000'000;
constexpr size_t kMaxMaps = size_t{4} << 20;
constexpr size_t kMaxVariables = size_t{1} << 20;
constexpr size_t kMaxFindings = 4096;
// Limit on the messages: a target chooses the library names in them, so it can make any number.
constexpr size_t kMaxMessages = 64;
constexpr size_t kLongestLibrary = 80;  // limit in bytes for a library's name in a message

constexpr std::string_view kDevices[] = {"/dev/nvidia", "/dev/dri/render", "/dev/kfd", "/dev/accel/", "/dev/dxg"};

struct MappedNames {
  std::vector<std::string> libraries;
  std::string device;
  bool is_static = true;  // no dynamic linker is mapped
  bool is_musl = false;
  bool is_32_bit = true;
};

void take_mapping(const symbolize::MapsLine& line, MappedNames& names) {
  // The kernel maps [vsyscall] above 4 GiB even in 32-bit programs.
  names.is_32_bit = names.is_32_bit && (line.start <= UINT32_MAX || line.path == "[vsyscall]");
  if (!line.path.starts_with('/')) {
    return;
  }
  if (names.device.empty() && std::any_of(std::begin(kDevices), std::end(kDevices),
                                          [&line](std::string_view device) { return line.path.starts_with(device); })) {
    names.device = line.path;
  }
  std::string_view file = base_name(line.path);
  file = file.substr(0, std::min(file.find(' '), kLongestLibrary));
  names.is_musl = names.is_musl || file.starts_with("ld-musl");
  names.is_static = names.is_static && !file.starts_with("ld-") && !file.starts_with("ld.so");
  if (names.libraries.empty() || names.libraries.back() != file) {
    names.libraries.emplace_back(file);
  }
}

MappedNames names_of(std::string_view maps) {
  MappedNames names;
  symbolize::MapsLine line;
  while (!maps.empty()) {
    const size_t end = std::min(maps.find('\n'), maps.size());
    if (symbolize::parse_maps_line(maps.substr(0, end), line)) {
      take_mapping(line, names);
    }
    maps.remove_prefix(std::min(end + 1, maps.size()));
  }
  return names;
}

// Returns whether the first variable called `name` has a value that contains `part`.
bool has_variable(std::string_view environment, std::string_view name, std::string_view part) {
  const auto values = values_of(environment, name);
  return !values.empty() && values.front().find(part) != std::string_view::npos;
}

std::string keep_variables(const std::string& variable) {
  return "a wrapper such as env -i, sudo or su - cleared it: start gpuprof inside the wrapper, or let the wrapper "
         "keep the variables, as with sudo --preserve-env=" +
         variable + "," GPUPROF_ENV_SOCKET "," GPUPROF_ENV_TOKEN "," GPUPROF_ENV_UID;
}

// Returns whether the process cannot open the injection library by its path. `folder`: /proc/PID.
bool is_hidden(const UniqueFd& folder, const std::string& injection) {
  const UniqueFd root = injection.empty() ? UniqueFd() : locate(folder.get(), "root", O_DIRECTORY);
  return root && !open_regular({root.get(), read_file_rights(folder.get())}, injection) && errno != EMFILE &&
         errno != ENFILE;
}

}  // namespace

struct UnrecordedProcesses::Process {
  pid_t pid = 0;
  UniqueFd folder;
  std::string name;
  std::string program;
  MappedNames mapped;
};

std::vector<ExpectedLibrary> expected_libraries(const backend::Backends& chosen, const backend::LaunchEnv& env) {
  std::vector<ExpectedLibrary> libraries;
  for (const auto& backend : backend::make_all()) {
    const backend::Descriptor& what = backend->descriptor();
    const bool is_chosen = std::any_of(chosen.begin(), chosen.end(), [&what](const auto& one) {
      return std::string_view(one->descriptor().name) == what.name;
    });
    std::string ours = env.library_dir + "/" + std::string(backend->library().file_name);
    const std::string* value = env.get(what.load_variable);
    const bool is_loaded = value != nullptr && value->find(ours) != std::string::npos;
    if (!what.vendor_library.empty() && (!is_chosen || is_loaded)) {
      libraries.push_back({what.name, std::string(what.vendor_library), is_chosen ? std::move(ours) : "",
                           what.load_variable, is_chosen && backend->attaches()});
    }
  }
  return libraries;
}

std::vector<ExpectedLibrary> attached_libraries(const backend::Backends& chosen) {
  std::vector<ExpectedLibrary> libraries;
  for (const auto& backend : chosen) {
    const backend::Descriptor& what = backend->descriptor();
    if (!what.vendor_library.empty()) {
      libraries.push_back({what.name, std::string(what.vendor_library), std::string(backend->library().file_name), ""});
    }
  }
  return libraries;
}

UnrecordedProcesses::UnrecordedProcesses(std::vector<ExpectedLibrary> libraries, pid_t root, bool devices,
                                         std::string proc)
    : libraries_(std::move(libraries)),
      root_(root),
      devices_(devices),
      attached_(!libraries_.empty() && libraries_.front().variable.empty()),
      proc_(std::move(proc)),
      own_program_(link_text(AT_FDCWD, (proc_ + "/self/exe").c_str())) {}

bool UnrecordedProcesses::look(uint64_t now_ns, const IsConnected& is_connected) {
  if (now_ns < next_ns_) {
    return false;
  }
  // CPU time, because a busy machine may stop this thread for long: programs that end soon would not be seen.
  const uint64_t cpu_before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  for (auto& entry : known_) {
    entry.second.seen = false;
  }
  const uint64_t until = monotonic_ns() + kMaxExamineNs;
  std::vector<pid_t> processes = descendants(until);
  // If the time is too short for all processes, examine new ones first.
  std::stable_partition(processes.begin(), processes.end(), [this](pid_t pid) { return !known_.contains(pid); });
  bool in_time = true;
  for (const pid_t pid : processes) {
    if (in_time) {  // also true for the first one, so that a busy machine only delays the search
      examine(pid, now_ns, is_connected);
      in_time = monotonic_ns() < until;
    } else if (const auto known = known_.find(pid); known != known_.end()) {
      known->second.seen = true;
    }
  }
  std::erase_if(known_, [](const auto& entry) { return !entry.second.seen; });
  next_ns_ = now_ns + std::max(kFirstIntervalNs, kShareOfTime * (clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_before));
  return true;
}

std::vector<pid_t> UnrecordedProcesses::descendants(uint64_t until) const {
  std::vector<pid_t> all;
  size_t tasks = kMaxTasks;
  add_children(proc_, root_, until, {tasks, kMaxProcesses}, all);
  for (size_t i = 0; i < all.size() && all.size() < kMaxProcesses && monotonic_ns() < until; ++i) {
    add_children(proc_, all[i], until, {tasks, kMaxProcesses}, all);
  }
  std::erase_if(all, is_stranger);
  return all;
}

void UnrecordedProcesses::examine(pid_t pid, uint64_t now_ns, const IsConnected& is_connected) {
  Process process;
  process.pid = pid;
  process.folder = locate(AT_FDCWD, proc_ + "/" + std::to_string(pid), O_DIRECTORY);
  process.program = link_text(process.folder.get(), "exe");
  const bool unreadable = process.program.empty() && (errno == EACCES || errno == EPERM);
  if (!process.folder || (process.program.empty() ? !unreadable : process.program == own_program_)) {
    return;
  }
  const auto [entry, is_first] = known_.try_emplace(pid);
  Known& known = entry->second;
  if (is_first && attached_ && count_child_) {
    count_child_(pid, false);
  }
  known.seen = true;
  bool is_new = false;
  if (known.interval_ns != 0 && known.program == process.program) {
    if (now_ns < known.next_ns) {
      return;
    }
    known.interval_ns = std::min(2 * known.interval_ns, kLastIntervalNs);
  } else {
    known.program = process.program;
    known.interval_ns = kFirstIntervalNs;
    // Between fork() and exec(), a child still has the mappings of the attached process.
    is_new = attached_;
  }
  known.next_ns = now_ns + known.interval_ns;
  if (is_new) {
    return;
  }
  process.name = read_text(process.folder.get(), "comm", 64);
  process.name.erase(std::min(process.name.find('\n'), process.name.size()));
  if (unreadable) {
    set(process, "",
        {.text = {"cannot be inspected by gpuprof, because it has other rights",
                  "if it uses a GPU, start gpuprof as the user of the process (sudo gpuprof record -- COMMAND)"}});
    return;
  }
  process.mapped = names_of(read_text(process.folder.get(), "maps", kMaxMaps));
  check(process, is_connected);
}

void UnrecordedProcesses::check(const Process& process, const IsConnected& is_connected) {
  bool known_library = false;
  std::optional<std::string> variables;  // read only if a vendor library is mapped
  for (const ExpectedLibrary& library : libraries_) {
    const auto mapped = [&process](std::string_view prefix) {
      const auto& all = process.mapped.libraries;
      const auto found =
          std::find_if(all.begin(), all.end(), [prefix](const std::string& file) { return file.starts_with(prefix); });
      return found == all.end() ? std::string() : *found;
    };
    const std::string vendor = mapped(library.vendor);
    if (vendor.empty()) {
      continue;
    }
    known_library = true;
    if (!variables) {
      variables = read_text(process.folder.get(), "environ", kMaxVariables);
    }
    const bool ours = !library.injection.empty() && !mapped(base_name(library.injection)).empty();
    // The library is loaded, so a missing variable means that the program has overwritten its environment, for example
    // to set its title. If only the socket's variable is missing, a wrapper has dropped it.
    const bool is_overwritten = !has_variable(*variables, library.variable, "");
    if (attached_ && count_child_ && count_child_(process.pid, true)) {
      findings_.erase({process.pid, process.program, library.backend});
    } else if (ours &&
               (is_connected(process.pid) || is_overwritten || has_variable(*variables, GPUPROF_ENV_SOCKET, ""))) {
      findings_.erase({process.pid, process.program, library.backend});
    } else {
      const bool hidden = !ours && !library.variable.empty() && is_hidden(process.folder, library.injection);
      if (hidden && library.attaches) {
        hidden_.push_back(process.pid);
      }
      set(process, library.backend, missing(process, library, vendor, *variables, hidden));
    }
  }
  if (devices_ && !known_library && !process.mapped.device.empty()) {
    const bool is_static = process.mapped.is_static;
    set(process, "",
        {.text = {(is_static ? "is a static program and uses " : "uses ") + process.mapped.device +
                      " without a library that gpuprof can record",
                  std::string(is_static ? "gpuprof records only programs that load the vendor's library dynamically; "
                                        : "gpuprof records CUDA, OpenCL and Level Zero; ") +
                      "sudo gpuprof record --backend drm records the jobs of some GPU drivers"}});
  }
}

UnrecordedProcesses::Finding UnrecordedProcesses::missing(const Process& process, const ExpectedLibrary& library,
                                                          const std::string& vendor, const std::string& variables,
                                                          bool hidden) const {
  if (library.injection.empty()) {
    return {.text = {"has loaded " + vendor + ", but --backend has switched the backend " + library.backend + " off",
                     "add " + library.backend + " to --backend, or leave --backend out"}};
  }
  if (library.variable.empty()) {
    return {.certain = true,
            .text = {"is a child of the recorded process and has loaded " + vendor + ", but " + library.backend +
                         " records nothing of it",
                     "start the program with gpuprof record -- COMMAND, which records child processes, too"}};
  }
  const std::string what =
      "has loaded " + vendor + " without gpuprof's library, so " + library.backend + " records nothing of it: ";
  const auto certain = [&what](const std::string& why, const std::string& hint) {
    return Finding{.certain = true, .text = {what + why, hint}};
  };
  if (process.mapped.is_32_bit) {
    return certain("it is a 32-bit program", "gpuprof records only 64-bit programs");
  }
  if (variables.size() < kMaxVariables) {
    for (const auto& [name, part] :
         {std::pair(library.variable, library.injection), std::pair(std::string(GPUPROF_ENV_SOCKET), std::string())}) {
      if (!has_variable(variables, name, part)) {
        return certain(has_variable(variables, name, "") ? "its environment variable " + name + " names other libraries"
                                                         : "its environment has no " + name,
                       keep_variables(library.variable));
      }
    }
  }
  if (process.mapped.is_musl) {
    return certain("it uses musl, and gpuprof's library needs the GNU C library",
                   "run a program that is built for the GNU C library, or count launches: sudo gpuprof record -p PID");
  }
  if (hidden) {
    return certain("its root directory or mount namespace has no " + library.injection,
                   "set TMPDIR, when you start gpuprof, to a folder that the process sees, too" +
                       std::string(library.attaches && ::geteuid() != 0 ? ", or run gpuprof as root" : ""));
  }
  return {.text = {what + "perhaps it has not called that library", "gpuprof doctor lists what can be recorded"}};
}

void UnrecordedProcesses::set(const Process& process, const std::string& backend, Finding finding) {
  finding.name = process.name;
  if (findings_.size() < kMaxFindings) {
    findings_.insert_or_assign({process.pid, process.program, backend}, std::move(finding));
  }
}

void UnrecordedProcesses::on_injected(pid_t pid) {
  std::erase_if(findings_, [&](const auto& found) {
    return std::get<pid_t>(found.first) == pid &&
           std::any_of(libraries_.begin(), libraries_.end(), [&](const ExpectedLibrary& library) {
             constexpr size_t kBackend = 2;
             return library.attaches && library.backend == std::get<kBackend>(found.first);
           });
  });
}

uint64_t UnrecordedProcesses::certain() const {
  std::set<pid_t> processes;
  for (const auto& [key, finding] : findings_) {
    if (finding.certain) {
      processes.insert(std::get<pid_t>(key));
    }
  }
  return processes.size();
}

std::vector<Error> UnrecordedProcesses::messages(bool nothing_recorded) const {
  std::vector<Error> all;
  // Maps a message's text to its index in `all` and the number of further processes with this text.
  std::map<std::string, std::pair<size_t, size_t>> by_text;
  size_t unnamed = 0;
  for (const auto& [key, finding] : findings_) {
    if (!finding.certain && !nothing_recorded) {
      continue;
    }
    if (by_text.size() >= kMaxMessages && !by_text.contains(finding.text.message)) {
      ++unnamed;
      continue;
    }
    const auto [found, is_new] = by_text.try_emplace(finding.text.message, all.size(), 0);
    if (is_new) {
      all.push_back(
          {"process " + std::to_string(std::get<pid_t>(key)) + " (" + finding.name + ") " + finding.text.message,
           finding.text.hint});
    } else {
      ++found->second.second;
    }
  }
  for (const auto& entry : by_text) {
    if (const auto [index, others] = entry.second; others != 0) {
      all[index].message += " (" + counted_text(others, "other process") + ", too)";
    }
  }
  if (unnamed != 0) {
    all.push_back({"other reasons why processes are not recorded: " + std::to_string(unnamed), ""});
  }
  return all;
}

}  // namespace gpuprof::record
