#include "cmd/common/window.h"

#include <CLI/CLI.hpp>

#include "analyze/subsets/subset_meta.h"
#include "base/log.h"
#include "cmd/command.h"
#include "cmd/common/options.h"

namespace gpuprof::cmd {
namespace {

constexpr uint64_t kMostNs = 9'000'000'000'000'000'000;

}  // namespace

void Window::declare(CLI::App& app) {
  const auto note = [this](const std::string& /*unused*/) { given_ = true; };
  add_duration_option(app, "--from", window_.from_ns,
                      "use only work that ended after this time since `record` started (default: 0)", 0, kMostNs)
      ->each(note);
  add_duration_option(app, "--to", window_.to_ns,
                      "use only work that ended before this time since `record` started (default: end)", 0, kMostNs)
      ->each(note);
}

Status Window::check() const {
  if (given_ && window_.from_ns >= window_.to_ns) {
    return Error{"--to " + analyze::exact_seconds(window_.to_ns) + " is not after --from " +
                     analyze::exact_seconds(window_.from_ns),
                 "times count from the start of `gpuprof record`", kExitUsage};
  }
  return {};
}

std::optional<analyze::TimeWindow> Window::chosen() const {
  return given_ ? std::optional(window_) : std::nullopt;
}

void Window::explain(const analyze::Aggregate& rows) const {
  if (!rows.window) {
    return;
  }
  const analyze::TimeWindow selected_window = *rows.selected_window();
  const bool as_asked = selected_window.from_ns == window_.from_ns && selected_window.to_ns == window_.to_ns;
  const std::string shift = analyze::slice_shift_text(rows.info.meta);
  log::info("only work that ended " + analyze::window_text(selected_window) +
            (as_asked && shift.empty() ? ""
                                       : ": the profile has time slices of " + analyze::slice_lengths(rows.grid) +
                                             (shift.empty() ? "" : ", " + shift)));
}

std::optional<Error> Window::not_recorded(const analyze::Aggregate& rows) const {
  const auto start_ns = rows.info.start_ns();
  // A profile that is cut short may lack WINDOW lines.
  return rows.window && rows.info.complete && start_ns
             ? analyze::not_recorded(rows.windows, *rows.selected_window(), *start_ns)
             : std::nullopt;
}

Error Window::nothing(const analyze::Aggregate& rows, const char* what) const {
  if (auto error = not_recorded(rows)) {
    return *error;
  }
  return {std::string("no ") + what + " ended " + text(),
          "`gpuprof flame --time-series FILE` shows when there was work", kExitNothing};
}

std::string Window::text() const {
  return analyze::window_text(window_);
}

}  // namespace gpuprof::cmd
