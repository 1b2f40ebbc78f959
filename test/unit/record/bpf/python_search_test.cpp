#include "record/bpf/python_search.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

#include "catch.h"

using namespace gpuprof::record;
using gpuprof::symbolize::ProcessMaps;

namespace {

// A Python process that has reached its program, which waits for the test.
class Python {
 public:
  explicit Python(const char* program) {
    int said[2] = {-1, -1};
    REQUIRE(::pipe(said) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(said[1], STDOUT_FILENO);
      ::execlp(program, program, "-S", "-E", "-c", "import time; print('.', flush=True); time.sleep(600)", nullptr);
      _exit(127);
    }
    ::close(said[1]);
    char byte = 0;
    runs_ = ::read(said[0], &byte, 1) == 1;
    ::close(said[0]);
  }
  ~Python() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Python(const Python&) = delete;
  Python& operator=(const Python&) = delete;

  [[nodiscard]] bool runs() const { return runs_; }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  bool runs_ = false;
};

}  // namespace

TEST_CASE("an interpreter is read from memory, and its only thread is found") {
  const char* wanted = std::getenv("GPUPROF_TEST_PYTHON");
  const Python process(wanted != nullptr ? wanted : "python3");
  if (!process.runs()) {
    std::cerr << "skipped: python3 is not installed\n";
    return;
  }
  ProcessMaps maps(static_cast<uint32_t>(process.pid()), gpuprof::symbolize::make_file_cache());
  REQUIRE(maps.refresh());
  const auto* interpreter = find_interpreter(maps);
  REQUIRE(interpreter != nullptr);
  gpuprof::reader::Process reader({});
  const auto python = read_interpreter(reader, maps, *interpreter);
  REQUIRE(python);
  CHECK(python->layout.version >> 24U == 3);
  CHECK(python->layout.eval_begin < python->layout.eval_end);
  uint64_t main = 0;
  uint64_t thread = 0;
  uint64_t next = 1;
  uint64_t ident = 0;
  REQUIRE(maps.read_memory(python->threads.interpreter, &main, 8));
  REQUIRE(maps.read_memory(main + python->threads.first, &thread, 8));
  REQUIRE(maps.read_memory(thread + python->threads.next, &next, 8));
  REQUIRE(maps.read_memory(thread + python->threads.ident, &ident, 8));
  CHECK(next == 0);
  uint64_t itself = 0;
  REQUIRE(maps.read_memory(ident, &itself, 8));  // in glibc, the first word of a thread's block is its own address
  CHECK(itself == ident);
}

TEST_CASE("the version comes from the file name if there is no better source") {
  CHECK(version_of_name("python3.9") == 0x03090000);
  CHECK(version_of_name("libpython3.10.so.1.0") == 0x030a0000);
  CHECK(version_of_name("python") == 0);
  CHECK(version_of_name("python3") == 0);
  CHECK(version_of_name("python3.") == 0);
  CHECK(version_of_name("libpython3.999.so") == 0);
  CHECK(version_of_name("bash") == 0);
}

TEST_CASE("the first thread state points back to its interpreter and has no predecessor") {
  std::map<uint64_t, uint64_t> memory;
  const auto read = [&](uint64_t at) -> std::optional<uint64_t> {
    const auto found = memory.find(at);
    return found == memory.end() ? std::nullopt : std::optional(found->second);
  };
  constexpr uint64_t kInterpreter = 0x1000;
  CHECK(find_first_thread(kInterpreter, 16, read) == 0);  // nothing is readable
  memory = {{0x1000, 0x2000}, {0x1008, 0x3001}, {0x1010, 0x4000}, {0x1018, 0x5000}, {0x1020, 0x6000}};
  memory[0x2010] = 0x9999;        // belongs to another interpreter
  memory[0x3011] = kInterpreter;  // 0x3001 is unaligned, so not a thread state
  memory[0x4010] = kInterpreter;  // not the first thread state, as it has a predecessor
  memory[0x4000] = 0x5000;
  memory[0x5010] = kInterpreter;
  memory[0x5000] = 0;
  CHECK(find_first_thread(kInterpreter, 16, read) == 0x18);
}
