#include "cmd/record/top_text.h"

#include <algorithm>
#include <cmath>

#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "output/text.h"
#include "profile/coverage.h"

namespace gpuprof::cmd {
namespace {

using record::LiveState;

constexpr double kTopSecondNs = 1e9;
constexpr const char* kBold = "\x1b[1m";
constexpr const char* kDim = "\x1b[2m";
constexpr const char* kPlain = "\x1b[m";
constexpr size_t kWide = 70;  // a line of this width has space for all columns

// Returns the share of all GPU time. If times are unknown, returns the share of all launches.
std::string share(const LiveState& state, uint64_t ns, uint64_t count) {
  return state.gpu_ns > 0 ? percent_text(ns, state.gpu_ns) : percent_text(count, state.count);
}

std::string rate(const LiveState& state, const LiveState& before) {
  const uint64_t ns = state.elapsed_ns - std::min(state.elapsed_ns, before.elapsed_ns);
  const uint64_t launches = state.launches - std::min(state.launches, before.launches);
  const double each_second = ns == 0 ? 0 : static_cast<double>(launches) * kTopSecondNs / static_cast<double>(ns);
  return counted_text(static_cast<uint64_t>(std::llround(each_second)), "launch") + "/s";
}

// Returns "4.20 s" or, with --max-overhead, "4.20 s (estimated from 6.72% of the launches)".
std::string gpu_time(const LiveState& state) {
  const std::string text = "GPU time " + duration_text(profile::scaled(state.gpu_ns, state.scale));
  const uint64_t recorded = state.launches - std::min(state.launches, state.between_windows);
  return state.between_windows == 0
             ? text
             : text + " (estimated from " + percent_text_down(recorded, state.launches) + " of the launches)";
}

std::string busy(const LiveState::Device& device) {
  return device.busy ? percent_text(static_cast<uint64_t>(*device.busy * 1000), 1000) : "-";
}

std::string fitting(const std::string& text, size_t width) {
  return cut_middle(text, width);
}

std::string head(const LiveState& state, const LiveState& before, size_t width) {
  const uint64_t seconds = state.elapsed_ns / 1'000'000'000;
  std::string text = "gpuprof " + std::to_string(seconds) + " s  " + rate(state, before);
  text += state.lost == 0 ? "  nothing lost" : "  " + count_text(state.lost) + " lost";
  if (!state.recording) {
    text += "  recording is off";
  }
  if (width >= kWide) {
    text += "  " + gpu_time(state);
  } else if (state.between_windows > 0) {
    text += "  estimates";
  }
  return text;
}

std::string devices(const LiveState& state) {
  std::string text;
  for (const LiveState::Device& device : state.devices) {
    text.append(text.empty() ? "" : "   ").append("busy ").append(busy(device)).append(" ");
    text.append(output::shown_name(output::shown_ends(device.name)));
  }
  return text;
}

void put(std::string text, const char* style, const TopShape& shape, std::vector<std::string>& lines) {
  if (lines.size() < shape.height) {
    text = fitting(text, shape.width);
    lines.push_back(shape.color && *style != '\0' ? style + text + kPlain : text);
  }
}

void column(const std::string& text, size_t width, std::string& out) {
  output::append_right(text, width, out);
  out += "  ";
}

void put_kernels(const LiveState& state, size_t most, const TopShape& shape, std::vector<std::string>& lines) {
  const bool wide = shape.width >= kWide;
  put(wide ? "  share     now      time     calls  kernel" : "  share  kernel", kDim, shape, lines);
  for (size_t i = 0; i < std::min(most, state.kernels.size()); ++i) {
    const LiveState::Kernel& kernel = state.kernels[i];
    std::string text;
    column(share(state, kernel.ns, kernel.count), 7, text);
    if (wide) {
      column(state.recent_gpu_ns == 0 ? "-" : percent_text(kernel.recent_ns, state.recent_gpu_ns), 6, text);
      column(state.gpu_ns == 0 ? "-" : duration_text(profile::scaled(kernel.ns, state.scale)), 8, text);
      column(count_text(profile::scaled(kernel.count, state.scale)), 8, text);
    }
    const size_t room = shape.width - std::min(shape.width, text.size());
    put(text + output::shown_kernel(kernel.name, room), "", shape, lines);
  }
}

void put_paths(const LiveState& state, size_t most, const TopShape& shape, std::vector<std::string>& lines) {
  put("  share  call path", kDim, shape, lines);
  for (size_t i = 0; i < std::min(most, state.paths.size()); ++i) {
    const LiveState::Path& path = state.paths[i];
    std::string text;
    column(share(state, path.ns, path.count), 7, text);
    const size_t room = shape.width - std::min(shape.width, text.size() + 4);
    const std::string place =
        cut_middle(output::shown_name(output::shown_ends(path.place)), std::max<size_t>(room / 2, 1));
    text += place + " -> ";
    put(text + output::shown_kernel(path.kernel, room - std::min(room, utf8_length(place))), "", shape, lines);
  }
}

}  // namespace

std::vector<std::string> top_lines(const LiveState& state, const LiveState& before, const TopShape& shape) {
  std::vector<std::string> lines;
  put(head(state, before, shape.width), kBold, shape, lines);
  if (state.kernels.empty()) {
    put("  no GPU work received yet", kDim, shape, lines);
    return lines;
  }
  if (!state.devices.empty()) {
    put("  " + devices(state), "", shape, lines);
  }
  const size_t left = shape.height - std::min(shape.height, lines.size() + 2);  // 2 is for the titles of both tables
  const size_t paths = std::min(state.paths.size(), left / 2);
  put_kernels(state, left - paths, shape, lines);
  put_paths(state, paths, shape, lines);
  return lines;
}

std::string top_line(const LiveState& state, const LiveState& before) {
  std::string text = std::to_string(state.elapsed_ns / 1'000'000'000) + " s: " + rate(state, before);
  if (state.kernels.empty()) {
    text += ", no GPU work received yet";
  } else {
    const LiveState::Kernel& kernel = state.kernels.front();
    const LiveState::Path& path = state.paths.front();
    text += ", " + gpu_time(state);
    for (const LiveState::Device& device : state.devices) {
      text += ", busy " + busy(device);
    }
    text += ", " + share(state, kernel.ns, kernel.count) + " " + output::shown_kernel(kernel.name, 60);
    text += ", " + share(state, path.ns, path.count) + " " +
            cut_middle(output::shown_name(output::shown_ends(path.place)), 60) + " -> " +
            output::shown_kernel(path.kernel, 60);
  }
  text += state.lost == 0 ? ", nothing lost" : ", " + count_text(state.lost) + " lost";
  return state.recording ? text : text + ", recording is off";
}

}  // namespace gpuprof::cmd
