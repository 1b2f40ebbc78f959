// What `doctor` looks at. The functions read files under a root folder ("" is this machine's), so that tests can
// hand them a machine of their own; only can_create_bpf_map() asks the running kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::cmd {

enum class State {
  ok,       // there
  limited,  // works with less than it could give
  missing,  // not there; the hint says what to do
  info,     // a plain fact
};

const char* state_name(State state);

struct Fact {
  std::string name;
  State state = State::info;
  std::string detail;
  std::string hint;  // empty unless limited or missing
};

// Linux capabilities, by bit number in CapEff of /proc/PID/status.
inline constexpr unsigned kCapSysPtrace = 19;
inline constexpr unsigned kCapSysAdmin = 21;
inline constexpr unsigned kCapPerfmon = 38;
inline constexpr unsigned kCapBpf = 39;

struct Rights {
  unsigned effective_uid = 0;
  std::uint64_t effective_capabilities = 0;
  bool own_user_namespace = false;  // capabilities then count inside that namespace only

  [[nodiscard]] bool has(unsigned capability) const { return ((effective_capabilities >> capability) & 1U) != 0; }
  [[nodiscard]] bool can_trace() const;  // by the capabilities alone; the kernel may still refuse
};

// `status` is the text of /proc/self/status, `uid_map` that of /proc/self/uid_map. Missing lines grant nothing.
Rights parse_rights(std::string_view status, std::string_view uid_map);

struct KernelRelease {
  unsigned major = 0;
  unsigned minor = 0;
  auto operator<=>(const KernelRelease&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 is wrong here
};

// "6.18.44-vendor" -> 6.18; zeros for what is no number.
KernelRelease parse_release(std::string_view release);

std::vector<Fact> rights_facts(const std::string& root, const Rights& rights, bool bpf_map_created);
std::vector<Fact> kernel_facts(const std::string& root, const KernelRelease& release);
std::vector<Fact> device_facts(const std::string& root);
// Running processes: whether record -p can bring a library into them, and which can be seen.
std::vector<Fact> attach_facts(const std::string& root, const Rights& rights);

// NVIDIA's interfaces: what the driver allows, which CUPTI is there, and which other tools occupy what we need. The
// function returns the value of an environment variable; empty where it is not set.
std::vector<Fact> nvidia_facts(const std::string& root, const Rights& rights,
                               const std::function<std::string(const char* name)>& environment);

// Whether the names of kernel frames can be had.
Fact kernel_symbols_fact(const std::string& root);

// Whether this process may create a BPF ring buffer: the question itself, since capabilities, lockdown, seccomp
// and user namespaces each have a say.
bool can_create_bpf_map();

}  // namespace gpuprof::cmd
