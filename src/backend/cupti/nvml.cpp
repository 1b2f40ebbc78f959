#include "backend/cupti/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace gpuprof::backend {
namespace {

constexpr auto kPace = std::chrono::milliseconds(250);
// The recorder waits at most this long for an NVML call that hangs at the end of the recording.
constexpr auto kPatience = std::chrono::milliseconds(300);
constexpr unsigned kMostDevices = 64;

// The part of nvml.h that gpuprof uses. All functions return 0 for success.
constexpr int kSmClock = 1;  // NVML_CLOCK_SM
struct Utilization {         // nvmlUtilization_t, in percent
  unsigned gpu = 0;
  unsigned memory = 0;
};

class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    find("nvmlInit_v2", init_);
    find("nvmlShutdown", shutdown_);
    find("nvmlDeviceGetCount_v2", count_);
    find("nvmlDeviceGetHandleByIndex_v2", handle_);
    find("nvmlDeviceGetUUID", uuid_);
    find("nvmlDeviceGetClockInfo", clock_);
    find("nvmlDeviceGetUtilizationRates", utilization_);
    const bool whole = init_ != nullptr && shutdown_ != nullptr && count_ != nullptr && handle_ != nullptr &&
                       uuid_ != nullptr && clock_ != nullptr;
    usable_ = whole && init_() == 0;
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml() {
    if (usable_) {
      shutdown_();
    }
    // The library stays loaded, because NVML's own threads may still run in it.
  }

  struct Device {
    void* handle = nullptr;
    std::string uuid;
  };

  [[nodiscard]] std::vector<Device> devices() const {
    std::vector<Device> found;
    unsigned count = 0;
    if (!usable_ || count_(&count) != 0) {
      return found;
    }
    for (unsigned i = 0; i < std::min(count, kMostDevices); ++i) {
      void* handle = nullptr;
      std::array<char, 96> uuid{};
      if (handle_(i, &handle) == 0 && uuid_(handle, uuid.data(), uuid.size() - 1) == 0) {
        found.push_back({handle, uuid.data()});
      }
    }
    return found;
  }

  // Returns nullopt if the clock is unknown or the device is idle, because the clock of an idle device says nothing
  // about its work.
  [[nodiscard]] std::optional<unsigned> busy_clock_mhz(void* device) const {
    // A device that does not report its utilization (MIG) counts as busy.
    Utilization used{1, 0};
    unsigned mhz = 0;
    if (utilization_ != nullptr && utilization_(device, &used) == 0 && used.gpu == 0) {
      return std::nullopt;
    }
    return clock_(device, kSmClock, &mhz) == 0 && mhz > 0 ? std::optional(mhz) : std::nullopt;
  }

 private:
  template <typename Function>
  void find(const char* name, Function*& function) {
    if (library_ != nullptr) {
      function = reinterpret_cast<Function*>(dlsym(library_, name));  // NOLINT: dlsym() returns void*
    }
  }

  void* library_;
  bool usable_ = false;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*handle_)(unsigned, void**) = nullptr;
  int (*uuid_)(void*, char*, unsigned) = nullptr;
  int (*clock_)(void*, int, unsigned*) = nullptr;
  int (*utilization_)(void*, Utilization*) = nullptr;
};

}  // namespace

struct ClockWatch::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool stop = false;
  bool ended = false;
  std::map<std::string, DeviceClock> clocks;

  void add(const std::string& uuid, unsigned mhz) {
    const std::lock_guard lock(mutex);
    DeviceClock& clock = clocks[uuid];
    clock.uuid = uuid;
    clock.min_mhz = clock.samples == 0 ? mhz : std::min<double>(clock.min_mhz, mhz);
    clock.max_mhz = std::max<double>(clock.max_mhz, mhz);
    clock.mean_mhz += (mhz - clock.mean_mhz) / static_cast<double>(++clock.samples);
  }

  bool pause() {
    std::unique_lock lock(mutex);
    return !changed.wait_for(lock, kPace, [this] { return stop; });
  }

  void watch() {
    {
      const Nvml nvml;
      const auto devices = nvml.devices();
      do {
        for (const Nvml::Device& device : devices) {
          if (const auto mhz = nvml.busy_clock_mhz(device.handle)) {
            add(device.uuid, *mhz);
          }
        }
      } while (!devices.empty() && pause());
    }
    const std::lock_guard lock(mutex);
    ended = true;
    changed.notify_all();
  }
};

ClockWatch::ClockWatch() : state_(std::make_shared<State>()), thread_([state = state_] { state->watch(); }) {}

ClockWatch::~ClockWatch() {
  static_cast<void>(finish());
}

std::vector<DeviceClock> ClockWatch::finish() {
  std::vector<DeviceClock> clocks;
  if (!thread_.joinable()) {
    return clocks;
  }
  bool ended = false;
  {
    std::unique_lock lock(state_->mutex);
    state_->stop = true;
    state_->changed.notify_all();
    ended = state_->changed.wait_for(lock, kPatience, [this] { return state_->ended; });
    for (const auto& [uuid, clock] : state_->clocks) {
      clocks.push_back(clock);
    }
  }
  ended ? thread_.join() : thread_.detach();
  return clocks;
}

}  // namespace gpuprof::backend
