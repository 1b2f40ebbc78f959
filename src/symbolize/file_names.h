// Names the code of mapped files. A recorder does this in another process (reader/remote_names.h), because the files
// may be hostile.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "profile/records.h"
#include "symbolize/process_maps.h"

namespace gpuprof::symbolize {

struct SymbolizedFrame {
  profile::FrameKind kind = profile::FrameKind::unknown;
  // Demangled. Without a symbol, it is "[libfoo.so+0x12ab]" or "[unknown]".
  std::string name;
  std::string file;
  uint32_t line = 0;
  std::string module;    // path of the mapped file, "[vdso]", "[kernel]", "perf-PID.map"
  std::string build_id;  // lower-case hex
  // The address that was looked up, as a virtual address of the ELF file if there is one. For a caller, it is the
  // return address - 1.
  uint64_t address = 0;
};

class FileNames {
 public:
  FileNames() = default;
  FileNames(const FileNames&) = delete;
  FileNames& operator=(const FileNames&) = delete;
  virtual ~FileNames() = default;

  struct Found {
    bool is_elf = false;
    // Outermost first. Empty: no code of the file is there, or the file could not be read.
    std::vector<SymbolizedFrame> frames;
  };
  // Names the code at a file offset. `mapping_offset`: as for ElfImage::vaddr_of(). `maps` belongs to the process.
  virtual Found find(const std::shared_ptr<MappedFile>& file, const ProcessMaps& maps, uint64_t offset,
                     uint64_t mapping_offset) = 0;
};

class ElfModule;
class ReadingBudget;

// Reads the files in this process.
class LocalNames final : public FileNames {
 public:
  LocalNames(std::vector<std::string> debug_directories, bool debuginfod, ReadingBudget& budget);
  ~LocalNames() override;
  Found find(const std::shared_ptr<MappedFile>& file, const ProcessMaps& maps, uint64_t offset,
             uint64_t mapping_offset) override;

 private:
  std::vector<std::string> debug_directories_;
  bool debuginfod_;
  ReadingBudget& budget_;
  // The key is the address of a file. No other file can get it, because the caller keeps the object alive.
  std::unordered_map<const MappedFile*, std::unique_ptr<ElfModule>> modules_;
};

}  // namespace gpuprof::symbolize
