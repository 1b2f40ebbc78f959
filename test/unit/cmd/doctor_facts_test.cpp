#include "catch.h"
#include "cmd/doctor/facts.h"
#include "cmd/doctor/processor.h"
#include "machine.h"

namespace gpuprof::cmd {
namespace {

constexpr const char* kFirstNamespace = "         0          0 4294967295\n";
constexpr const char* kRootless = "         0       1000          1\n         1     100000      65536\n";

Rights root_rights() {
  return parse_rights("Name:\tx\nUid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\n", kFirstNamespace);
}

TEST_CASE("rights are read from the columns of effective ids") {
  const Rights rights =
      parse_rights("Name:\tx\nUid:\t1000\t33\t1000\t1000\nCapInh:\tffff\nCapEff:\t000000c000000000\n", kFirstNamespace);
  CHECK(rights.effective_uid == 33);
  CHECK(rights.has(kCapBpf));
  CHECK(rights.has(kCapPerfmon));
  CHECK_FALSE(rights.has(kCapSysAdmin));
  CHECK(rights.can_trace());
}

TEST_CASE("CAP_BPF alone cannot trace, CAP_SYS_ADMIN alone can") {
  CHECK_FALSE(parse_rights("Name:\tx\nUid:\t1\t1\nCapEff:\t0000008000000000\n", kFirstNamespace).can_trace());
  CHECK(parse_rights("Name:\tx\nUid:\t1\t1\nCapEff:\t0000000000200000\n", kFirstNamespace).can_trace());
}

TEST_CASE("an empty or truncated status grants nothing") {
  CHECK_FALSE(parse_rights("", "").can_trace());
  CHECK(parse_rights("", "").effective_uid != 0);
  CHECK_FALSE(parse_rights("Name:\tx\nCapEff:", kFirstNamespace).can_trace());
}

TEST_CASE("root of a rootless container has no rights on the kernel") {
  const Rights rights = parse_rights("Name:\tx\nUid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\n", kRootless);
  CHECK_FALSE(rights.can_trace());
  const Machine machine;
  const Fact ebpf = find(rights_facts(machine.root(), rights, false), "eBPF");
  CHECK(ebpf.state == State::missing);
  CHECK(ebpf.hint.find("container") != std::string::npos);
}

TEST_CASE("kernel releases are parsed and ordered by their numbers") {
  CHECK(parse_release("6.18.44-vendor") == KernelRelease{6, 18});
  CHECK(parse_release("5.4") == KernelRelease{5, 4});
  CHECK(parse_release("rolling") == KernelRelease{0, 0});
  CHECK(parse_release("") == KernelRelease{0, 0});
  CHECK(parse_release("6.9") < parse_release("6.18"));
}

TEST_CASE("every fact that is not ok has a hint") {
  const Machine bare;
  const Rights none = parse_rights("Name:\tx\nUid:\t1000\t1000\t1000\t1000\nCapEff:\t0\n", kFirstNamespace);
  bare.file("/proc/sys/kernel/kptr_restrict", "1\n");
  std::vector<Fact> facts = rights_facts(bare.root(), none, false);
  const std::vector<Fact> kernel = kernel_facts(bare.root(), KernelRelease{5, 4});
  facts.insert(facts.end(), kernel.begin(), kernel.end());
  int unwell = 0;
  for (const Fact& fact : facts) {
    const bool needs_hint = fact.state == State::missing || fact.state == State::limited;
    INFO(fact.name);
    CHECK(fact.hint.empty() != needs_hint);
    unwell += needs_hint ? 1 : 0;
  }
  CHECK(unwell == 8);  // eight facts: eBPF, three capabilities, kptr_restrict, ring buffer, BTF, uprobes
}

TEST_CASE("the cost of a uprobe depends on the kernel release") {
  const Machine machine;
  machine.file("/sys/bus/event_source/devices/uprobe/type", "9\n");
  const State newest = find(kernel_facts(machine.root(), KernelRelease{6, 18}), "uprobes").state;
  CHECK(newest == (has_fast_probe(KernelRelease{6, 18}) ? State::ok : State::limited));
  const Fact old = find(kernel_facts(machine.root(), KernelRelease{6, 17}), "uprobes");
  CHECK(old.state == State::limited);
  CHECK(old.detail.find("traps") != std::string::npos);
}

TEST_CASE("lockdown and seccomp can forbid eBPF despite capabilities") {
  const Machine machine;
  CHECK(find(rights_facts(machine.root(), root_rights(), true), "eBPF").state == State::ok);
  CHECK(find(rights_facts(machine.root(), root_rights(), false), "eBPF").hint.find("seccomp") != std::string::npos);
  machine.file("/sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
  CHECK(find(rights_facts(machine.root(), root_rights(), true), "eBPF").state == State::missing);
}

TEST_CASE("GPUs are the numbered device nodes") {
  const Machine machine;
  machine.file("/dev/nvidia1", "");
  machine.file("/dev/nvidia0", "");
  machine.file("/dev/nvidiactl", "");
  const std::vector<Fact> facts = device_facts(machine.root());
  CHECK(find(facts, "NVIDIA GPUs").detail == "/dev/nvidia0 /dev/nvidia1");
  CHECK(find(facts, "render nodes").detail == "none");
}

}  // namespace
}  // namespace gpuprof::cmd
