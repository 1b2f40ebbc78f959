// The executable mappings of a process, read while it lives, so that its addresses can be named after it has ended.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files/file_rights.h"
#include "base/unique_fd.h"
#include "symbolize/safe_open.h"

namespace gpuprof::symbolize {

// A mapped file, opened when first seen, so that replaced, deleted and unmounted files stay readable. All processes
// of a session share one object per (device, inode).
struct MappedFile {
  std::string path;  // as the process sees it, without a trailing " (deleted)"
  uint64_t device = 0;
  uint64_t inode = 0;
  UniqueFd fd;  // closed: the file could not be opened, and its frames get only addresses
  bool deleted = false;
  bool denied = false;  // the process, or gpuprof's user, may not read the file
  uint64_t size = 0;    // when opened
  timespec written{};   // time of the last write when opened

  // Returns false if somebody has written to the file since it was opened. A build can overwrite a file in place.
  [[nodiscard]] bool is_unchanged() const;
};

struct Mapping {
  uint64_t start = 0;  // address range [start, end)
  uint64_t end = 0;
  uint64_t offset = 0;               // in the file
  std::shared_ptr<MappedFile> file;  // null for anonymous memory
  bool gone = false;                 // unmapped at the last refresh(), but still known
  std::string name;                  // path, "[vdso]", "[stack]", "//anon", ...; empty for anonymous
};

class FileCache;  // (device, inode) -> MappedFile
class PerfMap;
struct MapsLine;

// A snapshot of mappings that grows: an old mapping stays known until another one replaces it. Holds a descriptor of
// the /proc directory, so a later process with the same pid is never mistaken for this one.
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

  // Returns a refreshed copy, or null if the process is gone. For use while another thread reads this one.
  [[nodiscard]] std::shared_ptr<ProcessMaps> newer() const;

  // Returns the executable mapping that holds `address`, or null. Valid until the next refresh().
  [[nodiscard]] const Mapping* find(uint64_t address) const;

  // Opens a file by the process's path, mapped or not. Null: no regular file has that path; errno is EACCES if it may
  // not be read.
  [[nodiscard]] std::shared_ptr<MappedFile> open_file(const std::string& path) const;

  // Reads memory of the process. False: unmapped, or the process is gone.
  [[nodiscard]] bool read_memory(uint64_t address, void* to, size_t bytes) const;

  [[nodiscard]] const std::vector<Mapping>& mappings() const { return mappings_; }
  [[nodiscard]] uint32_t pid() const { return pid_; }
  // True: the last refresh() failed because gpuprof may not read the mappings. The process is not dumpable.
  [[nodiscard]] bool denied() const { return denied_; }
  // When the last refresh() began to read (CLOCK_MONOTONIC); 0: never.
  [[nodiscard]] uint64_t read_ns() const { return read_ns_; }
  // gpuprof's own vdso, which the kernel gives to all processes. Empty until the process is known to have one.
  [[nodiscard]] const std::vector<uint8_t>& vdso() const;
  // How to open files that the process names: in its root directory and with its current rights. After its end, the
  // rights of the last refresh() apply; they never exceed those of the first one. nullopt: rights unknown, so no file
  // may be opened. The result must not outlive this object.
  [[nodiscard]] std::optional<FileAccess> file_access() const;
  // Path of the perf map: "/tmp/perf-PID.map" in the process's root. The PID is the one that the process itself sees.
  [[nodiscard]] std::string perf_map_path() const;
  // The perf map, shared with the copies by newer(). Null before the first refresh(). Only for the symbolizing thread.
  [[nodiscard]] PerfMap* perf_map() const { return perf_map_.get(); }

 private:
  // The directory to read: /proc/PID, or that of a live thread.
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
  UniqueFd proc_fd_;    // /proc/PID
  UniqueFd thread_fd_;  // /proc/PID/task/TID, if the main thread has ended before others: then /proc/PID has no memory
  UniqueFd root_fd_;
  std::vector<Mapping> mappings_;  // executable ones, sorted by start
  bool has_vdso_ = false;
  bool denied_ = false;
  std::optional<FileRights> first_rights_;
  std::optional<FileRights> rights_;  // the process's rights at the last refresh()
  std::shared_ptr<PerfMap> perf_map_;
};

std::shared_ptr<FileCache> make_file_cache();

}  // namespace gpuprof::symbolize
