#include "record/bpf/bpf_processes.h"

#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/text/hints.h"
#include "reader/remote_tables.h"
#include "record/bpf/bpf_object.h"
#include "record/bpf/loader_probe.h"
#include "record/bpf/python_search.h"
#include "record/signals.h"

namespace gpuprof::record {
namespace {

constexpr unsigned kTablesInParallel = 3;

BpfTableMaps maps_of(bpf_object* object) {
  const auto fd = [object](const char* name) { return bpf_object__find_map_fd_by_name(object, name); };
  const bpf_map* cache = bpf_object__find_map_by_name(object, "rule_cache");
  return {fd("processes"), fd("mappings"),   fd("pools"),
          fd("unloads"),   fd("rule_cache"), cache != nullptr ? bpf_map__max_entries(cache) : 0};
}

}  // namespace

BpfProcesses::BpfProcesses(bpf_object* object, bool finds_python)
    : tables_(maps_of(object), unwind::TableCache::default_directory(),
              std::make_unique<reader::RemoteTables>(reader_options(), kTablesInParallel),
              [this] { return goes_on(); }),
      readers_(reader_options()),
      loader_(bpf_object__find_program_by_name(object, "on_loader")),
      finds_python_(finds_python) {}

reader::Process::Options BpfProcesses::reader_options() const {
  return {.goes_on = [this] { return goes_on(); }};
}

// When a recording of a running process begins, the main thread itself makes tables, and has not read its signals yet.
bool BpfProcesses::goes_on() const {
  return !ending_ && (!in_main_thread_ || pending_stop() == 0);
}

void BpfProcesses::on_process(const symbolize::ProcessMaps& maps) {
  in_main_thread_ = ::gettid() == ::getpid();
  watch_loader(maps);
  tables_.on_process(maps);
  if (finds_python_) {
    find_python(maps);
  }
}

// Call it after each reading of the mappings, because Python may not have been initialized before. It takes
// milliseconds.
void BpfProcesses::find_python(const symbolize::ProcessMaps& maps) {
  const symbolize::Mapping* interpreter = find_interpreter(maps);
  if (interpreter == nullptr) {
    return;
  }
  if (const auto python = read_interpreter(readers_.of(interpreter->file->fd.get()), maps, *interpreter)) {
    tables_.on_python(maps.pid(), python->layout, python->threads);
  }
}

void BpfProcesses::on_process_end(uint32_t pid) {
  loaders_.erase(pid);
  tables_.on_process_end(pid);
}

// Attaches a probe to the dynamic loader of the process. The probe reports when libraries are loaded or unloaded.
// Without a probe (no glibc, or a static program), the recorder notices changes only when it next reads the mappings.
void BpfProcesses::watch_loader(const symbolize::ProcessMaps& maps) {
  Loader& loader = loaders_[maps.pid()];
  for (const symbolize::Mapping& mapping : maps.mappings()) {
    const symbolize::MappedFile* file = mapping.file.get();
    if (file == nullptr || !file->fd || !is_loader(file->path) ||
        (loader.device == file->device && loader.inode == file->inode)) {
      continue;
    }
    loader.device = file->device;
    loader.inode = file->inode;
    const auto probe = find_loader_probe(readers_.of(file->fd.get()), file->fd.get());
    auto link = probe ? attach_uprobe(loader_, "/proc/self/fd/" + std::to_string(file->fd.get()), probe->file_offset,
                                      static_cast<pid_t>(maps.pid()), probe->state)
                      : Result<BpfLink>(Error{"no _dl_debug_state in " + file->path, ""});
    if (!link) {
      log::debug(link.error().message);
      return;
    }
    loader.link = std::move(*link);
    const std::lock_guard lock(mutex_);
    // The probe has missed changes that were made after the mappings had been read.
    outdated_.push_back(maps.pid());
    return;
  }
}

std::vector<uint32_t> BpfProcesses::take_outdated() {
  const std::lock_guard lock(mutex_);
  return std::exchange(outdated_, {});
}

Result<BpfLink> attach_uprobe(bpf_program* program, const std::string& path, uint64_t offset, pid_t pid,
                              uint64_t cookie) {
  bpf_uprobe_opts options{};
  options.sz = sizeof(options);
  options.bpf_cookie = cookie;
  bpf_link* link = bpf_program__attach_uprobe_opts(program, pid, path.c_str(), offset, &options);
  if (link == nullptr) {
    return bpf_error("cannot attach a uprobe to " + path, errno,
                     errno == ESRCH ? hints::kNameLiveProcess : kBpfStacksHint);
  }
  return BpfLink(link);
}

}  // namespace gpuprof::record
