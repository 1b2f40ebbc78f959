// Unwind tables of mapped files, built once: in memory for as long as somebody uses them, on disk for later.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "symbolize/process_maps.h"
#include "unwind/table.h"

namespace gpuprof::unwind {

// All functions may be called by any thread.
class TableCache {
 public:
  static constexpr uint64_t kMaxBytes = uint64_t{1} << 30;  // of memory for all tables: beyond that get() has none

  // `directory`: where tables are kept, made when it is needed; empty: in memory only.
  explicit TableCache(const std::string& directory);
  ~TableCache();
  TableCache(const TableCache&) = delete;
  TableCache& operator=(const TableCache&) = delete;

  // $GPUPROF_UNWIND_CACHE (empty: none), or gpuprof/unwind in $XDG_CACHE_HOME or ~/.cache. Empty where that could be
  // another user's: root does not write into the home directory of somebody else.
  static std::string default_directory();

  // Null when the file is no ELF file or has no table. Reads and builds in the calling thread, which takes up to a
  // second for the largest libraries; a thread that asks for the same file meanwhile waits.
  std::shared_ptr<const Table> get(const symbolize::MappedFile& file);

  // Only what get() has finished; null otherwise. Never waits for the building of a table.
  [[nodiscard]] std::shared_ptr<const Table> peek(const symbolize::MappedFile& file) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gpuprof::unwind
