// Collects the facts that `doctor` reports, from files under a root folder ("" is this machine's), so that tests can
// provide the files. Only can_create_bpf_map() queries the running kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::cmd {

enum class State {
  ok,       // works
  limited,  // works partially
  missing,  // does not work; the hint says what to do
  info,     // a neutral fact
};

const char* state_name(State state);

struct Fact {
  std::string name;
  State state = State::info;
  std::string detail;
  std::string hint;  // what to do; empty unless `state` is limited or missing
};

// Linux capabilities, by bit number in CapEff of /proc/PID/status.
inline constexpr unsigned kCapSysPtrace = 19;
inline constexpr unsigned kCapSysAdmin = 21;
inline constexpr unsigned kCapPerfmon = 38;
inline constexpr unsigned kCapBpf = 39;

struct Rights {
  unsigned effective_uid = 0;
  std::uint64_t effective_capabilities = 0;
  bool own_user_namespace = false;  // true: the capabilities are valid only in a container's user namespace

  [[nodiscard]] bool has(unsigned capability) const { return ((effective_capabilities >> capability) & 1U) != 0; }
  [[nodiscard]] bool can_trace() const;  // checks only capabilities; the Linux kernel may refuse anyway
};

// `status` is the text of /proc/self/status, `uid_map` that of /proc/self/uid_map. Missing lines grant no rights.
Rights parse_rights(std::string_view status, std::string_view uid_map);

struct KernelRelease {
  unsigned major = 0;
  unsigned minor = 0;
  auto operator<=>(const KernelRelease&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 is wrong here
};

// Parses "6.18.44-vendor" as 6.18. Parts that are not numbers become 0.
KernelRelease parse_release(std::string_view release);

std::vector<Fact> rights_facts(const std::string& root, const Rights& rights, bool bpf_map_created);
std::vector<Fact> kernel_facts(const std::string& root, const KernelRelease& release);
std::vector<Fact> device_facts(const std::string& root);
// Facts of running processes: which are visible, and whether record -p can load a library into them.
std::vector<Fact> attach_facts(const std::string& root, const Rights& rights);

// Facts of NVIDIA's interfaces: what the driver allows, which CUPTI is installed, and which other tools use them.
// `environment` returns the value of a variable; "" if it is not set.
std::vector<Fact> nvidia_facts(const std::string& root, const Rights& rights,
                               const std::function<std::string(const char* name)>& environment);

Fact kernel_symbols_fact(const std::string& root);

// Returns whether a BPF ring buffer can be created. Tries it: capabilities, lockdown, seccomp, namespaces all matter.
bool can_create_bpf_map();

}  // namespace gpuprof::cmd
