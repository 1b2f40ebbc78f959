// gpuprof manual [COMMAND]                        prints a manual page, for man -l -

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>

#include "base/files/file.h"
#include "base/return_if_error.h"
#include "cmd/command.h"
#include "cmd/common/options.h"
#include "cmd/manual/markdown.h"
#include "cmd/manual/page.h"

namespace gpuprof::cmd {
namespace {

std::vector<std::string> names() {
  std::vector<std::string> all;
  const auto table = command_table();
  std::transform(table.begin(), table.end(), std::back_inserter(all), [](const Entry& entry) { return entry.name; });
  return all;
}

class Manual final : public Command {
 public:
  void declare(CLI::App& app) override {
    expect_one_of(app.add_option("COMMAND", command_, "command to describe (default: gpuprof itself)"), names());
    app.add_flag("--markdown", markdown_, "print the option tables of docs/cli.md instead");
    app.footer("To read it: gpuprof manual record | man -l -");
  }

  Result<int> run() override {
    const std::string page = markdown_          ? option_tables()
                             : command_.empty() ? main_page(describe_commands(), manual_text())
                                                : command_page(describe(*find_command(command_)), manual_text());
    RETURN_IF_ERROR(write_all(STDOUT_FILENO, page, "standard output"));
    return 0;
  }

 private:
  std::string command_;
  bool markdown_ = false;
};

}  // namespace

std::unique_ptr<Command> make_manual() {
  return std::make_unique<Manual>();
}

}  // namespace gpuprof::cmd
