#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/process/packet.h"
#include "base/process/stranger.h"
#include "base/process/system_calls_arch.h"
#include "catch.h"
#include "reader/file_symbols.h"
#include "reader/process.h"
#include "reader/remote_names.h"
#include "reader/requests.h"
#include "reader/serve.h"

using namespace gpuprof;
using namespace gpuprof::reader;
using Outcome = Process::Outcome;

namespace {

// Tests in this program start this program as their reader, because they run /proc/self/exe.
__attribute__((constructor)) void serve_if_asked(int count, char** words) {
  if (count == 2 && words[1] == kReadCommand) {
    serve(kDataFd, {});
    ::_exit(0);
  }
}

// A connection to a process that does `what` with its end of the socket.
Connection fork_reader(const std::function<void(int socket)>& what) {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
  Connection made{UniqueFd(ends[0]), UniqueFd()};
  const UniqueFd theirs(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) {
    made = {};
    what(theirs.get());
    ::_exit(0);
  }
  made.process.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return made;
}

Process::Request request(uint64_t what, uint64_t time_ns = 60'000'000'000) {
  Process::Request made{.message = {}, .time_ns = time_ns};
  made.message.number(what);
  return made;
}

// A reader that was taken over: instead of parsing, it does what an attacker would do. Returns one line for each
// attempt that succeeded.
std::string attempts(int socket) {
  std::string done;
  const auto attempt = [&done](const char* what, long result) { done += result >= 0 ? std::string(what) + "\n" : ""; };
  attempt("opens a file", ::syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY, 0));
  for (const long open : kOlderOpens) {
    attempt("opens with open", ::syscall(open, "/etc/passwd", O_RDONLY, 0));
  }
  attempt("creates a file", ::syscall(SYS_openat, AT_FDCWD, "/tmp/gpuprof-taken-over", O_CREAT | O_WRONLY, 0600));
  attempt("opens its terminal", ::syscall(SYS_openat, AT_FDCWD, "/dev/tty", O_RDWR, 0));
  attempt("makes a folder", ::syscall(SYS_mkdirat, AT_FDCWD, "/tmp/gpuprof-taken-over", 0700));
  attempt("signals its parent", ::syscall(SYS_kill, ::getppid(), 0));
  attempt("signals all", ::syscall(SYS_kill, -1, 0));
  attempt("signals by tgkill", ::syscall(SYS_tgkill, ::getppid(), ::getppid(), 0));
  attempt("opens a pidfd", ::syscall(SYS_pidfd_open, ::getpid(), 0));
  attempt("traces its parent", ::syscall(SYS_ptrace, PTRACE_SEIZE, ::getppid(), 0, 0));
  attempt("connects", ::syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0));
  attempt("starts a process", ::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  attempt("forks", ::fork());
  attempt("executes", ::syscall(SYS_execve, "/bin/true", nullptr, nullptr));
  attempt("gets code",
          reinterpret_cast<long>(::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) > 0
              ? 0
              : -1);
  attempt("shares memory",
          reinterpret_cast<long>(::mmap(nullptr, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) > 0 ? 0 : -1);
  attempt("makes a user", ::syscall(SYS_setresuid, 0, 0, 0));
  attempt("makes a namespace", ::syscall(SYS_unshare, 0x10000000));
  attempt("reads a keyring", ::syscall(SYS_keyctl, 0, -3, 0));
  attempt("looks at a file", ::syscall(SYS_newfstatat, AT_FDCWD, "/etc/passwd", &done, 0));
  attempt("becomes dumpable", ::syscall(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0));
  attempt("writes to another descriptor", ::syscall(SYS_write, 2, "x", 1));
  const iovec part{const_cast<char*>("x"), 1};
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(&part);
  message.msg_iovlen = 1;
  attempt("sends elsewhere", ::syscall(SYS_sendmsg, socket + 1, &message, 0));
  return done;
}

}  // namespace

TEST_CASE("a reader that was taken over can only answer") {
  std::array<int, 2> other{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, other.data()) == 0);
  Process process({.start = [&] {
    return fork_reader([&](int socket) {
      (void)receive_message(socket, 1000);
      ::dup2(other[0], socket + 1);
      Message answer;
      answer.number(static_cast<uint64_t>(Reply::answer)).number(0);
      if (!become_stranger({}) || !confine_to_answers(socket)) {
        send_message(socket, answer.text("cannot be confined"));
        return;
      }
      send_message(socket, answer.text(attempts(socket)));
    });
  }});
  auto answer = process.ask(request(0));
  REQUIRE(answer.outcome == Outcome::answered);
  CHECK(answer.message.text() == "");
  CHECK(answer.message.ok());
  ::close(other[0]);
  ::close(other[1]);
}

TEST_CASE("a stranger shares nothing with root") {
  if (::geteuid() != 0) {
    WARN("skipped: not root");
    return;
  }
  Process process({.start = [] {
    return fork_reader([](int socket) {
      (void)receive_message(socket, 1000);
      Message answer;
      answer.number(static_cast<uint64_t>(Reply::answer)).number(0).number(become_stranger({}) ? 1 : 0);
      std::array<char, 64> folder{};
      answer.number(::getuid()).number(::getgid()).number(static_cast<uint64_t>(::getgroups(0, nullptr)));
      answer.number(::getsid(0) == ::getpid() ? 1 : 0);
      answer.text(::getcwd(folder.data(), folder.size()) == nullptr ? "" : folder.data());
      answer.number(static_cast<uint64_t>(::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)));
      answer.number(::open("/etc/shadow", O_RDONLY) >= 0 ? 1 : 0);
      send_message(socket, answer);
    });
  }});
  auto [outcome, answer] = process.ask(request(0));
  REQUIRE(outcome == Outcome::answered);
  CHECK(answer.number() == 1);
  const uint64_t user = answer.number();
  CHECK(user >= 0x70000000);
  CHECK(answer.number() == user);
  CHECK(answer.number() == 0);
  CHECK(answer.number() == 1);
  CHECK(answer.text() == "/");
  CHECK(answer.number() == 1);
  CHECK(answer.number() == 0);
}

// What nvdisasm could do to others if it were taken over.
TEST_CASE("a foreign program cannot reach other processes, files or drivers") {
  Process process({.start = [] {
    return fork_reader([](int socket) {
      (void)receive_message(socket, 1000);
      std::string done;
      const auto attempt = [&done](const char* what, long result) {
        done += result >= 0 ? std::string(what) + "\n" : "";
      };
      if (!become_stranger({})) {
        done = "is no stranger";
      }
      const UniqueFd file(::open("/proc/self/status", O_RDONLY | O_CLOEXEC));
      attempt("makes namespaces", ::syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0));
      attempt("opens for writing", ::open("/dev/null", O_RDWR));
      attempt("owns a descriptor", ::fcntl(file.get(), F_SETOWN, ::getppid()));
      attempt("calls a driver", ::ioctl(socket, FIONREAD, nullptr));
      attempt("signals", ::kill(::getppid(), 0));
      const rlimit limit{1, 1};
      attempt("limits its parent", ::prlimit(::getppid(), RLIMIT_CPU, &limit, nullptr));
      attempt("attaches shared memory", ::syscall(SYS_shmat, 0, nullptr, 0));
      attempt("leaves its group", ::setpgid(0, 0));
      attempt("mounts", ::syscall(SYS_fsopen, "tmpfs", 0));
      attempt("calls what is newer", ::syscall(463, 0, 0));
      send_message(socket, Message().number(static_cast<uint64_t>(Reply::answer)).number(0).text(done));
    });
  }});
  auto answer = process.ask(request(0));
  REQUIRE(answer.outcome == Outcome::answered);
  CHECK(answer.message.text() == "");
}

TEST_CASE("a reader that ends, hangs or babbles gives no answer, and the next request starts another one") {
  int starts = 0;
  std::function<void(int)> what;
  Process process({.start = [&] {
    ++starts;
    return fork_reader(what);
  }});
  what = [](int socket) { (void)receive_message(socket, 1000); };
  CHECK(process.ask(request(0)).outcome == Outcome::failed);
  what = [](int socket) {
    (void)receive_message(socket, 1000);
    ::pause();
  };
  const uint64_t begun = monotonic_ns();
  CHECK(process.ask(request(0, 200'000'000)).outcome == Outcome::gave_up);
  what = [](int socket) {
    (void)receive_message(socket, 1000);
    while (send_message(socket, Message().number(static_cast<uint64_t>(Reply::open)).text("/x").number(1))) {
      (void)receive_message(socket, 1000);
    }
  };
  CHECK(process.ask(request(0)).outcome == Outcome::failed);  // it may not ask
  Process::Request with_files = request(0);
  with_files.on_question = [](Message&) { return ReceivedMessage(); };
  CHECK(process.ask(with_files).outcome == Outcome::failed);  // it asks too often
  what = [](int socket) {
    (void)receive_message(socket, 1000);
    while (send_message(socket, Message().number(static_cast<uint64_t>(Reply::open)))) {
    }
  };
  CHECK(process.ask(with_files).outcome == Outcome::failed);  // it never receives
  what = [](int socket) {
    (void)receive_message(socket, 1000);
    const std::array<std::byte, 2> packet{std::byte{1}, std::byte{0}};
    while (send_packet(socket, packet)) {
    }
  };
  CHECK(process.ask(request(0, 200'000'000)).outcome != Outcome::answered);  // its message has no end
  CHECK(monotonic_ns() - begun < 30'000'000'000);
  what = [](int socket) { send_message(socket, Message(std::string(3, 'x'))); };
  CHECK(process.ask(request(0)).outcome != Outcome::answered);
  CHECK(starts == 7);
}

TEST_CASE("a reader that has ended since its last answer is not blamed on the next request") {
  bool ends = true;
  UniqueFd watched;
  Process process({.start = [&] {
    Connection made = fork_reader([ends](int socket) {
      do {
        (void)receive_message(socket, 1000);
        send_message(socket, Message().number(static_cast<uint64_t>(Reply::answer)).number(0));
      } while (!ends);
    });
    watched.reset(::fcntl(made.process.get(), F_DUPFD_CLOEXEC, 0));
    return made;
  }});
  REQUIRE(process.ask(request(0)).outcome == Outcome::answered);
  pollfd ended{watched.get(), POLLIN, 0};
  REQUIRE(::poll(&ended, 1, 60'000) == 1);
  ends = false;
  for (int i = 0; i < 100; ++i) {
    REQUIRE(process.ask(request(0)).outcome == Outcome::answered);
  }
}

// nvdisasm starts no programs. A program that was taken over could.
TEST_CASE("what a stranger has started ends with it, even if the recorder reaps its children first") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const UniqueFd output(ends[0]);
  UniqueFd theirs(ends[1]);
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd process = start_stranger(
      {.program = "/bin/sh", .arguments = {"-c", "sleep 3600 &"}, .data = nothing.get(), .output = theirs.get()});
  theirs.reset();
  pollfd ended{process.get(), POLLIN, 0};
  REQUIRE(::poll(&ended, 1, 60'000) == 1);
  reap_children();
  end_stranger(process);
  pollfd closed{output.get(), POLLIN, 0};
  CHECK(::poll(&closed, 1, 10'000) == 1);
}

TEST_CASE("numbers and texts of a message are checked") {
  Message sent;
  sent.number(7).text("name").number(UINT64_MAX);
  Message received(sent.bytes());
  CHECK(received.number() == 7);
  CHECK(received.text() == "name");
  CHECK(received.count(1) == 0);
  CHECK_FALSE(received.ok());
  Message cut(sent.bytes().substr(0, 18));
  CHECK(cut.number() == 7);
  CHECK(cut.text().empty());
  CHECK_FALSE(cut.ok());
}

TEST_CASE("a long message arrives whole") {
  const std::string text(1 << 20, 'a');
  Process process({.start = [&] {
    return fork_reader([&](int socket) {
      (void)receive_message(socket, 1000);
      send_message(socket, Message().number(static_cast<uint64_t>(Reply::answer)).number(0).text(text));
    });
  }});
  Process::Request large = request(0);
  large.most = 2 * text.size();
  auto answer = process.ask(large);
  REQUIRE(answer.outcome == Outcome::answered);
  CHECK(answer.message.text() == text);
  CHECK(process.ask(request(0)).outcome == Outcome::failed);  // its answer is too large
}

TEST_CASE("a taken-over reader gets no file that is not ELF") {
  auto file = std::make_shared<symbolize::MappedFile>();
  file->path = "/nowhere/lib.so";
  file->fd.reset(::memfd_create("lib", MFD_CLOEXEC));
  symbolize::ReadingBudget budget({}, {});
  symbolize::ProcessMaps maps(static_cast<uint32_t>(::getpid()), nullptr);
  REQUIRE(maps.refresh());
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  RemoteNames names(
      {.start =
           [program] {
             return fork_reader([program](int socket) {
               (void)receive_message(socket, 1000);
               std::string got;
               for (const std::string& path : {std::string("/etc/passwd"), program}) {
                 send_message(socket, Message().number(static_cast<uint64_t>(Reply::open)).text(path).number(1));
                 const auto reply = receive_message(socket, 1000);
                 got += reply && reply->fd ? 'y' : 'n';
               }
               Message answer;
               answer.number(static_cast<uint64_t>(Reply::answer)).number(0).number(1).number(1).number(1);
               answer.text(got).text("").number(0).text("").text("").number(0).number(0).number(0).number(0);
               send_message(socket, answer);
             });
           }},
      budget);
  const auto found = names.find(file, maps, 0, 0);
  REQUIRE(found.frames.size() == 1);
  CHECK(found.frames[0].name == "ny");
}

// A file that ends its reader must not renew the limits.
TEST_CASE("readers that follow failed ones get less and less of the limits") {
  for (const uint64_t failures : {0, 23}) {
    uint64_t starts = 0;
    symbolize::ReadingBudget budget({}, {});
    symbolize::ProcessMaps maps(static_cast<uint32_t>(::getpid()), nullptr);
    RemoteNames names({.start =
                           [&] {
                             return starts++ < failures
                                        ? fork_reader([](int socket) { (void)receive_message(socket, 1000); })
                                        : start_process();
                           }},
                      budget);
    std::vector<std::shared_ptr<symbolize::MappedFile>> files(failures + 1);
    for (auto& file : files) {
      file = std::make_shared<symbolize::MappedFile>();
      file->path = "/nowhere/program";
      file->fd.reset(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
      REQUIRE(names.find(file, maps, 0, 0).is_elf);
    }
    CHECK(starts == failures + 1);
    CHECK(budget.left_out().files == failures);
    CHECK((budget.left_out().symbol_tables > 0) == (failures > 0));
  }
}

TEST_CASE("symbols are found in another process") {
  Process process({});
  const UniqueFd self(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const auto symbols = find_symbols(process, self.get(), {"no such symbol", "main"});
  REQUIRE(symbols.found.size() == 1);
  CHECK(symbols.found[0].wanted == 1);
  CHECK(symbols.found[0].code);
  const UniqueFd empty(::memfd_create("empty", MFD_CLOEXEC));
  CHECK(find_symbols(process, empty.get(), {"main"}).found.empty());
}

TEST_CASE("files that strangers can have written have a reader of their own") {
  if (::geteuid() != 0) {
    WARN("skipped: not root, to whom all files count as ours");
    return;
  }
  ProcessPair readers({});
  const UniqueFd ours(::memfd_create("ours", MFD_CLOEXEC));
  const UniqueFd theirs(::memfd_create("theirs", MFD_CLOEXEC));
  REQUIRE((::fchmod(ours.get(), 0644) == 0 && ::fchmod(theirs.get(), 0666) == 0));
  CHECK(&readers.of(ours.get()) != &readers.of(theirs.get()));
  REQUIRE(::fchmod(theirs.get(), 0644) == 0);
  CHECK(&readers.of(ours.get()) == &readers.of(theirs.get()));
  REQUIRE(::fchown(theirs.get(), 12345, 0) == 0);
  CHECK(&readers.of(ours.get()) != &readers.of(theirs.get()));
}
