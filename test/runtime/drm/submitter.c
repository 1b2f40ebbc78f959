/*
 * Puts a known number of jobs of known durations on the fake GPU, from known places, and prints what the GPU says that
 * it has done. usage: submitter [COMMAND...]     which is run first, as a child
 * environment: FAKE_GPU, its device node; DIE: be killed in the middle
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_gpu.h"

static int gpu = -1;

/* The C library's ioctl() has no frame pointer, so its caller is not on the stack: as in programs, that is a wrapper.
 */
__attribute__((noinline)) int gpu_ioctl(unsigned long command, void* argument) {
  int result = ioctl(gpu, command, argument);
  __asm__ volatile("" ::: "memory");
  return result;
}

__attribute__((noinline)) void submit(unsigned ring, unsigned microseconds, unsigned by_worker) {
  struct fake_gpu_submit job = {ring, by_worker, microseconds * 1000ull};
  if (gpu_ioctl(FAKE_GPU_SUBMIT, &job) != 0) {
    perror("submit");
    exit(1);
  }
}

__attribute__((noinline)) void forward(int steps) {
  for (int i = 0; i < steps; ++i) {
    submit(0, 6000, 0);
  }
  __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void backward(int steps) {
  for (int i = 0; i < steps; ++i) {
    submit(0, 12000, 0);
    submit(1, 3000, 0);
  }
  __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void train(void) {
  forward(30);
  backward(20);
  __asm__ volatile("" ::: "memory");
}

static void print_truth(void) {
  for (unsigned ring = 0; ring < FAKE_GPU_RINGS; ++ring) {
    struct fake_gpu_truth truth;
    memset(&truth, 0, sizeof(truth));
    truth.ring = ring;
    if (gpu_ioctl(FAKE_GPU_TRUTH, &truth) != 0) {
      perror("truth");
      exit(1);
    }
    printf("TRUTH %u %llu %llu\n", ring, (unsigned long long)truth.jobs, (unsigned long long)truth.busy_ns);
  }
}

int main(int argc, char** argv) {
  if (argc > 1) {
    pid_t child = fork();
    if (child == 0) {
      execv(argv[1], argv + 1);
      _exit(127);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) {
      return 1;
    }
  }
  gpu = open(getenv("FAKE_GPU"), O_RDWR | O_CLOEXEC);
  if (gpu < 0) {
    perror(getenv("FAKE_GPU"));
    return 1;
  }
  if (getenv("DIE")) {
    for (int i = 0; i < 30; ++i) {
      submit(0, 100000, 0);
    }
    raise(SIGKILL); /* the kernel waits a second for the jobs, and drops the rest */
  }
  train();
  submit(1, 1000, 1);
  gpu_ioctl(FAKE_GPU_WAIT, NULL);
  print_truth();
  return 0;
}
