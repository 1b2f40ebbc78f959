// What a source of GPU events is to the recorder. A backend is one folder here, at most one in injection/, and one
// line in registry.cpp.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/event_sink.h"
#include "base/result.h"

namespace gpuprof::backend {

struct Descriptor {
  const char* name;     // as in --backend and in the profile
  const char* summary;  // one line for doctor and --help
};

// Whether the backend can work on this machine.
struct Availability {
  bool available = false;
  std::string detail;  // what was found, or what is missing
  std::string hint;    // how to get it; empty when available
};

// The environment of the child to be started. A backend adds what brings its injection library in.
struct LaunchEnv {
  std::vector<std::pair<std::string, std::string>> variables;  // as the target will see them, changes included
  std::string library_dir;                                     // where injection libraries have been unpacked to

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

  virtual Status prepare(LaunchEnv& env) = 0;

  // What is wrong with the value of an environment variable that the backend's libraries read; nothing where it is
  // none of theirs.
  [[nodiscard]] virtual std::optional<Error> check_variable(std::string_view /*name*/,
                                                            const std::string& /*value*/) const {
    return std::nullopt;
  }

  // How the file begins that a running process must have mapped for library() to be of use when it is brought in there
  // (record -p); empty: the library can not come late.
  [[nodiscard]] virtual std::string_view attaches_to() const { return {}; }

  // What record -p probes. No launch may pass through two of them.
  [[nodiscard]] virtual std::span<const LaunchFunction> launch_functions() const { return {}; }

  // Events of an injected backend come through the session's channel, so these have nothing to do there; a
  // backend that reads a device or the kernel itself overrides them. drain() never blocks.
  virtual Status start(EventSink& /*sink*/) { return {}; }
  virtual void drain() {}
  virtual void stop() {}
};

// All backends that this build has, in the order in which they are probed and shown.
std::vector<std::unique_ptr<Backend>> make_all();

}  // namespace gpuprof::backend
