// gpuprof completion SHELL                        print completions for bash, zsh or fish

#include "cmd/manual/completion.h"

#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/files/file.h"
#include "base/return_if_error.h"
#include "cmd/command.h"

namespace gpuprof::cmd {
namespace {

class Completion final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("SHELL", shell_, "the shell to print completions for")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
    app.footer(
        "An installed gpuprof has them already. For a copied one: gpuprof completion bash > "
        "~/.local/share/bash-completion/completions/gpuprof; gpuprof completion fish > "
        "~/.config/fish/completions/gpuprof.fish; for zsh into a folder of $fpath, as _gpuprof.");
  }

  Result<int> run() override {
    const Commands commands = describe_commands();
    const std::string text = shell_ == "bash"  ? bash_completion(commands)
                             : shell_ == "zsh" ? zsh_completion(commands)
                                               : fish_completion(commands);
    RETURN_IF_ERROR(write_all(STDOUT_FILENO, text, "standard output"));
    return 0;
  }

 private:
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> make_completion() {
  return std::make_unique<Completion>();
}

}  // namespace gpuprof::cmd
