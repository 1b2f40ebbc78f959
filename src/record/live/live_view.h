// Defines the state of a running recording that a display shows, and the interface of a display.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profile/tables.h"

namespace gpuprof::record {

// All texts come from the target and may contain any bytes.
struct LiveState {
  struct Kernel {
    std::string name;
    uint64_t ns = 0;         // GPU time since the start
    uint64_t recent_ns = 0;  // GPU time since the previous state
    uint64_t count = 0;      // number of GPU records, or of launches if GPU times are unknown
  };
  struct Path {
    std::string place;  // the CPU function that made the launch, see LiveView::place()
    std::string kernel;
    uint64_t ns = 0;
    uint64_t count = 0;
  };
  struct Device {
    std::string name;
    // Busy fraction (0 to 1) between the last two states. The value is some seconds late, because records of work
    // arrive late. It is nullopt until the first records have arrived.
    std::optional<double> busy;
  };
  // Kernels with the most GPU time, in descending order.
  std::vector<Kernel> kernels;
  // Paths with the most GPU time, in descending order.
  std::vector<Path> paths;
  std::vector<Device> devices;
  uint64_t gpu_ns = 0;
  uint64_t recent_gpu_ns = 0;
  uint64_t count = 0;  // sum over all kernels

  uint64_t elapsed_ns = 0;
  uint64_t launches = 0;  // all launches that are known, also those between windows
  // Launches between windows of --max-overhead. If there are any, times and counts are estimates.
  uint64_t between_windows = 0;
  double scale = 1;  // by which times and counts must be multiplied to get the estimates
  uint64_t lost = 0;
  bool recording = true;  // true while a recording window is open
};

class LiveView {
 public:
  LiveView() = default;
  LiveView(const LiveView&) = delete;
  LiveView& operator=(const LiveView&) = delete;
  virtual ~LiveView() = default;

  [[nodiscard]] virtual uint64_t interval_ns() const = 0;
  virtual void show(const LiveState& state) = 0;
  // Hides the display until the next show(), for example while another program uses the terminal.
  virtual void hide() = 0;

  // Returns the innermost function of the work's stack that belongs to the program's own code, or another function if
  // no frame does. Thread-safe.
  [[nodiscard]] virtual std::string place(const profile::Tables& tables, const profile::Work& work) const = 0;
};

}  // namespace gpuprof::record
