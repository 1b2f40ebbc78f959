// The executable mappings of a process, taken while it lives, so that its addresses can be named after it is gone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files/file_rights.h"
#include "base/unique_fd.h"
#include "symbolize/safe_open.h"

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
  // even where it was deleted or replaced, or else by their path in the process's root, where the inode is right), as
  // far as the process may read them: a program may be mapped that can only be executed.
  // False when the process is gone: what was known stays.
  bool refresh();

  // The same process, read again on top of what is known, as refresh() does; null when it is gone. For snapshots that
  // others still read.
  [[nodiscard]] std::shared_ptr<ProcessMaps> newer() const;

  // The executable mapping that holds `address`, or null. Valid until the next refresh().
  [[nodiscard]] const Mapping* find(uint64_t address) const;

  // A file of the process's by its path, whether it is mapped or not. Null: there is no regular file of that name.
  [[nodiscard]] std::shared_ptr<MappedFile> open_file(const std::string& path) const;

  // Bytes of its memory. False: they are not there, or the process is gone.
  [[nodiscard]] bool read_memory(uint64_t address, void* to, size_t bytes) const;

  [[nodiscard]] const std::vector<Mapping>& mappings() const { return mappings_; }
  [[nodiscard]] uint32_t pid() const { return pid_; }
  // When refresh() last began to read what is known now (CLOCK_MONOTONIC); 0: never.
  [[nodiscard]] uint64_t read_ns() const { return read_ns_; }
  // The vdso's bytes, which are ours: the kernel gives one to all processes. Empty while the process is not known to
  // have it.
  [[nodiscard]] const std::vector<uint8_t>& vdso() const;
  // How files that the process names are opened: in its root directory, with the rights that it has now or, once it is
  // gone, had at the last refresh(); never with more than at the first one. Nothing: its rights are not known, and no
  // file may be opened for it. What this returns must not outlive the object.
  [[nodiscard]] std::optional<FileAccess> file_access() const;
  // Where just-in-time compilers describe their code, as the process itself names it: "/tmp/perf-PID.map" with the PID
  // that it has in its own namespace. To be resolved in root_fd().
  [[nodiscard]] std::string perf_map_path() const;
  // That file's contents, read on demand and shared with newer(); null before the first successful refresh(). Of the
  // thread that names addresses.
  [[nodiscard]] PerfMap* perf_map() const { return perf_map_.get(); }

 private:
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
  UniqueFd proc_fd_;  // /proc/PID
  UniqueFd root_fd_;
  std::vector<Mapping> mappings_;  // sorted by start, executable ones only
  bool has_vdso_ = false;
  std::optional<FileRights> first_rights_;
  std::optional<FileRights> rights_;  // at the last refresh()
  std::shared_ptr<PerfMap> perf_map_;
};

std::shared_ptr<FileCache> make_file_cache();

}  // namespace gpuprof::symbolize
