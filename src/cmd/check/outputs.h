// Writes the result of `check`: text on standard output, and other formats to files.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "cmd/common/output.h"
#include "compare/judge/budget.h"
#include "compare/judge/judge.h"

namespace CLI {
class App;
}

namespace gpuprof::cmd {

class CheckOutputs {
 public:
  void declare(CLI::App& app);

  // Checks before the recording that the options are consistent, that each output can be written, and that no output
  // would overwrite a profile. `folder` is the folder for the new profiles, which may not exist yet.
  [[nodiscard]] Status usable(bool budget, const std::string& folder) const;

  // Fails if an output would overwrite a profile or an input file of this command. `read` holds the input files.
  [[nodiscard]] Status may_write(std::span<const FileId> read) const;

  [[nodiscard]] Status write(const compare::Comparison& runs, const compare::Judgement& judgement) const;
  [[nodiscard]] Status write(const compare::Budget& budget, const compare::BudgetResult& result) const;
  // Writes an error that prevented a verdict. Only JUnit has a form for it.
  [[nodiscard]] Status write_error(const Error& error) const;

 private:
  [[nodiscard]] size_t in_place_of_text() const;

  std::string json_;
  std::string markdown_;
  std::string junit_;
  bool annotations_ = false;
  size_t width_ = 0;
};

}  // namespace gpuprof::cmd
