// --from and --to: the stretch of a recording that a command looks at.
#pragma once

#include <optional>
#include <string>

#include "analyze/rows/aggregate.h"
#include "analyze/rows/time_window.h"
#include "base/result.h"

namespace CLI {
class App;
}

namespace gpuprof::cmd {

class Window {
 public:
  void declare(CLI::App& app);
  [[nodiscard]] Status check() const;  // of the options alone

  // Nothing where neither option was given.
  [[nodiscard]] std::optional<analyze::TimeWindow> chosen() const;

  // Says on stderr what was looked at: whole slices, which may be more than was asked for.
  void explain(const analyze::Aggregate& rows) const;

  // That the window holds nothing: "no GPU work ended from 2s to 3.5s".
  [[nodiscard]] Error nothing(const char* what) const;

  [[nodiscard]] std::string text() const;  // "from 2s to 3.5s"

 private:
  analyze::TimeWindow window_;
  bool given_ = false;
};

}  // namespace gpuprof::cmd
