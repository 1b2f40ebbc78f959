// What a recording looks like while it goes on, and who shows it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/tables.h"

namespace gpuprof::record {

// Texts come from the target: any bytes.
struct LiveState {
  struct Kernel {
    std::string name;
    uint64_t ns = 0;         // of GPU time since the start ...
    uint64_t recent_ns = 0;  // ... and since the state before
    uint64_t count = 0;      // launches, where GPU times are not known, or GPU records
  };
  struct Path {
    std::string place;   // the CPU function that launches it, as LiveView::place() has it
    std::string kernel;  //
    uint64_t ns = 0;
    uint64_t count = 0;
  };
  struct Device {
    std::string name;
    double busy = 0;  // share of the time between the last two states, 0 to 1; some seconds behind, as work ends late
  };
  std::vector<Kernel> kernels;  // the heaviest, heaviest first; so are ...
  std::vector<Path> paths;      // ... these
  std::vector<Device> devices;
  uint64_t gpu_ns = 0;
  uint64_t recent_gpu_ns = 0;
  uint64_t count = 0;  // of what kernels count

  // Of the session, at the moment.
  uint64_t elapsed_ns = 0;
  uint64_t launches = 0;
  uint64_t lost = 0;
  bool recording = true;  // a window is open
};

class LiveView {
 public:
  LiveView() = default;
  LiveView(const LiveView&) = delete;
  LiveView& operator=(const LiveView&) = delete;
  virtual ~LiveView() = default;

  [[nodiscard]] virtual uint64_t interval_ns() const = 0;  // from one state to the next
  virtual void show(const LiveState& state) = 0;
  virtual void hide() = 0;  // until the next show(): somebody else gets the terminal

  // The CPU function that is told of work: of its stack the innermost that a reader knows. From any thread.
  [[nodiscard]] virtual std::string place(const profile::Tables& tables, const profile::Work& work) const = 0;
};

}  // namespace gpuprof::record
