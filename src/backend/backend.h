// What a source of GPU events is to the recorder. A backend is one folder here, at most one in injection/, and one
// line in registry.cpp.
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

// An environment variable of gpuprof's own that a backend, or its library in targets, reads.
struct Variable {
  const char* name;
  // What is wrong with a value; nullopt: nothing. Null for a variable that gpuprof sets in targets, and users do not.
  std::optional<Error> (*check)(const std::string& value) = nullptr;
};

struct Descriptor {
  const char* name;     // as in --backend and in the profile
  const char* summary;  // one line for doctor and --help
  std::span<const Variable> variables = {};
  // How the names of the vendor's own variables begin, which choose a device, for example: a target gets them also
  // where it runs as another user (--user).
  std::span<const std::string_view> vendor_variables = {};
};

// Whether the backend can work on this machine.
struct Availability {
  bool available = false;
  std::string detail;   // what was found, or what is missing
  std::string hint;     // how to get it; empty when available
  bool unseen = false;  // programs may use it all the same, and nothing is seen of that
};

// The environment of the child to be started. A backend adds what brings its injection library in.
struct LaunchEnv {
  std::vector<std::pair<std::string, std::string>> variables;  // as the target will see them, changes included
  std::string library_dir;                                     // where injection libraries have been unpacked to
  bool samples = false;                                        // inside of kernels are wanted

  [[nodiscard]] const std::string* get(std::string_view name) const;
  void set(std::string_view name, std::string value);
};

// A function that puts work on a GPU; a uprobe there counts launches in a process that has no library of ours.
struct LaunchFunction {
  std::string_view library;  // how the file name of the library that holds it begins: "libOpenCL.so"
  std::string_view symbol;
  bool in_program = false;  // look in the program itself, too (a statically linked library)
  // Leads to another function of the list, which counts the launch where it can be probed: this one is probed only in
  // a process that has none of those.
  bool outer = false;
};

// What a source in the recorder's own process is given. All of it lives longer than the source runs.
struct Recording {
  EventSink& sink;
  SourceIds& ids;
  pid_t root = 0;  // the work of this process and of its descendants is told to the sink, and nobody else's
  const SamplingOptions& sampling;
};

// The SM clock of a device while it worked.
struct DeviceClock {
  std::string uuid;  // as of EventSink::on_device
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

  // The injection library that is embedded in gpuprof for this backend; empty name if there is none.
  struct Library {
    std::string_view file_name;  // "libgpuprof_opencl.so"
    std::span<const unsigned char> bytes;
  };
  [[nodiscard]] virtual Library library() const { return {}; }

  // How the files begin that are on a stack only because we are recording: the innermost frames in them are left out.
  [[nodiscard]] virtual std::span<const std::string_view> instrument_libraries() const { return {}; }

  // It works only where it is asked for by name (record --backend): it sees the work that others see, too, and both
  // together would count that twice.
  [[nodiscard]] virtual bool only_by_name() const { return false; }

  // The backend whose library, in the same processes, knows the code that this one's samples are of; empty: none does.
  [[nodiscard]] virtual std::string_view code_from() const { return {}; }

  // It is there for others' samples alone: its library hands over code, and tells of nothing else.
  void set_code_only() { code_only_ = true; }
  [[nodiscard]] bool is_code_only() const { return code_only_; }

  virtual Status prepare(LaunchEnv& env) = 0;

  // How the file begins that a running process must have mapped for library() to be of use when it is brought in there
  // (record -p); empty: the library can not come late.
  [[nodiscard]] virtual std::string_view attaches_to() const { return {}; }

  // A function that this file must have for that; empty: none.
  [[nodiscard]] virtual std::string_view attach_needs() const { return {}; }

  // What record -p probes. No launch may pass through two of them.
  [[nodiscard]] virtual std::span<const LaunchFunction> launch_functions() const { return {}; }

  // Samples the clocks of devices from here on, until they are taken. Neither call waits for a device.
  virtual void watch_clocks() {}
  virtual std::vector<DeviceClock> take_clocks() { return {}; }

  // The events of a library in a target come through the session's channel. A backend that reads a device or the kernel
  // itself, in the recorder's own process, says so here and overrides what follows. All of it is called on the drain
  // thread; the sink trusts what such a source says, but for ids: those that it does not know are passed over.
  [[nodiscard]] virtual bool is_local() const { return false; }
  // Before the target runs. After an error there are no other calls, and no recording.
  virtual Status start(const Recording& /*recording*/) { return {}; }
  // Recording is off until this says otherwise: then launches are not told. Their GPU work may be, if they are not
  // over.
  virtual void set_recording(bool /*on*/) {}
  // Hands over what has come, and never blocks. How many events that were: after none, the next call may take longer.
  virtual size_t drain() { return 0; }
  // From start() to stop(): the programs of a source that walk stacks by tables (bpf/stack_walk.h). The recorder fills
  // in their maps for the processes that the source tells. Null: there are none.
  [[nodiscard]] virtual bpf_object* walking_programs() const { return nullptr; }
  // The last call: what is still held is handed over. A source that has ended earlier has nothing to do.
  virtual void stop() {}

 private:
  bool code_only_ = false;
};

using Backends = std::vector<std::unique_ptr<Backend>>;

// All backends that this build has, in the order in which they are probed and shown.
Backends make_all();

// Those of `all` that a recording is to use: the named ones, or without names all but those that must be named. With
// `samples` also, for their code only, those that know the code of the others' samples. The error says which names
// there are.
Result<Backends> choose(Backends all, const std::vector<std::string>& names, bool samples = false);

}  // namespace gpuprof::backend
