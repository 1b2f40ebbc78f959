// Where `check` writes what it found: text on standard output, and the forms for machines in files beside it.
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

  // Whether what was asked for fits together and can be written, and no profile lies where it goes; to be known before
  // anything is recorded. `folder`: where profiles will go, which may not be there yet.
  [[nodiscard]] Status usable(bool budget, const std::string& folder) const;

  // That no file is lost to an output: neither what was `read` nor another profile.
  [[nodiscard]] Status may_write(std::span<const FileId> read) const;

  [[nodiscard]] Status write(const compare::Comparison& runs, const compare::Judgement& judgement) const;
  [[nodiscard]] Status write(const compare::Budget& budget, const compare::BudgetResult& result) const;

 private:
  // How many outputs go to standard output.
  [[nodiscard]] size_t in_place_of_text() const;

  std::string json_;
  std::string markdown_;
  std::string junit_;
  bool annotations_ = false;
  size_t width_ = 0;
};

}  // namespace gpuprof::cmd
