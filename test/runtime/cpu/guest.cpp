// An OpenCL program that uses timers, signals, an alternate signal stack, signalfd and fork, and counts what it sees.
// With and without a profiler, it must print the same lines.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "setup.h"

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

void compute(milliseconds time) {
  const auto end = Clock::now() + time;
  volatile double value = 1;
  while (Clock::now() < end) {
    for (int i = 0; i < 1000; ++i) {
      value = value * 0.999 + 1;
    }
  }
}

// Calls that return EINTR whatever SA_RESTART says.
int count_interrupted_calls() {
  int interrupted = 0;
  int pipe_ends[2];
  check(pipe(pipe_ends) == 0 ? CL_SUCCESS : -1, "pipe");
  for (int i = 0; i < 150; ++i) {
    compute(milliseconds(4));
    pollfd wanted = {pipe_ends[0], POLLIN, 0};
    interrupted += poll(&wanted, 1, 2) < 0 && errno == EINTR ? 1 : 0;
    const timespec nap = {0, 2'000'000};
    interrupted += nanosleep(&nap, nullptr) != 0 && errno == EINTR ? 1 : 0;
  }
  return interrupted;
}

std::atomic<int> alarms = 0;
std::atomic<int> expirations = 0;
sigjmp_buf back;

void on_alarm(int) {
  ++alarms;
}
void on_timer(int) {
  ++expirations;
}
void on_fault(int) {
  siglongjmp(back, 1);
}

void handle(int signal, void (*handler)(int), int flags = 0) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(signal, &action, nullptr);
}

// Fires 20 times, of a timer of real time and of one of a thread's CPU time.
void use_timers() {
  handle(SIGALRM, on_alarm);
  const itimerval often = {{0, 10'000}, {0, 10'000}};
  setitimer(ITIMER_REAL, &often, nullptr);
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGRTMIN + 1;
  handle(SIGRTMIN + 1, on_timer);
  timer_t timer = nullptr;
  timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer);
  const itimerspec period = {{0, 10'000'000}, {0, 10'000'000}};
  timer_settime(timer, 0, &period, nullptr);
  while (alarms < 20 || expirations < 20) {
    compute(milliseconds(1));
  }
  const itimerval never = {};
  setitimer(ITIMER_REAL, &never, nullptr);
  timer_delete(timer);
}

int count_faults_on_alternate_stack() {
  static char stack[16384];
  stack_t alternate = {};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof(stack);
  sigaltstack(&alternate, nullptr);
  handle(SIGSEGV, on_fault, SA_ONSTACK);
  void* page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  static int faults = 0;
  while (faults < 20) {
    if (sigsetjmp(back, 1) == 0) {
      compute(milliseconds(5));
      *static_cast<volatile int*>(page) = 1;
    } else {
      ++faults;
    }
  }
  return faults;
}

// Computes while there is an alternate stack of 4096 bytes. Returns how many of the bytes below it have changed.
long count_bytes_below_alternate_stack() {
  constexpr size_t kBelow = 65536;
  constexpr size_t kStack = 4096;
  constexpr char kUntouched = 0x5a;
  static char memory[kBelow + kStack];
  std::memset(memory, kUntouched, sizeof(memory));
  stack_t alternate = {};
  alternate.ss_sp = memory + kBelow;
  alternate.ss_size = kStack;
  check(sigaltstack(&alternate, nullptr) == 0 ? CL_SUCCESS : -1, "sigaltstack");
  compute(milliseconds(300));
  alternate.ss_flags = SS_DISABLE;
  sigaltstack(&alternate, nullptr);
  return static_cast<long>(kBelow) - std::count(memory, memory + kBelow, kUntouched);
}

// Blocks all signals in a thread that computes, and reads all signals from a descriptor.
void read_all_signals(int* own, int* foreign) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  const int signals = signalfd(-1, &all, SFD_NONBLOCK);
  std::this_thread::sleep_for(milliseconds(1200));  // a profiler may look at the mask once a second
  for (int i = 0; i < 20; ++i) {
    pthread_kill(pthread_self(), SIGUSR1);
    compute(milliseconds(15));
    signalfd_siginfo info = {};
    while (read(signals, &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
      ++*(info.ssi_signo == SIGUSR1 ? own : foreign);
    }
  }
  close(signals);
}

// Allocates in threads that never launch: a signal may come at any instruction of the allocator.
void use_memory() {
  for (int round = 0; round < 10; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([] {
        const auto end = Clock::now() + milliseconds(100);
        while (Clock::now() < end) {
          std::vector<std::string> texts(1000, std::string(200, 'x'));
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
}

// Runs so many threads at once, and then does not end by itself.
void run_many_threads(int count) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([] { std::this_thread::sleep_for(std::chrono::hours(1)); });
  }
  std::this_thread::sleep_for(milliseconds(1500));
  raise(SIGKILL);
}

int count_good_children() {
  int good = 0;
  for (int i = 0; i < 6; ++i) {
    const pid_t child = fork();
    if (child == 0 && i % 2 == 0) {
      compute(milliseconds(50));
      _exit(3);
    } else if (child == 0) {
      execl("/bin/sh", "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; exit 3", nullptr);
      _exit(1);
    }
    int status = 0;
    good += waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3 ? 1 : 0;
  }
  return good;
}

// Gives SIGURG and each real-time signal a handler, as a program may that uses them all. Returns how often the handlers
// ran, at most once for a signal that was on its way.
std::atomic<int> foreign_signals = 0;

void on_foreign(int) {
  ++foreign_signals;
}

int take_all_signals() {
  handle(SIGURG, on_foreign, SA_RESTART);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) {
    handle(signal, on_foreign, SA_RESTART);
  }
  compute(milliseconds(300));  // a profiler needs some time to notice
  foreign_signals = 0;
  compute(milliseconds(500));
  return foreign_signals;
}

// Takes SIGURG while it is sampled, and gets it for urgent data of a socket. Returns how often its handler ran for five
// such signals.
int count_signals_of_urgent_data() {
  compute(milliseconds(300));
  handle(SIGURG, on_foreign, SA_RESTART);
  compute(milliseconds(300));  // a profiler needs some time to notice
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  bool good = bind(listener, reinterpret_cast<sockaddr*>(&address), length) == 0 && listen(listener, 1) == 0 &&
              getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  const int sender = socket(AF_INET, SOCK_STREAM, 0);
  good = good && connect(sender, reinterpret_cast<sockaddr*>(&address), length) == 0;
  const int receiver = accept(listener, nullptr, nullptr);
  check(good && receiver >= 0 && fcntl(receiver, F_SETOWN, getpid()) == 0 ? CL_SUCCESS : -1, "socket");
  foreign_signals = 0;
  for (int i = 0; i < 5; ++i) {
    send(sender, "!", 1, MSG_OOB);
    compute(milliseconds(60));
  }
  compute(milliseconds(300));
  return foreign_signals;
}

void reset_all_signals() {
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    std::signal(signal, SIG_DFL);
  }
  compute(milliseconds(500));
}

// Returns how often the thread with this name has slept, or 0 if no thread has this name.
long count_sleeps(const std::string& name) {
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(thread.path() / "status");
    std::string word;
    bool found = false;
    while (status >> word) {
      long sleeps = 0;
      found = found || word == name;
      if (found && word == "voluntary_ctxt_switches:" && status >> sleeps) {
        return sleeps;
      }
    }
  }
  return 0;
}

// Counts the signals with a handler. A profiler may use SIGURG, which is ignored by default.
int count_handlers() {
  int handlers = 0;
  for (int signal = 1; signal < SIGRTMIN; ++signal) {
    struct sigaction action = {};
    handlers += signal != SIGURG && sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_DFL ? 1 : 0;
  }
  return handlers;
}

}  // namespace

// --reset: only resets all signals. --urgent: only uses SIGURG. --sleeps: counts how often the profiler's thread
// sleeps.
int main(int argc, char** argv) {
  const std::string only = argc > 1 ? argv[1] : "";
  if (only == "--urgent") {
    handle(SIGURG, on_foreign, SA_RESTART);
  }
  const Session session = open_session("kernel void empty() {}");
  cl_kernel kernel = make_kernel(session, "empty");
  const size_t items = 1;
  check(clEnqueueNDRangeKernel(session.queue, kernel, 1, nullptr, &items, &items, 0, nullptr, nullptr), "enqueue");
  check(clFinish(session.queue), "clFinish");
  if (only == "--reset") {
    reset_all_signals();
    std::printf("alive\n");
    return 0;
  }
  if (only == "--urgent") {
    compute(milliseconds(500));
    std::raise(SIGURG);
    std::printf("urgent signals %d\n", foreign_signals.load());
    return 0;
  }
  if (only == "--urgent-data") {
    std::printf("urgent signals %d\n", count_signals_of_urgent_data());
    return 0;
  }
  if (only == "--threads") {
    run_many_threads(argc > 2 ? std::atoi(argv[2]) : 0);
    return 0;
  }
  if (only == "--sleeps") {
    compute(milliseconds(500));
    const long before = count_sleeps("gpuprof-cpu");
    compute(milliseconds(2000));
    std::printf("sleeps %ld %ld\n", before, count_sleeps("gpuprof-cpu") - before);
    return 0;
  }
  std::printf("handlers %d\n", count_handlers());
  std::printf("interrupted calls %d\n", count_interrupted_calls());
  use_timers();
  std::printf("timers fired\n");
  std::printf("faults %d\n", count_faults_on_alternate_stack());
  std::printf("bytes below the alternate stack %ld\n", count_bytes_below_alternate_stack());
  int own = 0;
  int foreign = 0;
  std::thread reader(read_all_signals, &own, &foreign);
  reader.join();
  std::printf("signals %d, foreign %d\n", own, foreign);
  use_memory();
  std::printf("allocated\n");
  std::printf("children %d\n", count_good_children());
  std::printf("foreign signals %d\n", take_all_signals());
  check(clReleaseKernel(kernel), "clReleaseKernel");
  close_session(session);
  return 0;
}
