#include "cmd/window.h"

#include <CLI/CLI.hpp>
#include <limits>

#include "base/log.h"
#include "cmd/command.h"
#include "cmd/options.h"

namespace gpuprof::cmd {
namespace {

constexpr uint64_t kMostNs = 9'000'000'000'000'000'000;  // what a time as text can be
constexpr uint64_t kOpen = std::numeric_limits<uint64_t>::max();

std::string text_of(const analyze::TimeWindow& window) {
  const std::string from = "from " + analyze::exact_seconds(window.from_ns);
  return window.to_ns == kOpen ? from + " on" : from + " to " + analyze::exact_seconds(window.to_ns);
}

}  // namespace

void Window::declare(CLI::App& app) {
  add_duration_option(
      app, "--from", window_.from_ns,
      "only work that ended in the time slices from here on; times count from the start of the recording", 0, kMostNs)
      ->each([this](const std::string& /*unused*/) { given_ = true; });
  add_duration_option(app, "--to", window_.to_ns, "and up to here", 0, kMostNs)
      ->each([this](const std::string& /*unused*/) { given_ = true; });
}

Status Window::check() const {
  if (given_ && window_.from_ns >= window_.to_ns) {
    return Error{"--to " + analyze::exact_seconds(window_.to_ns) + " is not after --from " +
                     analyze::exact_seconds(window_.from_ns),
                 "times count from the start of the recording", kExitUsage};
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
  const analyze::TimeWindow looked_at = analyze::window_of(*rows.window, rows.interval_ns);
  const bool as_asked = looked_at.from_ns == window_.from_ns && looked_at.to_ns == window_.to_ns;
  log::info("only work that ended " + text_of(looked_at) +
            (as_asked ? "" : ": the profile's time slices are of " + analyze::exact_seconds(rows.interval_ns)));
}

std::string Window::text() const {
  return text_of(window_);
}

}  // namespace gpuprof::cmd
