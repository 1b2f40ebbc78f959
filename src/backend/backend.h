// Backend is the interface to one way of seeing GPU work. Each has a folder here and a line in registry.cpp.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/event_sink.h"
#include "backend/sampling_options.h"
#include "backend/source_ids.h"
#include "base/result.h"

struct bpf_object;

namespace gpuprof::backend {

// A gpuprof environment variable that a backend, or its injection library in targets, reads.
struct Variable {
  const char* name;
  // Returns what is wrong with the user's value, or nullopt. A null `check`: only gpuprof sets the variable, in
  // targets.
  std::optional<Error> (*check)(const std::string& value) = nullptr;
};

struct Descriptor {
  const char* name;     // name in --backend and in the profile
  const char* summary;  // one line for doctor and --help
  std::span<const Variable> variables = {};
  // Prefixes of the vendor's own environment variables. With --user, the target inherits these too.
  std::span<const std::string_view> vendor_variables = {};
  std::string_view vendor_library = {};  // prefix of the file name; empty: the backend has no library()
  const char* load_variable = "";        // the target's environment variable by which prepare() loads library()
};

struct Availability {
  bool available = false;
  std::string detail;       // what was found, or what is missing
  std::string hint;         // how to make the interface available; empty if available
  bool unrecorded = false;  // true: programs can perhaps use the interface here, but gpuprof cannot record their work
};

// The environment of the child to be started. A backend adds the variables that load its injection library.
struct LaunchEnv {
  std::vector<std::pair<std::string, std::string>> variables;  // the target's complete environment, including changes
  std::string library_dir;                                     // folder with the unpacked injection libraries
  bool samples = false;                                        // whether samples inside kernels are wanted

  [[nodiscard]] const std::string* get(std::string_view name) const;
  void set(std::string_view name, std::string value);
};

// A function that puts work on a GPU. A uprobe on it counts launches in a process without the injection library.
struct LaunchFunction {
  std::string_view library;  // prefix of the library's file name: "libOpenCL.so"
  std::string_view symbol;
  bool in_program = false;  // also search the program itself, which may link the library statically
  // True: this function calls another one of launch_functions(). It is probed only if probing all others fails, because
  // a launch must not count twice.
  bool outer = false;
};

// What start() gives to a local backend, which runs in the recorder's own process. All members outlive the backend.
struct Recording {
  EventSink& sink;
  SourceIds& ids;
  pid_t root = 0;  // only the work of this process and its descendants goes to the sink
  const SamplingOptions& sampling;
};

struct DeviceClock {
  std::string uuid;  // as in EventSink::on_device()
  uint64_t samples = 0;
  double mean_mhz = 0;
  double min_mhz = 0;
  double max_mhz = 0;
};

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  [[nodiscard]] virtual const Descriptor& descriptor() const = 0;
  [[nodiscard]] virtual Availability probe() const = 0;

  // The injection library of this backend, embedded in gpuprof. The file name is empty if the backend has none.
  struct Library {
    std::string_view file_name;  // "libgpuprof_opencl.so"
    std::span<const unsigned char> bytes;
  };
  [[nodiscard]] virtual Library library() const { return {}; }

  // File name prefixes of libraries that only profilers use. Their frames at the innermost end of a stack are removed.
  [[nodiscard]] virtual std::span<const std::string_view> profiler_libraries() const { return {}; }

  // True if only --backend NAME selects the backend: other backends see the same work, which would count twice.
  [[nodiscard]] virtual bool only_by_name() const { return false; }

  // Names the backend whose injection library sends the GPU code that this backend's samples need. Empty: none needed.
  [[nodiscard]] virtual std::string_view code_from() const { return {}; }

  // Restricts the injection library to sending GPU code, which samples of another backend need.
  void set_code_only() { code_only_ = true; }
  [[nodiscard]] bool is_code_only() const { return code_only_; }

  virtual Status prepare(LaunchEnv& env) = 0;

  // For record -p: whether library() can be loaded into running processes that have loaded the vendor's library.
  [[nodiscard]] virtual bool attaches() const { return false; }

  // For record -p: a function that the vendor's library must have. Empty: none.
  [[nodiscard]] virtual std::string_view attach_needs() const { return {}; }

  // The functions that record -p probes. A launch must call only one of those without `outer`, so that it counts once.
  [[nodiscard]] virtual std::span<const LaunchFunction> launch_functions() const { return {}; }

  // Starts to sample the clocks of devices, until take_clocks(). Neither call waits for a device.
  virtual void watch_clocks() {}
  virtual std::vector<DeviceClock> take_clocks() { return {}; }

  // True for a backend that reads a device or the kernel in the recorder's own process, and overrides the functions
  // below. (Events of injection libraries come through the session's channel instead.) The recorder calls them on its
  // drain thread. The sink trusts the events of such a source, but ignores events with unknown ids.
  [[nodiscard]] virtual bool is_local() const { return false; }
  // Called before the target runs. After an error there are no other calls, and no recording.
  virtual Status start(const Recording& /*recording*/) { return {}; }
  // Switches recording on or off. It is off at first. While it is off, the source reports only work launched before.
  virtual void set_recording(bool /*on*/) {}
  // Sends new events to the sink and returns their number. Never blocks. After 0 events, the recorder may sleep.
  virtual size_t drain() { return 0; }
  // Returns the source's BPF programs if they walk stacks with unwind tables (bpf/stack_walk.h), else null. The
  // recorder fills their maps for the processes that the source reports. Valid from start() to stop().
  [[nodiscard]] virtual bpf_object* walking_programs() const { return nullptr; }
  // The last call. Sends all remaining events, or does nothing if the source has already ended.
  virtual void stop() {}

 private:
  bool code_only_ = false;
};

using Backends = std::vector<std::unique_ptr<Backend>>;

// Returns all backends of this build, in the order in which they are probed and shown.
Backends make_all();

// Returns the backends in `names`. If `names` is empty, returns all except those with only_by_name(). With `samples`,
// adds each backend named by code_from(), restricted to sending GPU code. The error lists the valid names.
Result<Backends> choose(Backends all, const std::vector<std::string>& names, bool samples = false);

}  // namespace gpuprof::backend
