#include "record/process/unrecorded.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "catch.h"

using namespace gpuprof;
using namespace gpuprof::record;

namespace {

constexpr const char* kInjectedPath = "/tmp/gpuprof-1/libgpuprof_opencl.so";

// A folder in the form of /proc, in which process 1 is the recorder.
class FakeProc {
 public:
  FakeProc() : folder_(std::filesystem::temp_directory_path() / ("gpuprof-proc-" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "self");
    std::filesystem::create_symlink("/usr/bin/gpuprof", folder_ / "self" / "exe");
  }
  FakeProc(const FakeProc&) = delete;
  FakeProc& operator=(const FakeProc&) = delete;
  ~FakeProc() { std::filesystem::remove_all(folder_); }

  void write(int pid, const std::string& file, const std::string& text) {
    const auto path = folder_ / std::to_string(pid) / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void children(int pid, const std::string& pids) {
    const std::string thread = "task/" + std::to_string(pid);
    write(pid, thread + "/children", pids);
  }
  // Adds a process `pid`. Its only child is `child`; 0 means that it has no child.
  void process(int pid, int child, const std::string& program, const std::string& maps, const std::string& variables) {
    children(pid, child == 0 ? "" : std::to_string(child) + " ");
    write(pid, "comm", program + "\n");
    write(pid, "maps", maps);
    write(pid, "environ", variables);
    write(pid, "status", "Name:\tapp\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t\nCapEff:\t0\n");
    std::filesystem::create_directories(folder_ / std::to_string(pid) / "root/tmp/gpuprof-1");
    set_link(pid, "/usr/bin/" + program);
  }
  void set_link(int pid, const std::string& program) {
    const auto link = folder_ / std::to_string(pid) / "exe";
    std::filesystem::remove(link);
    std::filesystem::create_symlink(program, link);
  }

  std::vector<Error> look(bool nothing_recorded, bool connected = false, const std::string& injection = kInjectedPath) {
    UnrecordedProcesses processes({{"opencl", "libOpenCL.so", injection, "OPENCL_LAYERS"}}, 1, true, folder_);
    // One look examines as many processes as it can in a limited time. On a busy machine, this may be none.
    for (uint64_t looks = 1; looks <= 10; ++looks) {
      processes.look(looks * 10'000'000'000, [connected](pid_t) { return connected; });
    }
    return processes.messages(nothing_recorded);
  }
  // As in a recording of the running process 1. `programs`: the program of its child 30 at each look.
  std::vector<Error> look_attached(const std::vector<std::string>& programs) {
    UnrecordedProcesses processes({{"opencl", "libOpenCL.so", "libgpuprof_opencl.so", ""}}, 1, false, folder_);
    uint64_t now_ns = 1;
    for (const std::string& program : programs) {
      set_link(30, program);
      processes.look(now_ns += 10'000'000'000, [](pid_t) { return false; });
    }
    return processes.messages(false);
  }
  // The same, if launches are counted instead. Returns the calls of CountChild for the child: "0" new, "1" uses OpenCL.
  std::string look_counted(const std::vector<std::string>& programs, bool is_counted, size_t messages) {
    UnrecordedProcesses processes({{"opencl", "libOpenCL.so", "libgpuprof_opencl.so", ""}}, 1, false, folder_);
    std::string calls;
    processes.count_children([&](pid_t pid, bool uses_library) {
      calls += pid == 30 ? (uses_library ? "1" : "0") : "";
      return is_counted;
    });
    uint64_t now_ns = 1;
    for (const std::string& program : programs) {
      set_link(30, program);
      processes.look(now_ns += 10'000'000'000, [](pid_t) { return false; });
    }
    CHECK(processes.messages(false).size() == messages);
    return calls;
  }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

std::string line(const std::string& start, const std::string& path) {
  return start + "000-" + start + "fff r-xp 00000000 08:01 12                         " + path + "\n";
}

const std::string kProgram = line("55d0e0000", "/usr/bin/app") + line("7f0000010", "/lib/ld-linux-x86-64.so.2");
const std::string kOpenCl = kProgram + line("7f0000001", "/usr/lib/libOpenCL.so.1.0.0");

std::string variables(std::initializer_list<std::string> all) {
  std::string text;
  for (const std::string& one : all) {
    text += one + '\0';
  }
  return text;
}

const std::string kWanted = variables({"HOME=/", std::string("OPENCL_LAYERS=") + kInjectedPath, "GPUPROF_SOCKET=x"});

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a process below a wrapper that cleared the environment is reported with the variables to pass on") {
  FakeProc proc;
  proc.children(1, "20 ");
  proc.process(20, 30, "sh", kProgram, kWanted);
  proc.process(30, 0, "app", kOpenCl, variables({"HOME=/"}));
  const auto messages = proc.look(false);
  REQUIRE(messages.size() == 1);
  CHECK(mentions(messages[0].message, "process 30 (app) has loaded libOpenCL.so.1.0.0 without gpuprof's library"));
  CHECK(mentions(messages[0].message, "its environment has no OPENCL_LAYERS"));
  CHECK(mentions(messages[0].hint, "--preserve-env=OPENCL_LAYERS,GPUPROF_SOCKET,"));
}

TEST_CASE("the variable of other libraries, or without the recorder's socket, is as bad as none") {
  FakeProc proc;
  proc.children(1, "30 ");
  proc.process(30, 0, "app", kOpenCl, variables({"OPENCL_LAYERS=/opt/layer.so"}));
  CHECK(mentions(proc.look(false).at(0).message, "its environment variable OPENCL_LAYERS names other libraries"));
  proc.process(30, 0, "app", kOpenCl + line("7f0000002", kInjectedPath),
               variables({std::string("OPENCL_LAYERS=") + kInjectedPath}));
  CHECK(mentions(proc.look(false).at(0).message, "its environment has no GPUPROF_SOCKET"));
  CHECK(proc.look(true, true).empty());  // the program has set the variable itself, and is recorded
}

TEST_CASE("processes with the injection library are not reported") {
  FakeProc proc;
  proc.children(1, "30 ");
  proc.process(30, 0, "app", kOpenCl + line("7f0000002", kInjectedPath), kWanted);
  CHECK(proc.look(true).empty());
  proc.process(30, 0, "app", kProgram, variables({}));
  CHECK(proc.look(true).empty());
  proc.set_link(30, "/usr/bin/gpuprof");  // a helper of the recorder, or a target before its exec
  proc.write(30, "maps", kOpenCl);
  CHECK(proc.look(true).empty());
}

TEST_CASE("children of an attached process are reported, unless they are on the way to exec or have the library") {
  FakeProc proc;
  proc.children(1, "30 ");
  proc.process(30, 0, "app", kOpenCl, variables({}));
  const auto messages = proc.look_attached({"/usr/bin/app", "/usr/bin/app"});
  REQUIRE(messages.size() == 1);
  CHECK(messages[0].message ==
        "process 30 (app) is a child of the recorded process and has loaded libOpenCL.so.1.0.0, but opencl records "
        "nothing of it");
  CHECK(mentions(messages[0].hint, "gpuprof record -- COMMAND"));
  CHECK(proc.look_counted({"/usr/bin/app"}, true, 0) == "0");
  CHECK(proc.look_counted({"/usr/bin/sh", "/usr/bin/app", "/usr/bin/app"}, true, 0) == "01");
  CHECK(proc.look_counted({"/usr/bin/app", "/usr/bin/app"}, false, 1) == "01");
  CHECK(proc.look_attached({"/usr/bin/app"}).empty());
  CHECK(proc.look_attached({"/usr/bin/app", "/usr/bin/other"}).empty());
  proc.write(30, "maps", kOpenCl + line("7f0000002", "/memfd:gpuprof/libgpuprof_opencl.so (deleted)"));
  CHECK(proc.look_attached({"/usr/bin/app", "/usr/bin/app"}).empty());
}

TEST_CASE("a library that the process cannot see, or cannot load, is the reason") {
  FakeProc proc;
  proc.children(1, "30 ");
  proc.process(30, 0, "app", kOpenCl, kWanted);
  CHECK(mentions(proc.look(false).at(0).message,
                 std::string("its root directory or mount namespace has no ") + kInjectedPath));
  proc.write(30, "root/tmp/gpuprof-1/libgpuprof_opencl.so", "ELF");
  CHECK(proc.look(false).empty());  // it may call OpenCL later
  CHECK(mentions(proc.look(true).at(0).message, "perhaps it has not called that library"));
  proc.write(30, "maps", line("7f0000001", "/lib/ld-musl-x86_64.so.1") + line("7f0000002", "/lib/libOpenCL.so.1"));
  CHECK(mentions(proc.look(false).at(0).message, "it uses musl"));
  proc.write(30, "maps", line("f7000", "/lib/ld-linux.so.2") + line("f7100", "/lib/libOpenCL.so.1"));
  CHECK(mentions(proc.look(false).at(0).message, "it is a 32-bit program"));
}

TEST_CASE("if nothing was recorded, devices and switched-off backends are reported") {
  FakeProc proc;
  proc.children(1, "30 ");
  proc.process(30, 0, "app", kOpenCl, variables({}));
  CHECK(proc.look(false, false, "").empty());
  CHECK(mentions(proc.look(true, false, "").at(0).message, "--backend has switched the backend opencl off"));
  proc.write(30, "maps", line("400", "/usr/bin/app") + line("7f0000001", "/dev/nvidia0"));
  CHECK(proc.look(false).empty());
  CHECK(mentions(proc.look(true).at(0).message, "process 30 (app) is a static program and uses /dev/nvidia0 without"));
  proc.write(30, "maps", kProgram + line("7f0000001", "/dev/dri/renderD128"));
  CHECK(mentions(proc.look(true).at(0).message, "process 30 (app) uses /dev/dri/renderD128 without"));
}

TEST_CASE("processes with the same reason share a message, also after their end") {
  FakeProc proc;
  proc.children(1, "30 31 32 ");
  for (const int pid : {30, 31, 32}) {
    proc.process(pid, 0, "app", kOpenCl, variables({}));
  }
  UnrecordedProcesses processes({{"opencl", "libOpenCL.so", kInjectedPath, "OPENCL_LAYERS"}}, 1, true, proc.folder());
  const auto nobody = [](pid_t) { return false; };
  processes.look(1, nobody);
  proc.children(1, "");
  processes.look(10'000'000'000, nobody);
  const auto messages = processes.messages(false);
  REQUIRE(messages.size() == 1);
  CHECK(mentions(messages[0].message, "process 30 (app) has loaded"));
  CHECK(mentions(messages[0].message, "(2 other processes, too)"));
  CHECK(processes.certain() == 3);
}

TEST_CASE("a target that makes up library names gets few messages, but all of its processes count") {
  FakeProc proc;
  std::string children;
  for (int pid = 100; pid < 200; ++pid) {
    children += std::to_string(pid) + " ";
    proc.process(pid, 0, "app", kProgram + line("7f0000001", "/libOpenCL.so." + std::to_string(pid)), variables({}));
  }
  proc.children(1, children);
  UnrecordedProcesses processes({{"opencl", "libOpenCL.so", kInjectedPath, "OPENCL_LAYERS"}}, 1, true, proc.folder());
  for (uint64_t looks = 1; looks <= 1000 && processes.certain() < 100; ++looks) {
    processes.look(looks * 10'000'000'000, [](pid_t) { return false; });
  }
  CHECK(processes.certain() == 100);
  const auto messages = processes.messages(false);
  REQUIRE(messages.size() == 65);
  CHECK(messages.back().message == "other reasons why processes are not recorded: 36");
}

TEST_CASE("a process counts once, only if it certainly is not recorded, and not after a late injection") {
  FakeProc proc;
  proc.children(1, "30 ");
  proc.process(30, 0, "app", kOpenCl + line("7f0000003", "/usr/lib/libcuda.so.1"), variables({}));
  UnrecordedProcesses processes({{"opencl", "libOpenCL.so", kInjectedPath, "OPENCL_LAYERS"},
                                 {"cupti", "libcuda.so", "/tmp/libgpuprof_cupti.so", "CUDA_INJECTION64_PATH", true}},
                                1, true, proc.folder());
  uint64_t now = 0;
  const auto look = [&](bool connected) {
    for (int i = 0; i < 10; ++i) {
      processes.look(now += 10'000'000'000, [connected](pid_t) { return connected; });
    }
    return processes.certain();
  };
  CHECK(look(false) == 1);
  CHECK(processes.messages(false).size() == 2);
  processes.on_injected(30);
  REQUIRE(processes.messages(false).size() == 1);
  CHECK(mentions(processes.messages(false)[0].message, "opencl records nothing of it"));
  proc.write(30, "maps", kOpenCl + line("7f0000002", kInjectedPath));
  CHECK(look(true) == 0);
  proc.write(30, "maps", kOpenCl);
  proc.write(30, "environ", kWanted);
  proc.write(30, "root/tmp/gpuprof-1/libgpuprof_opencl.so", "ELF");
  CHECK(look(false) == 0);  // it may call OpenCL later
  CHECK(processes.messages(true).size() == 1);
}
