// An internal command. gpuprof runs itself with it to read hostile GPU code (symbolize/gpu/xe_disassembler.h).
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/process/stranger.h"
#include "cmd/command.h"
#include "symbolize/gpu/xe_disassembler.h"

namespace gpuprof::cmd {
namespace {

class Disassemble final : public Command {
 public:
  void declare(CLI::App& app) override { app.add_option("platform", platform_)->required(); }
  Result<int> run() override {
    const auto platform = symbolize::platform_of(platform_);
    const auto confine = [] { return confine_to_answers(kDataFd); };
    return become_stranger(symbolize::stranger_limits({})) &&
                   symbolize::disassemble_xe(platform, confine, kDataFd, STDOUT_FILENO)
               ? 0
               : 1;
  }

 private:
  std::string platform_;
};

}  // namespace

std::unique_ptr<Command> make_disassemble() {
  return std::make_unique<Disassemble>();
}

}  // namespace gpuprof::cmd
