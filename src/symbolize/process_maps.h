// The executable mappings of a process, read while it lives, so that its addresses can be named after it has ended.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files/file_rights.h"
#include "base/files/safe_open.h"
#include "base/unique_fd.h"

namespace gpuprof::symbolize {

// A mapped file, opened when first seen, so that replaced, deleted and unmounted files stay readable. All processes
// of a session share one object per (device, inode).
struct MappedFile {
  std::string path;  // as the process sees it, without a trailing " (deleted)"
  uint64_t device = 0;
  uint64_t inode = 0;
  // Closed if the file could not be opened. Then its frames have no names, only addresses.
  UniqueFd fd;
  bool deleted = false;
  bool denied = false;  // the process, or gpuprof's user, has no right to read the file
  uint64_t size = 0;
  timespec written{};  // time of the last write, when the file was opened

  // Returns false if somebody has written to the file since it was opened. A build can overwrite a file in place.
  [[nodiscard]] bool is_unchanged() const;
};

struct Mapping {
  uint64_t start = 0;  // the mapping is [start, end)
  uint64_t end = 0;
  uint64_t offset = 0;               // file offset of `start`
  std::shared_ptr<MappedFile> file;  // null for anonymous memory
  bool gone = false;                 // unmapped at the last refresh(), but not yet replaced by another mapping
  std::string name;                  // path, "[vdso]", "[stack]", "//anon", ...; empty for anonymous
};

class FileCache;
class PerfMap;
struct MapsLine;

// The mappings of a process, which refresh() updates. An unmapped one stays known until another replaces it. Holds a
// descriptor of /proc/PID, so a later process with the same pid is never mistaken for this one.
class ProcessMaps {
 public:
  ProcessMaps(uint32_t pid, std::shared_ptr<FileCache> cache);
  ~ProcessMaps();
  ProcessMaps(ProcessMaps&&) noexcept;
  ProcessMaps& operator=(ProcessMaps&&) noexcept;

  // Reads /proc/PID/maps again and opens new executable files. Uses /proc/PID/map_files, which works for deleted and
  // replaced files, or else the path in the process's root, if the inode matches. Opens only files that the process
  // may read: some programs may only be executed. Returns false if the process is gone; known mappings remain.
  bool refresh();

  // Returns an updated copy, or null if the process has ended. Use it while another thread reads this object.
  [[nodiscard]] std::shared_ptr<ProcessMaps> newer() const;

  // Returns the executable mapping that holds `address`, or null. Valid until the next refresh().
  [[nodiscard]] const Mapping* find(uint64_t address) const;

  // Opens a file by a path of the process, mapped or not. Returns null if no regular file has that path. Then errno
  // is EACCES if the file may not be read.
  [[nodiscard]] std::shared_ptr<MappedFile> open_file(const std::string& path) const;

  // Reads memory of the process. Returns false if the memory is unmapped or the process has ended.
  [[nodiscard]] bool read_memory(uint64_t address, void* to, size_t bytes) const;

  [[nodiscard]] const std::vector<Mapping>& mappings() const { return mappings_; }
  [[nodiscard]] uint32_t pid() const { return pid_; }
  // True if the last refresh() failed because gpuprof may not read the mappings: the process is not dumpable.
  [[nodiscard]] bool denied() const { return denied_; }
  // Returns the CLOCK_MONOTONIC time at which the last refresh() began to read. 0: refresh() was not called yet.
  [[nodiscard]] uint64_t read_ns() const { return read_ns_; }
  // Returns gpuprof's own vdso, because the kernel maps the same vdso into all processes. Empty until the process is
  // known to have one.
  [[nodiscard]] const std::vector<uint8_t>& vdso() const;
  // Returns how to open files that the process names: in its root directory and with its current rights. After the
  // process has ended, these are the rights at the last refresh(). They never exceed the rights at the first
  // refresh(). nullopt: the rights are unknown, so no file may be opened. The result must not outlive this object.
  [[nodiscard]] std::optional<FileAccess> file_access() const;
  // Returns the path of the perf map in the process's root, "/tmp/perf-PID.map". PID is the pid in the process's own
  // namespace.
  [[nodiscard]] std::string perf_map_path() const;
  // Returns the perf map, which newer() shares with its copies. Null before the first refresh(). Only the symbolizing
  // thread may use it.
  [[nodiscard]] PerfMap* perf_map() const { return perf_map_.get(); }

 private:
  // Returns the directory to read: /proc/PID, or the directory of a thread that is still alive.
  [[nodiscard]] int directory() const { return thread_fd_ ? thread_fd_.get() : proc_fd_.get(); }
  [[nodiscard]] std::string read_maps();
  void read_identity();
  void read_rights();
  [[nodiscard]] UniqueFd open_mapped(const MapsLine& line) const;
  [[nodiscard]] std::shared_ptr<MappedFile> file_of(const MapsLine& line) const;
  [[nodiscard]] Mapping mapping_of(const MapsLine& line) const;
  void take_over(std::vector<Mapping> fresh);

  uint32_t pid_;
  uint32_t namespace_pid_;
  uint64_t read_ns_ = 0;
  std::shared_ptr<FileCache> cache_;
  UniqueFd proc_fd_;
  // /proc/PID/task/TID of a live thread, if the main thread has ended. The memory of the process is then not in
  // /proc/PID.
  UniqueFd thread_fd_;
  UniqueFd root_fd_;
  std::vector<Mapping> mappings_;  // executable mappings, sorted by start
  bool has_vdso_ = false;
  bool denied_ = false;
  std::optional<FileRights> first_rights_;
  std::optional<FileRights> rights_;
  std::shared_ptr<PerfMap> perf_map_;
};

std::shared_ptr<FileCache> make_file_cache();

}  // namespace gpuprof::symbolize
