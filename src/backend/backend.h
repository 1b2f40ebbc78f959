// Backend is the interface to one way of observing GPU work. Each backend has a folder here and a line in
// registry.cpp.
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

// An environment variable of gpuprof that a backend reads, or its injection library in the target.
struct Variable {
  const char* name;
  // Returns what is wrong with the user's value, or nullopt. Null if users do not set the variable: only gpuprof sets
  // it, in targets.
  std::optional<Error> (*check)(const std::string& value) = nullptr;
};

struct Descriptor {
  const char* name;     // the name that --backend accepts and the profile stores
  const char* summary;  // one line, for doctor and --help
  std::span<const Variable> variables = {};
  // Prefixes of environment variables that the vendor's own libraries read. With --user, the target inherits these
  // too.
  std::span<const std::string_view> vendor_variables = {};
  // Prefix of the file name of the vendor's library. Empty if the backend has no injection library, library().
  std::string_view vendor_library = {};
  // The environment variable by which prepare() makes the target load library().
  const char* load_variable = "";
};

struct Availability {
  bool available = false;
  std::string detail;  // what was found or is missing
  std::string hint;    // how to make the interface available, or what to do about work that it cannot see
  // True if programs may be able to use the interface here, but gpuprof cannot record their work.
  bool unrecorded = false;
};

// The environment of a child that is to be started. Each backend adds the variables that load its injection library.
struct LaunchEnv {
  std::vector<std::pair<std::string, std::string>> variables;  // the complete environment of the target
  std::string library_dir;                                     // folder of the unpacked injection libraries
  bool samples = false;                                        // samples inside kernels were requested

  [[nodiscard]] const std::string* get(std::string_view name) const;
  void set(std::string_view name, std::string value);
};

// A function that puts work on a GPU. In a process without the injection library, a uprobe on it counts launches.
struct LaunchFunction {
  std::string_view library;  // prefix of the library's file name, such as "libOpenCL.so"
  std::string_view symbol;
  bool in_program = false;  // also search the program, which may contain the library statically linked
  // True if this function calls another one of launch_functions(). It is probed only if no other function can be
  // probed, because a launch must not count twice.
  bool outer = false;
};

// What start() passes to a local backend, which runs in the recorder's own process. All members outlive the backend.
struct Recording {
  EventSink& sink;
  SourceIds& ids;
  pid_t root = 0;  // the sink gets only the work of this process and its descendants
  const SamplingOptions& sampling;
};

struct DeviceClock {
  std::string uuid;  // the same uuid as that of EventSink::on_device()
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

  // The injection library of this backend, which gpuprof contains. The file name is empty if the backend has none.
  struct Library {
    std::string_view file_name;  // such as "libgpuprof_opencl.so"
    std::span<const unsigned char> bytes;
  };
  [[nodiscard]] virtual Library library() const { return {}; }

  // Returns file name prefixes of libraries that only profilers use. The recorder removes the frames of these libraries
  // from the innermost end of a stack.
  [[nodiscard]] virtual std::span<const std::string_view> profiler_libraries() const { return {}; }

  // For doctor. Returns the version of the vendor's library on this machine; 0: unknown, or doctor does not need it.
  [[nodiscard]] virtual uint32_t library_version() const { return 0; }
  // Returns the known faults of a version, each with the release that mends it.
  [[nodiscard]] virtual std::vector<std::string> faults_of(uint32_t /*version*/) const { return {}; }

  // True if the backend is used only with --backend NAME. Other backends see the same work, and it must not count
  // twice.
  [[nodiscard]] virtual bool only_by_name() const { return false; }

  // Returns the name of the backend whose injection library sends the GPU code for this backend's samples. Empty if
  // the samples need no code.
  [[nodiscard]] virtual std::string_view code_from() const { return {}; }

  // Makes the injection library send only GPU code, because samples of another backend need it.
  void set_code_only() { code_only_ = true; }
  [[nodiscard]] bool is_code_only() const { return code_only_; }

  virtual Status prepare(LaunchEnv& env) = 0;

  // For record -p. Returns whether library() can be loaded into running processes that have the vendor's library.
  [[nodiscard]] virtual bool attaches() const { return false; }

  // For record -p. Returns the name of a function that the vendor's library must have to attach. Empty if it needs
  // none.
  [[nodiscard]] virtual std::string_view attach_needs() const { return {}; }

  // Returns the functions that record -p probes. A launch must call only one of those without `outer`, to count once.
  [[nodiscard]] virtual std::span<const LaunchFunction> launch_functions() const { return {}; }

  // Starts to sample the clocks of devices. take_clocks() ends it. Neither call waits for a device.
  virtual void watch_clocks() {}
  virtual std::vector<DeviceClock> take_clocks() { return {}; }

  // True for a local backend: it reads a device or the kernel in the recorder's own process, and overrides the
  // functions below. Events of other backends come from injection libraries, through the session's channel. The
  // recorder calls these functions on its drain thread. The sink trusts the events of a local backend, but ignores
  // events with unknown ids.
  [[nodiscard]] virtual bool is_local() const { return false; }
  // Called before the target runs. After an error, the recorder does not record, and calls no other function.
  virtual Status start(const Recording& /*recording*/) { return {}; }
  // Switches recording on or off. At first it is off. While it is off, the backend reports only work that was
  // launched while it was on.
  virtual void set_recording(bool /*on*/) {}
  // Sends new events to the sink and returns their number. Never blocks. If it returns 0, the recorder may sleep.
  virtual size_t drain() { return 0; }
  // Returns the BPF programs if they walk stacks with unwind tables (bpf/stack_walk.h), else null. The recorder
  // writes the unwind tables of the reported processes into their maps. Valid from start() to stop().
  [[nodiscard]] virtual bpf_object* walking_programs() const { return nullptr; }
  // The last call. Sends all remaining events. Does nothing if the backend has already ended.
  virtual void stop() {}

 private:
  bool code_only_ = false;
};

using Backends = std::vector<std::unique_ptr<Backend>>;

// Returns all backends of this build, in the order in which gpuprof probes and shows them.
Backends make_all();

// Returns the backends in `names`. If `names` is empty, returns all but those with only_by_name(). With `samples`,
// adds the backends that code_from() names, and makes them send only GPU code. The error lists the valid names.
Result<Backends> choose(Backends all, const std::vector<std::string>& names, bool samples = false);

}  // namespace gpuprof::backend
