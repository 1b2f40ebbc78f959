// State of a running recording for display, and the interface of a display.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profile/tables.h"

namespace gpuprof::record {

// Texts come from the target and may contain any bytes.
struct LiveState {
  struct Kernel {
    std::string name;
    uint64_t ns = 0;         // GPU time since the start
    uint64_t recent_ns = 0;  // GPU time since the previous state
    uint64_t count = 0;      // GPU records, or launches if GPU times are unknown
  };
  struct Path {
    std::string place;  // the launching CPU function, see LiveView::place()
    std::string kernel;
    uint64_t ns = 0;
    uint64_t count = 0;
  };
  struct Device {
    std::string name;
    // 0 to 1, between the last two states. Some seconds late, because records of work arrive late; until then nullopt.
    std::optional<double> busy;
  };
  std::vector<Kernel> kernels;  // the ones with the most GPU time, in descending order
  std::vector<Path> paths;      // the ones with the most GPU time, in descending order
  std::vector<Device> devices;
  uint64_t gpu_ns = 0;
  uint64_t recent_gpu_ns = 0;
  uint64_t count = 0;  // sum over all kernels

  uint64_t elapsed_ns = 0;
  uint64_t launches = 0;
  uint64_t lost = 0;
  bool recording = true;  // a recording window is open
};

class LiveView {
 public:
  LiveView() = default;
  LiveView(const LiveView&) = delete;
  LiveView& operator=(const LiveView&) = delete;
  virtual ~LiveView() = default;

  [[nodiscard]] virtual uint64_t interval_ns() const = 0;  // time between two states
  virtual void show(const LiveState& state) = 0;
  virtual void hide() = 0;  // hides the display until the next show(), because another program uses the terminal

  // Returns the innermost function of the program's own code in the work's stack, else another function. Thread-safe.
  [[nodiscard]] virtual std::string place(const profile::Tables& tables, const profile::Work& work) const = 0;
};

}  // namespace gpuprof::record
