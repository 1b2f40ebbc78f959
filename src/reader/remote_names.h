// Names the code of mapped files in other processes, so that no hostile file is parsed in the recorder.
//
// There is one process for files that only root and gpuprof's user can have written, and another one for all others. So
// a hostile file cannot falsify the names of the system's libraries.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "reader/process.h"
#include "symbolize/file_names.h"
#include "symbolize/reading_budget.h"

namespace gpuprof::reader {

class RemoteNames final : public symbolize::FileNames {
 public:
  RemoteNames(const Process::Options& options, symbolize::ReadingBudget& budget);

  // If the process fails or takes too long, the file has no names from then on.
  Found find(const std::shared_ptr<symbolize::MappedFile>& file, const symbolize::ProcessMaps& maps, uint64_t offset,
             uint64_t mapping_offset) override;

 private:
  struct Reader {
    Reader(Process::Options options, const symbolize::ReadingBudget& budget);
    Process process;
    uint64_t generation = 0;
    symbolize::ReadingBudget::LeftOut left_out;  // of the running process
  };
  struct KnownFile {
    uint64_t id = 0;
    bool ours = false;
    bool unusable = false;
    bool is_counted = false;  // as left out
    uint64_t generation = 0;  // the process that has its descriptor
  };
  KnownFile& known(const symbolize::MappedFile& file);
  void note_failure(const symbolize::MappedFile& file, KnownFile& known, Process::Outcome outcome);

  std::array<Reader, 2> readers_;
  symbolize::ReadingBudget& budget_;
  // The key is the address of a file. No other file can get it, because the caller keeps the object alive.
  std::unordered_map<const symbolize::MappedFile*, KnownFile> files_;
  bool warned_ = false;
};

}  // namespace gpuprof::reader
