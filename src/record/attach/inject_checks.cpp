#include "record/attach/inject_checks.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/files/safe_open.h"
#include "base/process/credentials.h"
#include "base/process/process_status.h"
#include "base/process/seccomp_filter.h"
#include "base/process/system_calls_arch.h"
#include "base/return_if_error.h"
#include "base/text/hints.h"
#include "reader/file_symbols.h"

namespace gpuprof::record {
namespace {

constexpr uint64_t kCheckNs = 5'000'000'000;
constexpr useconds_t kBetweenRoundsUs = 2000;
constexpr size_t kMaxThreads = 256;  // threads examined in one round of the search for a safe thread
constexpr size_t kMaxRunning = 16;   // running threads stopped in one round, to check whether they are safe

// System calls that a signal or stop interrupted have these results. Only a tracer sees them (include/linux/errno.h in
// the kernel).
constexpr long kRestarts[] = {-512, -513, -514, -516};

// System calls that wait and continue after a stop. A thread in one of them holds no lock of libc or the loader. The
// exception is SYS_futex, see is_safe().
constexpr long kWaits[] = {SYS_read,      SYS_readv,           SYS_pselect6,       SYS_ppoll,
                           SYS_nanosleep, SYS_clock_nanosleep, SYS_futex,          SYS_wait4,
                           SYS_waitid,    SYS_accept,          SYS_accept4,        SYS_recvfrom,
                           SYS_recvmsg,   SYS_rt_sigsuspend,   SYS_restart_syscall};

// Code that may hold locks which dlopen also takes.
constexpr std::string_view kLockingCode[] = {"libc.so.", "libc-2.",   "ld-linux", "ld-2.",   "libdl",  "libpthread",
                                             "libgcc_s", "libunwind", "libasan",  "libtsan", "[vdso]", "[vsyscall]"};
constexpr std::string_view kLoaders[] = {"ld-linux", "ld-2."};

std::string proc(uint32_t pid, std::string_view name) {
  return "/proc/" + std::to_string(pid) + "/" + std::string(name);
}

std::string value_of(const std::string& status, const char* name) {
  return std::string(status_value(status, name).value_or(""));
}

bool is_over(const std::string& state) {
  return state.empty() || state.starts_with("Z") || state.starts_with("X");
}

bool starts_with_any(std::string_view name, std::span<const std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [name](std::string_view beginning) { return name.starts_with(beginning); });
}

std::string file_of(const symbolize::Mapping& mapping) {
  return std::string(base_name(mapping.file ? std::string_view(mapping.file->path) : std::string_view(mapping.name)));
}

bool is_32_bit(uint32_t pid) {
  const std::string ident = read_text(proc(pid, "exe"), EI_NIDENT);
  return ident.size() == EI_NIDENT && ident[EI_CLASS] == ELFCLASS32;
}

bool belongs_to_other(uint32_t pid) {
  const auto users = parse_users(read_status_of(pid));
  return (!users || users->uids[0] != ::geteuid()) && ::geteuid() != 0;
}

Error of_other_user(uint32_t pid) {
  const std::string text = std::to_string(pid);
  return {"process " + text + " belongs to another user", "run gpuprof as root: sudo gpuprof record -p " + text};
}

// Root that may not trace a process is root of a container, or a security module protects the process.
const char* rights_hint() {
  return ::geteuid() == 0 ? hints::kOutsideContainer : hints::kRightsForPtrace;
}

Error no_right(uint32_t pid) {
  if (filter_forbids_ptrace()) {
    return {"a system call filter (seccomp) forbids gpuprof to trace process " + std::to_string(pid),
            hints::kOutsideContainer};
  }
  if (belongs_to_other(pid)) {
    return of_other_user(pid);
  }
  const std::string scope = first_line("/proc/sys/kernel/yama/ptrace_scope");
  if (scope == "3") {
    return {"kernel.yama.ptrace_scope is 3: no process may be traced", hints::kPtraceForbidden};
  }
  if (!scope.empty() && scope != "0") {
    return {"kernel.yama.ptrace_scope is " + scope + ": only root may trace a running process", hints::kPtraceScope};
  }
  return {"no right to trace process " + std::to_string(pid), rights_hint()};
}

struct ThreadState {
  bool running = false;
  long system_call = -1;
};

ThreadState state_of(uint32_t pid, pid_t tid) {
  const std::string text = first_line(proc(pid, "task/" + std::to_string(tid) + "/syscall"));
  ThreadState state;
  if (text.starts_with("running")) {
    state.running = true;
    return state;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), state.system_call);
  state.running = error != std::errc{};  // text without a number: treat the thread as running
  return state;
}

// Checks the thread's state, because PTRACE_SEIZE also fails with EPERM for an ended thread.
bool has_ended(uint32_t pid, pid_t tid) {
  return is_over(value_of(read_status_of(pid, tid), "State"));
}

bool waits(long system_call) {
  return is_one_of(kWaits, system_call) || is_one_of(kOlderPolls, system_call) ||
         is_one_of(kOlderPauses, system_call) || TracedThread::begins_again(system_call);
}

std::vector<pid_t> threads_of(uint32_t pid) {
  std::vector<pid_t> threads{static_cast<pid_t>(pid)};
  std::error_code error;
  std::filesystem::directory_iterator entries(proc(pid, "task"), error);
  for (; !error && entries != std::filesystem::directory_iterator() && threads.size() < kMaxThreads;
       entries.increment(error)) {
    const pid_t tid = std::atoi(entries->path().filename().c_str());
    if (tid > 0 && tid != static_cast<pid_t>(pid)) {
      threads.push_back(tid);
    }
  }
  return threads;
}

// Searches the stack for pointers into the loader's code, to guess whether one of the callers is in the loader.
bool in_loader(TracedThread& thread, const symbolize::ProcessMaps& maps) {
  std::array<uint64_t, 128> words{};
  const std::span<unsigned char> bytes(reinterpret_cast<unsigned char*>(words.data()), sizeof(words));
  if (!thread.read_memory(arch::stack_pointer(thread.registers()), bytes)) {
    return false;  // the stack is too short to hold frames of the loader
  }
  return std::any_of(words.begin(), words.end(), [&](uint64_t word) {
    const symbolize::Mapping* mapping = maps.find(word);
    return mapping != nullptr && starts_with_any(file_of(*mapping), kLoaders);
  });
}

bool is_safe(TracedThread& thread, symbolize::ProcessMaps& maps) {
  const arch::General& registers = thread.registers();
  const long call = registers.system_call;
  if (call >= 0) {
    const long result = registers.result;
    const bool interrupted = std::find(std::begin(kRestarts), std::end(kRestarts), result) != std::end(kRestarts) ||
                             (result == -EINTR && TracedThread::begins_again(call));
    return interrupted && waits(call) && (call != SYS_futex || !in_loader(thread, maps));
  }
  const symbolize::Mapping* mapping = maps.find(arch::instruction(registers));
  if (mapping == nullptr) {
    maps.refresh();
    mapping = maps.find(arch::instruction(registers));
  }
  if (mapping == nullptr) {
    return false;
  }
  const std::string file = file_of(*mapping);
  if (starts_with_any(file, kLockingCode) || file.find("malloc") != std::string::npos || in_loader(thread, maps)) {
    return false;
  }
  // If the file defines malloc, the loader uses this malloc, too. The thread may hold its locks.
  return mapping->file == nullptr || symbol_address(maps, *mapping->file, "malloc") == 0;
}

}  // namespace

Status check_readable(uint32_t pid) {
  symbolize::ProcessMaps maps(pid, nullptr);
  if (maps.refresh() || !maps.denied()) {
    return {};
  }
  return belongs_to_other(pid)
             ? of_other_user(pid)
             : Error{"no right to read the mappings of process " + std::to_string(pid), rights_hint()};
}

Status check_process(uint32_t pid) {
  const std::string process = "process " + std::to_string(pid);
  const std::string status = read_status_of(pid);
  if (is_over(value_of(status, "State"))) {
    return Error{process + " has ended", ""};
  }
  if (value_of(status, "State").starts_with("T")) {
    return Error{process + " is stopped (SIGSTOP, Ctrl-Z)", "continue it first: kill -CONT " + std::to_string(pid)};
  }
  if (const std::string tracer = value_of(status, "TracerPid"); !tracer.empty() && tracer != "0") {
    return Error{process + " is being traced by process " + tracer + " already (a debugger, strace, ...)",
                 "end that one first"};
  }
  if (value_of(status, "Seccomp") == "1") {
    return Error{process + " is in seccomp's strict mode, which forbids the system calls that injection needs", ""};
  }
  if (is_32_bit(pid)) {
    return Error{process + " is a 32-bit program", ""};
  }
  if (::access(proc(pid, "mem").c_str(), R_OK | W_OK) != 0 || !open_regular(AT_FDCWD, proc(pid, "mem"), O_RDWR)) {
    return no_right(pid);
  }
  return {};
}

uint64_t symbol_address(const symbolize::ProcessMaps& maps, const symbolize::MappedFile& file, std::string_view symbol,
                        const std::function<bool()>& stop) {
  reader::Process reader({.goes_on = [&stop] { return !stop || !stop(); }});
  const auto symbols = file.fd ? reader::find_symbols(reader, file.fd.get(), {symbol}) : reader::FileSymbols();
  for (const symbolize::ElfSymbol& one : symbols.found) {
    for (const symbolize::Mapping& mapping : maps.mappings()) {
      if (one.code && mapping.file.get() == &file && *one.code >= mapping.offset &&
          *one.code - mapping.offset < mapping.end - mapping.start) {
        return mapping.start + (*one.code - mapping.offset);
      }
    }
  }
  return 0;
}

Result<Loader> find_loader(const symbolize::ProcessMaps& maps, const std::function<bool()>& stop) {
  bool dynamic = false;
  // __libc_dlopen_mode is the second choice. libc exports it before glibc 2.34.
  for (const std::string_view function : {"dlopen", "__libc_dlopen_mode"}) {
    for (const symbolize::Mapping& mapping : maps.mappings()) {
      const std::string file = file_of(mapping);
      if (file.starts_with("ld-musl") || file.starts_with("libc.musl")) {
        return Error{"the process's C library is musl, which CUDA does not work with", ""};
      }
      const bool libc = file.starts_with("libc.so.6") || file.starts_with("libc-2.");
      dynamic = dynamic || libc;
      if (!mapping.file || (!libc && !file.starts_with("libdl.so.2") && !file.starts_with("libdl-2."))) {
        continue;
      }
      if (stop()) {
        return Error{"injection was stopped before the process's dlopen was found", ""};
      }
      Loader loader{mapping.file, symbol_address(maps, *mapping.file, function, stop), 0};
      if (loader.open != 0) {
        loader.error = symbol_address(maps, *mapping.file, "dlerror", stop);
        return loader;
      }
    }
  }
  return dynamic ? Error{"the process's C library offers no dlopen, or cannot be read", ""}
                 : Error{"the process is a statically linked program, which cannot open libraries", ""};
}

Result<TracedThread> stop_safe_thread(const TracedIdentity& who, symbolize::ProcessMaps& maps,
                                      const std::function<bool()>& stop) {
  const uint64_t deadline = monotonic_ns() + kCheckNs;
  const uint32_t pid = who.pid();
  do {
    for (const bool running : {false, true}) {
      size_t stopped = 0;
      for (const pid_t tid : threads_of(pid)) {
        const ThreadState state = state_of(pid, tid);
        if (state.running != running || (!running && !waits(state.system_call)) ||
            (running && ++stopped > kMaxRunning)) {
          continue;
        }
        if (stop()) {
          return Error{"injection was stopped before one of the process's threads reached a safe point", ""};
        }
        auto thread = TracedThread::stop(who, tid, stop);
        if (!thread && thread.error().message == kNoRight && !has_ended(pid, tid)) {
          return no_right(pid);
        }
        // Check the identity after the thread has stopped: the id of a stopped thread cannot be reused.
        RETURN_IF_ERROR(who.check(thread ? tid : 0));
        if (thread && is_safe(*thread, maps)) {
          return thread;
        }
      }
    }
    ::usleep(kBetweenRoundsUs);
  } while (monotonic_ns() < deadline && !who.has_ended());
  return Error{"none of the process's threads reached a safe point within 5 s", "try again"};
}

}  // namespace gpuprof::record
