// The executable mappings of a process, taken while it lives, so that its addresses can be named after it is gone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gpuprof::symbolize {

// A mapped file, opened when it was first seen: replaced, deleted and unmounted files stay readable.
// One object per (device, inode), shared by all processes of a session.
struct MappedFile {
  std::string path;  // as the process sees it, without a trailing " (deleted)"
  uint64_t device = 0;
  uint64_t inode = 0;
  UniqueFd fd;  // not open: the file could not be had (its frames get addresses only)
  bool deleted = false;
};

struct Mapping {
  uint64_t start = 0;  // address range [start, end)
  uint64_t end = 0;
  uint64_t offset = 0;               // in the file
  std::shared_ptr<MappedFile> file;  // null for anonymous memory
  bool gone = false;                 // at the last reading; it stays known
  std::string name;                  // path, "[vdso]", "[stack]", "//anon", ...; empty for anonymous
};

class FileCache;  // (device, inode) -> MappedFile
class PerfMap;
struct MapsLine;

// A snapshot that grows: mappings seen once stay known unless another one takes their place. The process is held by
// a descriptor of its /proc directory, so that a later process with the same PID is never taken for it.
class ProcessMaps {
 public:
  ProcessMaps(uint32_t pid, std::shared_ptr<FileCache> cache);
  ~ProcessMaps();
  ProcessMaps(ProcessMaps&&) noexcept;
  ProcessMaps& operator=(ProcessMaps&&) noexcept;

  // Reads /proc/PID/maps again and opens new executable files (by /proc/PID/map_files, which leads to the mapped file
  // even where it was deleted or replaced, or else by their path in the process's root, where the inode is right).
  // False when the process is gone: what was known stays.
  bool refresh();

  // The same process, read again on top of what is known, as refresh() does; null when it is gone. For snapshots that
  // others still read.
  [[nodiscard]] std::shared_ptr<ProcessMaps> newer() const;

  // The executable mapping that holds `address`, or null. Valid until the next refresh().
  [[nodiscard]] const Mapping* find(uint64_t address) const;

  // A file of the process's by its path, whether it is mapped or not. Null: there is no regular file of that name.
  [[nodiscard]] std::shared_ptr<MappedFile> open_file(const std::string& path) const;

  [[nodiscard]] const std::vector<Mapping>& mappings() const { return mappings_; }
  [[nodiscard]] uint32_t pid() const { return pid_; }
  // When refresh() last began to read what is known now (CLOCK_MONOTONIC); 0: never.
  [[nodiscard]] uint64_t read_ns() const { return read_ns_; }
  // Bytes of the process's vdso, captured at the first refresh; empty if it could not be read.
  [[nodiscard]] const std::vector<uint8_t>& vdso() const { return vdso_; }
  // The process's root directory (O_PATH); -1 when it could not be opened, paths are then tried in our own.
  [[nodiscard]] int root_fd() const { return root_fd_.get(); }
  // Where just-in-time compilers describe their code, as the process itself names it: "/tmp/perf-PID.map" with the PID
  // that it has in its own namespace. To be resolved in root_fd().
  [[nodiscard]] std::string perf_map_path() const;
  // That file's contents, read on demand; null before the first successful refresh().
  [[nodiscard]] PerfMap* perf_map() const { return perf_map_.get(); }

 private:
  void read_identity();
  void capture_vdso(const Mapping& mapping);
  [[nodiscard]] std::shared_ptr<MappedFile> file_of(const MapsLine& line) const;
  [[nodiscard]] Mapping mapping_of(const MapsLine& line) const;
  void take_over(std::vector<Mapping> fresh);

  uint32_t pid_;
  uint32_t namespace_pid_;
  uint64_t read_ns_ = 0;
  std::shared_ptr<FileCache> cache_;
  UniqueFd proc_fd_;  // /proc/PID
  UniqueFd root_fd_;
  std::vector<Mapping> mappings_;  // sorted by start, executable ones only
  std::vector<uint8_t> vdso_;
  std::unique_ptr<PerfMap> perf_map_;
};

std::shared_ptr<FileCache> make_file_cache();

}  // namespace gpuprof::symbolize
