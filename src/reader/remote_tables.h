// Makes unwind tables in other processes, so that no hostile file is parsed in the recorder.
#pragma once

#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "reader/process.h"
#include "reader/requests.h"
#include "unwind/table_maker.h"

namespace gpuprof::reader {

// Thread-safe. As for names, there are separate processes for files of root and gpuprof's user. A table of such a file
// is stored for later recordings, so no hostile file may have reached its process.
class RemoteTables final : public unwind::TableMaker {
 public:
  // `parallel`: how many tables can be made at the same time.
  RemoteTables(const Process::Options& options, unsigned parallel);

  std::optional<unwind::TableInput> read(const symbolize::MappedFile& file) override;
  std::vector<uint8_t> make(const symbolize::MappedFile& file) override;

 private:
  std::optional<Message> ask(const symbolize::MappedFile& file, Ask what);

  std::mutex mutex_;
  std::condition_variable changed_;
  // For hostile files, and for files of root and gpuprof's user. A process starts with its first request.
  std::array<std::vector<std::unique_ptr<Process>>, 2> idle_;
};

}  // namespace gpuprof::reader
