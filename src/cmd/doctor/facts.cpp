#include "cmd/doctor/facts.h"

#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/files/file.h"
#include "base/process/process_status.h"
#include "base/text/hints.h"
#include "base/unique_fd.h"
#include "cmd/doctor/processor.h"
#include "symbolize/kernel_symbols.h"

namespace gpuprof::cmd {

namespace {

constexpr KernelRelease kRingBufferSince{5, 8};

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// Returns the number with this index in a line of numbers, or 0 if the line has fewer.
std::uint64_t number(std::string_view line, int index, int base) {
  constexpr std::string_view kBlanks = " \t";
  for (;; --index) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    if (index == 0) {
      break;
    }
    line.remove_prefix(std::min(line.find_first_of(kBlanks), line.size()));
  }
  std::uint64_t value = 0;
  std::from_chars(line.data(), line.data() + line.size(), value, base);
  return value;
}

std::string or_unknown(const std::string& text) {
  return text.empty() ? "unknown" : text;
}

// CAP_SYS_ADMIN includes CAP_BPF and CAP_PERFMON, because these were once part of it.
Fact capability_fact(const Rights& rights, unsigned capability, const char* name, const char* purpose,
                     const char* hint) {
  const bool split_off = capability == kCapBpf || capability == kCapPerfmon;
  const bool there = rights.has(capability) || (split_off && rights.has(kCapSysAdmin));
  return {.name = name, .state = there ? State::ok : State::missing, .detail = purpose, .hint = there ? "" : hint};
}

Fact user_fact(const Rights& rights) {
  Fact fact{.name = "user", .state = State::info, .detail = {}, .hint = {}};
  fact.detail = rights.effective_uid == 0 ? "root" : "uid " + std::to_string(rights.effective_uid);
  if (rights.own_user_namespace) {
    fact.detail += ", inside a user namespace (a rootless container): its root has no privileges in the kernel";
  }
  return fact;
}

Fact ebpf_fact(const std::string& root, const Rights& rights, bool bpf_map_created) {
  Fact fact{.name = "eBPF",
            .state = State::ok,
            .detail = "--stacks=bpf works, and record -p can count the launches of any process",
            .hint = {}};
  const std::string lockdown = first_line(root + "/sys/kernel/security/lockdown");
  if (bpf_map_created && rights.can_trace()) {
    if (lockdown.find("[confidentiality]") != std::string::npos) {
      fact = {"eBPF", State::missing, "kernel lockdown is 'confidentiality', which forbids tracing",
              "boot with lockdown=integrity or none"};
    } else if (!rights.has(kCapSysAdmin)) {
      fact = {"eBPF", State::limited,
              "BPF programs load, but the kernel may refuse their uprobes without CAP_SYS_ADMIN", hints::kRightsForBpf};
    }
    return fact;
  }
  fact.state = State::missing;
  fact.detail = "not permitted: stacks are walked in the process (--stacks=inproc)";
  fact.hint = rights.own_user_namespace
                  ? "run gpuprof outside of the container, or in one started by root with --privileged"
              : rights.can_trace() ? "the kernel refuses despite the capabilities: check the container's seccomp "
                                     "profile (docker: --privileged)"
                                   : hints::kRightsForBpf;
  return fact;
}

Fact uprobe_fact(const std::string& root, const KernelRelease& release) {
  if (first_line(root + "/sys/bus/event_source/devices/uprobe/type").empty()) {
    return {"uprobes", State::missing, "not supported by this kernel: --stacks=bpf is unavailable",
            "use a kernel with CONFIG_UPROBE_EVENTS=y, like the kernels of distributions"};
  }
  if (has_fast_probe(release)) {
    return {"uprobes", State::ok,
            "optimized: the probe of --stacks=bpf is a direct call, some 0.2 to 0.5 us per launch", ""};
  }
  return {"uprobes", State::limited, "the probe of --stacks=bpf traps, some 3 to 12 us per launch",
          "on x86-64, Linux 6.18 and later make it a direct call"};
}

}  // namespace

const char* state_name(State state) {
  switch (state) {
    case State::ok:
      return "ok";
    case State::limited:
      return "limited";
    case State::missing:
      return "missing";
    case State::info:
      break;
  }
  return "info";
}

bool Rights::can_trace() const {
  return !own_user_namespace && (has(kCapSysAdmin) || (has(kCapBpf) && has(kCapPerfmon)));
}

Rights parse_rights(std::string_view status, std::string_view uid_map) {
  Rights rights;
  const auto uids = status_numbers<std::uint32_t>(status, "Uid");  // real, effective, saved, file system
  const auto capabilities = status_numbers<std::uint64_t>(status, "CapEff", 16);
  rights.effective_uid = uids && uids->size() > 1 ? (*uids)[1] : ~0U;
  rights.effective_capabilities = capabilities && !capabilities->empty() ? capabilities->front() : 0;
  // Only in the initial user namespace, all 2^32 - 1 ids stand for themselves.
  rights.own_user_namespace =
      !uid_map.empty() && (number(uid_map, 1, 10) != 0 || number(uid_map, 2, 10) != 4294967295ULL);
  return rights;
}

KernelRelease parse_release(std::string_view release) {
  KernelRelease result;
  const char* end = release.data() + release.size();
  const auto [next, error] = std::from_chars(release.data(), end, result.major);
  if (error == std::errc{} && next != end && *next == '.') {
    std::from_chars(next + 1, end, result.minor);
  }
  return result;
}

std::vector<Fact> rights_facts(const std::string& root, const Rights& rights, bool bpf_map_created) {
  std::vector<Fact> facts;
  facts.push_back(user_fact(rights));
  facts.push_back(ebpf_fact(root, rights, bpf_map_created));
  facts.push_back(
      capability_fact(rights, kCapBpf, "CAP_BPF", "loads the programs of --stacks=bpf", "see the hint of eBPF"));
  facts.push_back(capability_fact(rights, kCapPerfmon, "CAP_PERFMON",
                                  "attaches the programs of --stacks=bpf to the launch probe", "see the hint of eBPF"));
  facts.push_back(capability_fact(rights, kCapSysPtrace, "CAP_SYS_PTRACE",
                                  "reads the mappings of other users' processes",
                                  "run gpuprof as root of the machine, or with this capability"));
  facts.push_back({"unprivileged_bpf_disabled", State::info,
                   or_unknown(first_line(root + "/proc/sys/kernel/unprivileged_bpf_disabled")), ""});
  facts.push_back(
      {"perf_event_paranoid", State::info, or_unknown(first_line(root + "/proc/sys/kernel/perf_event_paranoid")), ""});

  const std::string restricted = first_line(root + "/proc/sys/kernel/kptr_restrict");
  const bool hidden = restricted == "2" || (restricted == "1" && rights.effective_uid != 0);
  facts.push_back({"kptr_restrict", hidden ? State::limited : State::info, or_unknown(restricted),
                   hidden ? "kernel frames have no names: sudo sysctl kernel.kptr_restrict=0" : ""});
  return facts;
}

std::vector<Fact> kernel_facts(const std::string& root, const KernelRelease& release) {
  std::vector<Fact> facts;
  facts.push_back({"release", State::info, or_unknown(first_line(root + "/proc/sys/kernel/osrelease")), ""});
  const bool ring_buffer = release >= kRingBufferSince;
  facts.push_back({"BPF ring buffer", ring_buffer ? State::ok : State::missing,
                   ring_buffer ? "since Linux 5.8" : "not supported by this kernel: --stacks=bpf is unavailable",
                   ring_buffer ? "" : "use Linux 5.8 or later"});
  const bool btf = exists(root + "/sys/kernel/btf/vmlinux");
  facts.push_back({"BTF", btf ? State::ok : State::missing, btf ? "/sys/kernel/btf/vmlinux" : "no type information",
                   btf ? "" : "use a kernel with CONFIG_DEBUG_INFO_BTF=y, like the kernels of distributions"});
  facts.push_back(uprobe_fact(root, release));
  return facts;
}

std::vector<Fact> device_facts(const std::string& root) {
  std::vector<Fact> facts;
  const auto list = [&](const char* name, const std::string& folder, std::string_view prefix) {
    std::vector<std::string> found;
    std::error_code error;
    std::filesystem::directory_iterator entries(root + folder, error);
    for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
      const std::string file = entries->path().filename().string();
      const bool numbered =
          file.size() > prefix.size() && file.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
      if (file.starts_with(prefix) && numbered) {
        found.push_back(file);
      }
    }
    std::sort(found.begin(), found.end());
    std::string detail;
    for (const std::string& file : found) {
      const std::string path = folder + "/" + file;
      detail += (detail.empty() ? "" : " ") + path;
      if (::access((root + path).c_str(), R_OK | W_OK) != 0) {
        detail += " (not accessible to you)";
      }
    }
    facts.push_back({name, State::info, detail.empty() ? "none" : detail, ""});
  };
  list("NVIDIA GPUs", "/dev", "nvidia");
  list("render nodes", "/dev/dri", "renderD");
  return facts;
}

bool can_create_bpf_map() {
  bpf_attr attributes{};
  attributes.map_type = BPF_MAP_TYPE_RINGBUF;
  attributes.max_entries = static_cast<unsigned>(::sysconf(_SC_PAGESIZE));
  const UniqueFd map(static_cast<int>(::syscall(__NR_bpf, BPF_MAP_CREATE, &attributes, sizeof(attributes))));
  return static_cast<bool>(map);
}

Fact kernel_symbols_fact(const std::string& root) {
  if (symbolize::KernelSymbols(root + "/proc/kallsyms").are_shown()) {
    return {"kernel symbols", State::ok, "kernel frames of --backend drm have names", ""};
  }
  return {"kernel symbols", State::limited, "hidden: --backend drm shows all kernel frames as one, [kernel]",
          "run gpuprof as root (or with CAP_SYSLOG), and with kernel.kptr_restrict below 2"};
}

}  // namespace gpuprof::cmd
