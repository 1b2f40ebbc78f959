// Finds processes of the command, or children of an attached process, that use a GPU without gpuprof's injection
// library. Also finds the reason: for example, a wrapper cleared the environment, or the process has another root
// directory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "base/result.h"

namespace gpuprof::record {

// A vendor's library. Each process that uses it must also load the injection library.
struct ExpectedLibrary {
  std::string backend;
  std::string vendor;  // prefix of the vendor library's file name
  // Path of the injection library; empty: the user has switched the backend off by --backend.
  std::string injection;
  std::string variable;   // empty: the injection library was loaded only into an attached process, by ptrace
  bool attaches = false;  // the injection library can be loaded into a running process
};

// `chosen`: the recording's backends. Call it when they have prepared `env`.
std::vector<ExpectedLibrary> expected_libraries(const backend::Backends& chosen, const backend::LaunchEnv& env);

// Returns the libraries to expect in the children of an attached process. They inherit the injection library only by a
// fork after the attachment.
std::vector<ExpectedLibrary> attached_libraries(const backend::Backends& chosen);

class UnrecordedProcesses {
 public:
  using IsConnected = std::function<bool(pid_t)>;
  // Counts the launches of a child of an attached process. Called when the child is new (`uses_library` is false), and
  // when it has mapped a vendor's library. Returns whether they are counted.
  using CountChild = std::function<bool(pid_t, bool uses_library)>;

  // Examines the descendants of `root`. `devices`: also report a process that uses a GPU device, but no known vendor
  // library.
  UnrecordedProcesses(std::vector<ExpectedLibrary> libraries, pid_t root, bool devices, std::string proc = "/proc");

  void count_children(CountChild count) { count_child_ = std::move(count); }

  // Examines the descendants if it is time: at most every 20 ms, and for at most 1/100 of the time. The pause between
  // two checks of a process grows from 20 ms to 250 ms. A process that ends before its check is missed.
  // Returns whether it was time.
  bool look(uint64_t now_ns, const IsConnected& is_connected);

  // Returns the processes, found since the last call, that do not see the injection library's folder, but into which
  // the library can be injected.
  std::vector<pid_t> take_hidden() { return std::exchange(hidden_, {}); }

  // The attachable libraries were injected into this process, so it is recorded.
  void on_injected(pid_t pid);

  // Returns how many processes are certainly not recorded, at least by one backend.
  [[nodiscard]] uint64_t certain() const;

  // Returns one message for each reason. `nothing_recorded`: also returns reasons that are only probable.
  [[nodiscard]] std::vector<Error> messages(bool nothing_recorded) const;

 private:
  struct Known {
    std::string program;
    uint64_t next_ns = 0;
    uint64_t interval_ns = 0;
    bool seen = false;
  };
  struct Finding {
    bool certain = false;
    std::string name = {};
    Error text = {};  // text after "process PID (name) "
  };
  struct Process;
  using Key = std::tuple<pid_t, std::string, std::string>;  // pid, program, and backend (or "" without one)

  [[nodiscard]] std::vector<pid_t> descendants(uint64_t until) const;
  void examine(pid_t pid, uint64_t now_ns, const IsConnected& is_connected);
  void check(const Process& process, const IsConnected& is_connected);
  [[nodiscard]] Finding missing(const Process& process, const ExpectedLibrary& library, const std::string& vendor,
                                const std::string& variables, bool hidden) const;
  void set(const Process& process, const std::string& backend, Finding finding);

  std::vector<ExpectedLibrary> libraries_;
  pid_t root_;
  bool devices_;
  bool attached_;
  std::string proc_;
  std::string own_program_;
  CountChild count_child_;
  std::unordered_map<pid_t, Known> known_;
  std::map<Key, Finding> findings_;
  std::vector<pid_t> hidden_;
  uint64_t next_ns_ = 0;
};

}  // namespace gpuprof::record
