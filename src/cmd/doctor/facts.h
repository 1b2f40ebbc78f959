// Collects the facts that `doctor` reports. Reads files under a root folder, so that tests can provide them; "" is
// the root of this machine. Only can_create_bpf_map() asks the running kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::cmd {

enum class State {
  ok,
  limited,
  missing,  // does not work; the hint says what to do
  info,
};

const char* state_name(State state);

struct Fact {
  std::string name;
  State state = State::info;
  std::string detail;
  std::string hint;  // what to do; only if `state` is limited or missing
};

// Bit numbers of capabilities in the line CapEff of /proc/PID/status.
inline constexpr unsigned kCapSysPtrace = 19;
inline constexpr unsigned kCapSysAdmin = 21;
inline constexpr unsigned kCapPerfmon = 38;
inline constexpr unsigned kCapBpf = 39;

struct Rights {
  unsigned effective_uid = 0;
  std::uint64_t effective_capabilities = 0;
  bool own_user_namespace = false;  // the capabilities are valid only in the user namespace of a container

  bool ptrace_filtered = false;  // a system call filter forbids ptrace

  [[nodiscard]] bool has(unsigned capability) const { return ((effective_capabilities >> capability) & 1U) != 0; }
  [[nodiscard]] bool can_trace() const;  // whether the capabilities suffice; the kernel may still refuse
};

// `status` is the text of /proc/self/status, and `uid_map` that of /proc/self/uid_map. A missing line grants no
// rights.
Rights parse_rights(std::string_view status, std::string_view uid_map);

struct KernelRelease {
  unsigned major = 0;
  unsigned minor = 0;
  auto operator<=>(const KernelRelease&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 is wrong here
};

// Parses a release: "6.18.44-vendor" is 6.18. Parts that are not numbers become 0.
KernelRelease parse_release(std::string_view release);

std::vector<Fact> rights_facts(const std::string& root, const Rights& rights, bool bpf_map_created);
std::vector<Fact> kernel_facts(const std::string& root, const KernelRelease& release);
std::vector<Fact> device_facts(const std::string& root);
// Returns facts about running processes: which ones are visible, and whether record -p can load a library into them.
std::vector<Fact> attach_facts(const std::string& root, const Rights& rights);

// Returns facts about NVIDIA's interfaces: what the driver allows, which CUPTI is installed, and which tools use
// them. `environment` returns the value of a variable, or "" if it is not set.
std::vector<Fact> nvidia_facts(const std::string& root, const Rights& rights,
                               const std::function<std::string(const char* name)>& environment);

Fact kernel_symbols_fact(const std::string& root);

// Returns whether a BPF ring buffer can be created. Creates one, because capabilities, lockdown, seccomp and
// namespaces all matter.
bool can_create_bpf_map();

}  // namespace gpuprof::cmd
