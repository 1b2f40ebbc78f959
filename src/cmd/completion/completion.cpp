// gpuprof completion SHELL                        prints completions for bash, zsh or fish
// gpuprof __complete -- WORD...                   computes the candidates of one completion

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <utility>

#include "base/files/file.h"
#include "base/return_if_error.h"
#include "cmd/command.h"
#include "cmd/common/options.h"
#include "cmd/completion/candidates.h"

extern const char gpuprof_completion_bash_begin[];
extern const char gpuprof_completion_bash_end[];
extern const char gpuprof_completion_zsh_begin[];
extern const char gpuprof_completion_zsh_end[];
extern const char gpuprof_completion_fish_begin[];
extern const char gpuprof_completion_fish_end[];

namespace gpuprof::cmd {
namespace {

class Completion final : public Command {
 public:
  void declare(CLI::App& app) override {
    expect_one_of(app.add_option("SHELL", shell_, "shell to print completions for"), {"bash", "zsh", "fish"})
        ->required();
    app.footer(
        "An installed gpuprof has its completions in place. For a copied binary, store the output:\n"
        "bash: in ~/.local/share/bash-completion/completions/gpuprof\n"
        "fish: in ~/.config/fish/completions/gpuprof.fish\n"
        "zsh: as _gpuprof in a folder of $fpath");
  }

  Result<int> run() override {
    const std::string_view text = shell_ == "bash" ? script(gpuprof_completion_bash_begin, gpuprof_completion_bash_end)
                                  : shell_ == "zsh"
                                      ? script(gpuprof_completion_zsh_begin, gpuprof_completion_zsh_end)
                                      : script(gpuprof_completion_fish_begin, gpuprof_completion_fish_end);
    RETURN_IF_ERROR(write_all(STDOUT_FILENO, text, "standard output"));
    return 0;
  }

 private:
  static std::string_view script(const char* begin, const char* end) {
    return {begin, static_cast<size_t>(end - begin)};
  }

  std::string shell_;
};

class Complete final : public Command {
 public:
  void declare(CLI::App& app) override {
    app_ = &app;
    app.prefix_command();
  }

  Result<int> run() override {
    std::vector<std::string> words = app_->remaining();
    if (!words.empty() && words.front() == "--") {
      words.erase(words.begin());
    }
    RETURN_IF_ERROR(write_all(STDOUT_FILENO, candidates(words), "standard output"));
    return 0;
  }

 private:
  const CLI::App* app_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> make_completion() {
  return std::make_unique<Completion>();
}

std::unique_ptr<Command> make_complete() {
  return std::make_unique<Complete>();
}

}  // namespace gpuprof::cmd
