// An internal command. gpuprof runs itself with it to read hostile files and GPU code (reader/process.h).
#include <CLI/CLI.hpp>

#include "base/process/stranger.h"
#include "cmd/command.h"
#include "reader/process.h"
#include "reader/serve.h"
#include "record/memory_budget.h"

namespace gpuprof::cmd {
namespace {

class ReadForRecorder final : public Command {
 public:
  void declare(CLI::App& /*app*/) override {}
  Result<int> run() override {
    record::own_memory();  // opens its file, which is not possible later
    reader::watch_recorder(kDataFd);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    constexpr uint64_t kAddressSpace = 0;
#else
    constexpr uint64_t kAddressSpace = uint64_t{32} << 30;  // mapped cubins and debug files
#endif
    if (!become_stranger({.address_space = kAddressSpace, .private_memory = record::MemoryBudget::kReading}) ||
        !confine_to_answers(kDataFd)) {
      return 1;
    }
    reader::serve(kDataFd, {.memory = record::own_memory, .most_seconds = reader::kMostSeconds});
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> make_read_for_recorder() {
  return std::make_unique<ReadForRecorder>();
}

}  // namespace gpuprof::cmd
