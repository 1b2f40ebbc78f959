// Reads files for TableCache. A recorder does this in another process (reader/remote_tables.h), because the files may
// be hostile.
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "symbolize/process_maps.h"
#include "unwind/table.h"

namespace gpuprof::unwind {

struct TableInput {
  TableSource source{};
  std::vector<Elf64_Phdr> segments;  // of the file
};

// Thread-safe.
class TableMaker {
 public:
  TableMaker() = default;
  TableMaker(const TableMaker&) = delete;
  TableMaker& operator=(const TableMaker&) = delete;
  virtual ~TableMaker() = default;

  // nullopt: no table can be built from the file.
  virtual std::optional<TableInput> read(const symbolize::MappedFile& file) = 0;
  // Returns the table as a file of the cache (TableFile); empty: the file has no table.
  virtual std::vector<uint8_t> make(const symbolize::MappedFile& file) = 0;
};

// Reads the files in this process.
class LocalTables final : public TableMaker {
 public:
  std::optional<TableInput> read(const symbolize::MappedFile& file) override;
  std::vector<uint8_t> make(const symbolize::MappedFile& file) override;
};

// Do the same with an open file.
std::optional<TableInput> read_table_input(int fd);
std::vector<uint8_t> make_table(int fd);

}  // namespace gpuprof::unwind
