// Adds up how long the parts of a test program take.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>

inline std::map<std::string, long> spent;

inline long now_of(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// Returns how long this thread has waited for a processor.
inline long queued_ns() {
  long ran = 0;
  long queued = 0;
  std::FILE* file = std::fopen("/proc/thread-self/schedstat", "r");
  if (file == nullptr || std::fscanf(file, "%ld %ld", &ran, &queued) != 2) {
    std::fprintf(stderr, "/proc/thread-self/schedstat is not readable\n");
    std::exit(1);
  }
  std::fclose(file);
  return queued;
}

class Timed {
 public:
  explicit Timed(const char* what, clockid_t clock = CLOCK_MONOTONIC)
      : what_(what), clock_(clock), begin_(now_of(clock)) {}
  ~Timed() { spent[what_] += now_of(clock_) - begin_; }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  const char* what_;
  clockid_t clock_;
  long begin_;
};

// Adds up only the time in which the thread was blocked: it neither computed nor waited for a processor.
class TimedBlocked {
 public:
  explicit TimedBlocked(const char* what) : what_(what), begin_(now()) {}
  ~TimedBlocked() { spent[what_] += now() - begin_; }
  TimedBlocked(const TimedBlocked&) = delete;
  TimedBlocked& operator=(const TimedBlocked&) = delete;

 private:
  static long now() { return now_of(CLOCK_MONOTONIC) - now_of(CLOCK_THREAD_CPUTIME_ID) - queued_ns(); }
  const char* what_;
  long begin_;
};

inline void print_spent() {
  for (const auto& [what, ns] : spent) {
    std::printf("expect %s=%ld\n", what.c_str(), ns);
  }
}

// Computes until the time is over.
inline double compute_for(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  double value = 1;
  while (std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 1000; ++i) {
      value = value * 0.999 + 1;
    }
  }
  return value;
}
