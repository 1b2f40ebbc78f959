// Waits in one way until it is ended. Fails if a wait was cut short or if its own state has changed:
//   mock_waiting_app sleep|poll|epoll|read|futex|sigsuspend|spin|signals
// Prints "ready" before it begins. `read` ends with a line on stdin, `sigsuspend` with SIGUSR1, the others after 3 s.
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

namespace {

constexpr int kSeconds = 3;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "mock_waiting_app: %s (errno %d, %s)\n", what, errno, std::strerror(errno));
  std::exit(1);
}

void wait_in_epoll() {
  const int fd = epoll_create1(0);
  epoll_event event = {};
  if (epoll_wait(fd, &event, 1, kSeconds * 1000) != 0) {
    fail("epoll_wait was cut short");
  }
}

void wait_for_thread() {
  std::thread other([] { std::this_thread::sleep_for(std::chrono::seconds(kSeconds)); });
  other.join();
}

void wait_for_signal() {
  sigset_t none;
  sigset_t blocked;
  sigemptyset(&none);
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigprocmask(SIG_BLOCK, &blocked, nullptr);
  static volatile std::sig_atomic_t seen = 0;
  std::signal(SIGUSR1, [](int) { seen = 1; });
  std::puts("ready");
  std::fflush(stdout);
  sigsuspend(&none);
  if (seen == 0) {
    fail("sigsuspend was cut short");
  }
  sigset_t now;
  sigprocmask(SIG_BLOCK, nullptr, &now);
  if (sigismember(&now, SIGUSR1) != 1 || sigismember(&now, SIGTERM) != 0) {
    fail("the signal mask has changed");
  }
}

// Waits without system calls, and uses many floating-point registers.
void spin() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(kSeconds);
  while (std::chrono::steady_clock::now() < end) {
    double lanes[16];
    for (int i = 0; i < 16; ++i) {
      lanes[i] = i + 0.5;
    }
    for (int turn = 0; turn < 1000000; ++turn) {
      for (double& lane : lanes) {
        lane = lane * 0.5 + 1.0;
      }
    }
    for (const double lane : lanes) {
      if (std::fabs(lane - 2.0) > 1e-9) {
        fail("a floating-point register has changed");
      }
    }
  }
}

void take_signals() {
  static volatile std::sig_atomic_t count = 0;
  std::signal(SIGALRM, [](int) { count = count + 1; });
  const itimerval every_millisecond = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &every_millisecond, nullptr);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(kSeconds);
  while (std::chrono::steady_clock::now() < end) {
    usleep(10000);
  }
  if (count < 100 * kSeconds) {  // on a busy machine some signals merge
    fail("signals were lost");
  }
}

void wait(std::string_view how) {
  timespec time = {kSeconds, 0};
  char line[16] = {};
  if (how == "sleep" && nanosleep(&time, nullptr) != 0) {
    fail("nanosleep was cut short");
  } else if (how == "poll" && poll(nullptr, 0, kSeconds * 1000) != 0) {
    fail("poll was cut short");
  } else if (how == "read" && read(0, line, sizeof(line)) != 3) {
    fail("read did not return what was written");
  } else if (how == "epoll") {
    wait_in_epoll();
  } else if (how == "futex") {
    wait_for_thread();
  } else if (how == "spin") {
    spin();
  } else if (how == "signals") {
    take_signals();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc == 2 ? argv[1] : "";
  if (how == "sigsuspend") {
    wait_for_signal();
    return 0;
  }
  std::puts("ready");
  std::fflush(stdout);
  const auto begin = std::chrono::steady_clock::now();
  wait(how);
  if (how != "read" && std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(kSeconds * 1000 - 10)) {
    fail("the time was cut short");
  }
  return 0;
}
