#include "symbolize/kernel_symbols.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "catch.h"

using gpuprof::symbolize::KernelSymbols;
using gpuprof::symbolize::SymbolizedFrame;

namespace {

class Kallsyms {
 public:
  explicit Kallsyms(const std::string& text) {
    std::string pattern = std::filesystem::temp_directory_path() / "kallsyms.XXXXXX";
    const int fd = ::mkstemp(pattern.data());
    REQUIRE(fd >= 0);
    ::close(fd);
    path_ = pattern;
    std::ofstream(path_) << text;
  }
  ~Kallsyms() { ::unlink(path_.c_str()); }
  Kallsyms(const Kallsyms&) = delete;
  Kallsyms& operator=(const Kallsyms&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::vector<std::string> named(const std::string& kallsyms, const std::vector<uint64_t>& addresses) {
  const Kallsyms file(kallsyms);
  KernelSymbols symbols(file.path());
  std::vector<SymbolizedFrame> frames;
  symbols.name(addresses, frames);
  std::vector<std::string> names;
  for (const SymbolizedFrame& frame : frames) {
    CHECK(frame.kind == gpuprof::profile::FrameKind::kernel);
    names.push_back(frame.name + " " + frame.module);
  }
  return names;
}

constexpr const char* kSome =
    "ffffffff81000000 T _text\n"
    "ffffffff81000100 T do_syscall_64\n"
    "ffffffff81000200 t drm_ioctl\n"
    "ffffffff81000200 T another_name\n"
    "ffffffff81000280 d some_data\n"
    "ffffffff81000300 T __traceiter_drm_sched_job\n"
    "ffffffff81000400 T bpf_trace_run2\n"
    "not a line\n"
    "ffffffff\n"
    "ffffffffc0000100 t xe_exec_ioctl\t[xe]\n"
    "ffffffffc0000200 t bpf_prog_1234_on_scheduler_queue\t[bpf]\n";

}  // namespace

TEST_CASE("a kernel stack is named outermost first, with module names and without frames of BPF") {
  CHECK(named(kSome, {0xffffffffc0000210, 0xffffffff81000410, 0xffffffff81000310, 0xffffffffc0000110,
                      0xffffffff81000290, 0xffffffff81000110}) ==
        std::vector<std::string>{"do_syscall_64 [kernel]", "drm_ioctl [kernel]", "xe_exec_ioctl [xe]"});
}

TEST_CASE("a return address after a function's last instruction belongs to that function") {
  CHECK(named(kSome, {0xffffffff81000200}) == std::vector<std::string>{"do_syscall_64 [kernel]"});
}

TEST_CASE("a function with an attached BPF program is named once, however it was called") {
  const std::string kallsyms = std::string(kSome) + "ffffffffc0000300 t bpf_trampoline_2383\t[bpf]\n";
  CHECK(named(kallsyms, {0xffffffffc0000110, 0xffffffffc0000310, 0xffffffffc0000108, 0xffffffff81000290}) ==
        std::vector<std::string>{"drm_ioctl [kernel]", "xe_exec_ioctl [xe]"});
  CHECK(named(kallsyms, {0xffffffffc0000110, 0xffffffffc0000108, 0xffffffff81000290}) ==
        std::vector<std::string>{"drm_ioctl [kernel]", "xe_exec_ioctl [xe]", "xe_exec_ioctl [xe]"});
}

TEST_CASE("an address outside of all functions has no name") {
  CHECK(named(kSome, {0x1000, 0xffffffffa0000000}) ==
        std::vector<std::string>{"[unknown] [kernel]", "[unknown] [kernel]"});
}

TEST_CASE("a stack is a single frame if the kernel hides its addresses") {
  const char* hidden = "0000000000000000 T _text\n0000000000000000 t drm_ioctl\n";
  CHECK(named(hidden, {0xffffffffc0000110, 0xffffffff81000110}) == std::vector<std::string>{"[kernel] [kernel]"});
  CHECK(named("", {0xffffffffc0000110}) == std::vector<std::string>{"[kernel] [kernel]"});
  CHECK(named(hidden, {}).empty());
  CHECK_FALSE(KernelSymbols("/nonexistent").are_shown());
}
