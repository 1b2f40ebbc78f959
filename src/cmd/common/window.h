// The options --from and --to, which select a time window of a recording.
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
  [[nodiscard]] Status check() const;  // fails if --to is not after --from

  [[nodiscard]] std::optional<analyze::TimeWindow> chosen() const;

  // Reports on stderr which window was used. It has complete slices, so it may be larger than the requested window.
  void explain(const analyze::Aggregate& rows) const;

  // Returns the error for a window without work, such as "no GPU work ended from 2s to 3.5s".
  [[nodiscard]] Error nothing(const analyze::Aggregate& rows, const char* what) const;

  // Returns an error if the profile says that it has no time of the window.
  [[nodiscard]] std::optional<Error> not_recorded(const analyze::Aggregate& rows) const;

  [[nodiscard]] std::string text() const;  // the window as a text: "from 2s to 3.5s"

 private:
  analyze::TimeWindow window_;
  bool given_ = false;
};

}  // namespace gpuprof::cmd
