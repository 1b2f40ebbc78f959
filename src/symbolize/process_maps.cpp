#include "symbolize/process_maps.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <map>
#include <utility>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/files/safe_open.h"
#include "base/process/credentials.h"
#include "base/process/process_status.h"
#include "symbolize/elf/vdso.h"
#include "symbolize/maps_line.h"
#include "symbolize/perf_map.h"

namespace gpuprof::symbolize {
namespace {

constexpr size_t kMaxMapsText = size_t{16} << 20;  // bytes of /proc/PID/maps to read
// Includes mappings that were unmapped. Just-in-time compilers leave many of them.
constexpr size_t kMaxMappings = 1 << 17;
constexpr std::string_view kDeleted = " (deleted)";

template <typename Number>
bool take_number(std::string_view& text, int base, char after, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  const auto used = static_cast<size_t>(end - text.data());
  if (error != std::errc{} || (used < text.size() && text[used] != after) || (used == text.size() && after != ' ')) {
    return false;
  }
  text.remove_prefix(std::min(used + 1, text.size()));
  return true;
}

bool ends_with_deleted(const std::string& path) {
  return path.ends_with(kDeleted);
}

// Returns whether an open file is the mapped file. Compares no devices, because stat() and maps can report different
// devices for a file on overlay and btrfs. On overlay, inodes can differ too, so a path there without "(deleted)" is
// trusted.
bool is_mapped_file(int fd, const MapsLine& line) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) {
    return false;
  }
  if (status.st_ino == line.inode) {
    return true;
  }
  struct statfs filesystem {};
  return !ends_with_deleted(line.path) && ::fstatfs(fd, &filesystem) == 0 &&
         static_cast<uint64_t>(filesystem.f_type) == OVERLAYFS_SUPER_MAGIC;
}

std::string hex(uint64_t value) {
  char digits[17];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value, 16);
  return error == std::errc{} ? std::string(digits, end) : std::string{};
}

void note_version(MappedFile& file) {
  struct stat status {};
  if (file.fd && ::fstat(file.fd.get(), &status) == 0) {
    file.size = static_cast<uint64_t>(status.st_size);
    file.written = status.st_mtim;
  }
}

bool same_place(const Mapping& a, const Mapping& b) {
  return a.start == b.start && a.end == b.end && a.offset == b.offset;
}

}  // namespace

bool MappedFile::is_unchanged() const {
  struct stat status {};
  return fd && ::fstat(fd.get(), &status) == 0 && static_cast<uint64_t>(status.st_size) == size &&
         status.st_mtim.tv_sec == written.tv_sec && status.st_mtim.tv_nsec == written.tv_nsec;
}

bool parse_maps_line(std::string_view text, MapsLine& out) {
  unsigned major = 0;
  unsigned minor = 0;
  if (!take_number(text, 16, '-', out.start) || !take_number(text, 16, ' ', out.end) || text.size() < 5 ||
      text[4] != ' ' || out.end <= out.start) {
    return false;
  }
  out.executable = text[2] == 'x';
  text.remove_prefix(5);
  if (!take_number(text, 16, ' ', out.offset) || !take_number(text, 16, ':', major) ||
      !take_number(text, 16, ' ', minor) || !take_number(text, 10, ' ', out.inode)) {
    return false;
  }
  out.device = makedev(major, minor);
  const size_t path = text.find_first_not_of(' ');
  text = path == std::string_view::npos ? std::string_view{} : text.substr(path);
  out.path.clear();
  constexpr std::string_view kEscapedNewline = "\\012";
  for (size_t at = text.find(kEscapedNewline); at != std::string_view::npos; at = text.find(kEscapedNewline)) {
    out.path.append(text.substr(0, at)).push_back('\n');
    text.remove_prefix(at + kEscapedNewline.size());
  }
  out.path.append(text);
  return true;
}

// Holds weak references: a file is closed when no process and no symbol table needs it any more.
class FileCache {
 public:
  std::shared_ptr<MappedFile> find(const MapsLine& line) {
    const auto found = files_.find({line.device, line.inode});
    return found == files_.end() ? nullptr : found->second.file.lock();
  }
  // Returns whether the file of find() was opened for this process and with these rights.
  [[nodiscard]] bool is_of(const MapsLine& line, uint32_t pid, const std::optional<FileRights>& rights) const {
    const auto found = files_.find({line.device, line.inode});
    return found != files_.end() && found->second.pid == pid && found->second.rights == rights;
  }
  void add(const std::shared_ptr<MappedFile>& file, uint32_t pid, const std::optional<FileRights>& rights) {
    if (files_.size() >= sweep_at_) {
      std::erase_if(files_, [](const auto& entry) { return entry.second.file.expired(); });
      sweep_at_ = std::max<size_t>(1024, files_.size() * 2);
    }
    files_[{file->device, file->inode}] = {file, pid, rights};
  }

 private:
  struct Entry {
    std::weak_ptr<MappedFile> file;
    uint32_t pid = 0;
    std::optional<FileRights> rights;
  };
  std::map<std::pair<uint64_t, uint64_t>, Entry> files_;
  size_t sweep_at_ = 1024;
};

std::shared_ptr<FileCache> make_file_cache() {
  return std::make_shared<FileCache>();
}

ProcessMaps::ProcessMaps(uint32_t pid, std::shared_ptr<FileCache> cache)
    : pid_(pid),
      namespace_pid_(pid),
      cache_(cache ? std::move(cache) : make_file_cache()),
      proc_fd_(open_process(static_cast<pid_t>(pid))) {}

ProcessMaps::~ProcessMaps() = default;
ProcessMaps::ProcessMaps(ProcessMaps&&) noexcept = default;
ProcessMaps& ProcessMaps::operator=(ProcessMaps&&) noexcept = default;

std::string ProcessMaps::perf_map_path() const {
  return "/tmp/perf-" + std::to_string(namespace_pid_) + ".map";
}

// Reads the maps. If the main thread has ended, reads them through a thread that still lives.
std::string ProcessMaps::read_maps() {
  thread_fd_.reset();
  errno = 0;
  std::string text = read_text(proc_fd_.get(), "maps", kMaxMapsText);
  denied_ = text.empty() && (errno == EACCES || errno == EPERM);
  if (!text.empty() || denied_) {
    return text;
  }
  thread_fd_ = open_live_thread(proc_fd_.get());
  if (thread_fd_) {
    text = read_text(thread_fd_.get(), "maps", kMaxMapsText);
  }
  return text;
}

void ProcessMaps::read_identity() {
  const std::string status = read_status(directory());
  // The last number is the pid in the innermost pid namespace.
  const auto pids = status_numbers<uint32_t>(status, "NStgid");
  namespace_pid_ = pids && !pids->empty() ? pids->back() : pid_;
  const auto users = parse_users(status);
  const uid_t owner = users ? users->uids[1] : ::getuid();  // effective uid
  const std::optional<FileAccess> access = file_access();
  perf_map_ = std::make_shared<PerfMap>(perf_map_path(), owner, access ? open_folder(*access, "/tmp") : UniqueFd{});
}

void ProcessMaps::read_rights() {
  if (::geteuid() != 0) {
    return;  // the rights are used only if gpuprof is root
  }
  const std::optional<FileRights> now = read_file_rights(directory());
  if (!first_rights_) {
    first_rights_ = now;
  }
  if (now) {
    rights_ = narrowed(*first_rights_, *now);
  }
}

std::optional<FileAccess> ProcessMaps::file_access() const {
  if (::geteuid() != 0) {
    return FileAccess{root_fd_.get()};  // no rights given: opens files as gpuprof's user
  }
  if (!rights_ || !root_fd_) {
    return std::nullopt;
  }
  const std::optional<FileRights> now = read_file_rights(directory());
  return FileAccess{root_fd_.get(), now ? narrowed(*first_rights_, *now) : *rights_};
}

const std::vector<uint8_t>& ProcessMaps::vdso() const {
  static const std::vector<uint8_t> none;
  return has_vdso_ ? own_vdso() : none;
}

UniqueFd ProcessMaps::open_mapped(const MapsLine& line) const {
  const std::optional<FileAccess> access = file_access();
  errno = 0;
  if (!access) {
    return UniqueFd{};
  }
  const bool deleted = ends_with_deleted(line.path);
  UniqueFd fd =
      open_regular_proc(directory(), "map_files/" + hex(line.start) + '-' + hex(line.end), access->rights_or_null());
  // The process may have changed the mapping after its line was read.
  if (fd && (deleted || is_mapped_file(fd.get(), line))) {
    return fd;
  }
  std::vector<std::string> paths = {line.path};
  if (deleted) {
    paths.push_back(line.path.substr(0, line.path.size() - kDeleted.size()));
  }
  for (const std::string& path : paths) {
    fd = path.starts_with('/') ? open_regular(*access, path) : UniqueFd{};
    if (fd && is_mapped_file(fd.get(), line)) {
      return fd;
    }
  }
  return UniqueFd{};
}

std::shared_ptr<MappedFile> ProcessMaps::file_of(const MapsLine& line) const {
  std::shared_ptr<MappedFile> file = cache_->find(line);
  const bool deleted = ends_with_deleted(line.path);
  std::string path = deleted ? line.path.substr(0, line.path.size() - kDeleted.size()) : line.path;
  // Opens a file again if it was overwritten in place. Tries again to open a file that could not be opened, unless
  // path, process and rights are the same, because another file may have its inode number now.
  if (file && (file->fd ? file->is_unchanged() : file->path == path && cache_->is_of(line, pid_, rights_))) {
    return file;
  }
  file = std::make_shared<MappedFile>();
  file->path = std::move(path);
  file->device = line.device;
  file->inode = line.inode;
  file->fd = open_mapped(line);
  file->denied = !file->fd && errno == EACCES;
  note_version(*file);
  file->deleted = deleted;
  cache_->add(file, pid_, rights_);
  return file;
}

std::shared_ptr<MappedFile> ProcessMaps::open_file(const std::string& path) const {
  struct stat status {};
  const std::optional<FileAccess> access = path.starts_with('/') ? file_access() : std::nullopt;
  errno = 0;
  UniqueFd fd = access ? open_regular(*access, path) : UniqueFd{};
  if (!fd || ::fstat(fd.get(), &status) != 0) {
    return nullptr;
  }
  MapsLine line;
  line.device = status.st_dev;
  line.inode = status.st_ino;
  if (std::shared_ptr<MappedFile> known = cache_->find(line); known && known->is_unchanged()) {
    return known;
  }
  auto file = std::make_shared<MappedFile>();
  file->path = path;
  file->device = line.device;
  file->inode = line.inode;
  file->fd = std::move(fd);
  note_version(*file);
  cache_->add(file, pid_, rights_);
  return file;
}

Mapping ProcessMaps::mapping_of(const MapsLine& line) const {
  Mapping mapping;
  mapping.start = line.start;
  mapping.end = line.end;
  mapping.offset = line.offset;
  mapping.name = line.path;
  if (line.inode == 0) {
    return mapping;
  }
  const auto known = std::lower_bound(mappings_.begin(), mappings_.end(), line.start,
                                      [](const Mapping& one, uint64_t start) { return one.start < start; });
  if (known != mappings_.end() && same_place(*known, mapping) && known->file && known->file->device == line.device &&
      known->file->inode == line.inode) {
    mapping.file = known->file;
  } else {
    mapping.file = file_of(line);
  }
  mapping.name = mapping.file->path;
  return mapping;
}

bool ProcessMaps::refresh() {
  if (!proc_fd_) {
    return false;
  }
  const uint64_t now = monotonic_ns();
  std::string text = read_maps();
  if (text.size() >= kMaxMapsText) {
    text.resize(text.rfind('\n') + 1);  // drops an incomplete last line
  }
  if (text.empty()) {
    return false;  // the process has ended, is a zombie, or may not be read
  }
  read_ns_ = now;
  read_rights();
  if (UniqueFd root = locate(directory(), "root", O_DIRECTORY); root) {
    root_fd_ = std::move(root);
  }
  if (!perf_map_) {
    read_identity();
  }
  std::vector<Mapping> fresh;
  MapsLine line;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    const bool valid = parse_maps_line(std::string_view(text).substr(start, end - start), line);
    start = end + 1;
    if (!valid || !line.executable || fresh.size() >= kMaxMappings ||
        (!fresh.empty() && line.start < fresh.back().end)) {
      continue;
    }
    fresh.push_back(mapping_of(line));
    const bool is_vdso = line.inode == 0 && line.path == "[vdso]";
    has_vdso_ = has_vdso_ || (is_vdso && line.end - line.start == own_vdso().size());
  }
  take_over(std::move(fresh));
  return true;
}

bool ProcessMaps::read_memory(uint64_t address, void* to, size_t bytes) const {
  const UniqueFd memory = open_regular(directory(), "mem");
  return memory && address <= INT64_MAX &&
         ::pread(memory.get(), to, bytes, static_cast<off_t>(address)) == static_cast<ssize_t>(bytes);
}

std::shared_ptr<ProcessMaps> ProcessMaps::newer() const {
  auto next = std::make_shared<ProcessMaps>(pid_, cache_);
  // A descriptor never refers to a later process with the same pid.
  next->proc_fd_.reset(::fcntl(proc_fd_.get(), F_DUPFD_CLOEXEC, 0));
  next->mappings_ = mappings_;
  next->namespace_pid_ = namespace_pid_;
  next->has_vdso_ = has_vdso_;
  next->first_rights_ = first_rights_;
  next->rights_ = rights_;
  next->perf_map_ = perf_map_;
  return next->refresh() ? next : nullptr;
}

// Merges the new mappings with what remains of the old ones.
void ProcessMaps::take_over(std::vector<Mapping> fresh) {
  std::vector<Mapping> merged;
  merged.reserve(fresh.size() + 16);
  size_t budget = kMaxMappings - std::min(kMaxMappings, fresh.size());
  auto next = fresh.begin();
  for (Mapping& old : mappings_) {
    old.gone = true;
    while (next != fresh.end() && next->end <= old.start) {
      merged.push_back(std::move(*next++));
    }
    // New mappings may have replaced pieces of the old one.
    while (old.start < old.end) {
      if (next == fresh.end() || next->start >= old.end) {
        if (budget > 0) {
          merged.push_back(old);
          --budget;
        }
        break;
      }
      if (next->start > old.start && budget > 0) {
        merged.push_back(old);
        merged.back().end = next->start;
        --budget;
      }
      const uint64_t cut = std::min(next->end, old.end);
      old.offset += cut - old.start;
      old.start = cut;
      if (next->end <= old.end) {
        merged.push_back(std::move(*next++));
      }
    }
  }
  std::move(next, fresh.end(), std::back_inserter(merged));
  mappings_ = std::move(merged);
}

const Mapping* ProcessMaps::find(uint64_t address) const {
  const auto after = std::upper_bound(mappings_.begin(), mappings_.end(), address,
                                      [](uint64_t wanted, const Mapping& one) { return wanted < one.start; });
  if (after == mappings_.begin()) {
    return nullptr;
  }
  const Mapping& mapping = *std::prev(after);
  return address < mapping.end ? &mapping : nullptr;
}

}  // namespace gpuprof::symbolize
