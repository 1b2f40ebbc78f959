// Caches the unwind tables of mapped files: in memory while a table is used, and on disk for later recordings.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "symbolize/process_maps.h"
#include "unwind/table.h"
#include "unwind/table_maker.h"

namespace gpuprof::unwind {

// Thread-safe.
class TableCache {
 public:
  // Limits the memory for all tables. If it is used up, get() returns null.
  static constexpr uint64_t kMaxBytes = uint64_t{160} << 20;

  // Stores tables in `directory`, which it creates when needed. If `directory` is empty, stores no tables.
  explicit TableCache(const std::string& directory,
                      std::unique_ptr<TableMaker> maker = std::make_unique<LocalTables>());
  ~TableCache();
  TableCache(const TableCache&) = delete;
  TableCache& operator=(const TableCache&) = delete;

  // Returns $GPUPROF_UNWIND_CACHE; if it is empty, tables are not stored. If it is unset, returns gpuprof/unwind in
  // $XDG_CACHE_HOME or ~/.cache. If these are unset too, or belong to another user, root gets
  // /var/cache/gpuprof/unwind, and other users store no tables.
  static std::string default_directory();

  // Returns null if the file is not an ELF file or has no table. Reads or builds the table in the calling thread, which
  // takes up to 1 s for the largest libraries. Other threads that ask for the same file wait.
  std::shared_ptr<const Table> get(const symbolize::MappedFile& file);

  // Returns the table if get() has completed it, otherwise null. Never waits for a table that is being built.
  [[nodiscard]] std::shared_ptr<const Table> peek(const symbolize::MappedFile& file) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gpuprof::unwind
