/* Submits a known number of jobs of known durations to the fake GPU, from known functions, and prints the GPU's own
 * counts. usage: submitter [COMMAND...]     COMMAND is run first, as a child
 * environment:
 *   FAKE_GPU  device node of the fake GPU
 *   DIE       die of SIGKILL in the middle
 *   HANG      submit a job that takes an hour, and wait for it
 *   COST=N    print the median time of N submissions
 *   WARM_UP   a file; submit jobs until the file exists
 *   QUEUES=N  only create and count N exec queues
 *   AFTER     a file; create the exec queues and /tmp/ready, and submit jobs only once the file exists
 *   HANDOVER  a set-user-id copy of this program; once /tmp/go exists, submit one job and execute the copy, which makes
 *             /tmp/handed and ends once /tmp/over exists
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fake_gpu.h"

#define VM 5

static int gpu = -1;
static unsigned queues[FAKE_GPU_RINGS] = {1, 2};

/* Real programs have such a wrapper. ioctl() has no frame, so a walk by frame pointers misses its caller, which is
 * this function. */
__attribute__((noinline)) int gpu_ioctl(int gpu, unsigned long command, void* argument) {
  int result = ioctl(gpu, command, argument);
  __asm__ volatile("" ::: "memory");
  return result;
}

__attribute__((noinline)) void submit(unsigned ring, unsigned long long microseconds) {
  struct fake_gpu_submit job = {ring, 0, microseconds * 1000, queues[ring], 0, 0};
  if (gpu_ioctl(gpu, FAKE_GPU_SUBMIT, &job) != 0) {
    perror("submit");
    exit(1);
  }
}

static void submit_by_worker(int file) {
  struct fake_gpu_submit job = {1, 1, 1000000, queues[1], 0, 0};
  if (gpu_ioctl(file, FAKE_GPU_SUBMIT, &job) != 0) {
    perror("submit by a worker");
    exit(1);
  }
}

static int open_gpu(void) {
  int file = open(getenv("FAKE_GPU"), O_RDWR | O_CLOEXEC);
  if (file < 0) {
    perror(getenv("FAKE_GPU"));
    exit(1);
  }
  return file;
}

__attribute__((noinline)) void forward(int steps) {
  for (int i = 0; i < steps; ++i) {
    submit(0, 6000);
  }
  __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void backward(int steps) {
  for (int i = 0; i < steps; ++i) {
    submit(0, 12000);
    submit(1, 10000);
  }
  __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void train(void) {
  forward(30);
  backward(20);
  __asm__ volatile("" ::: "memory");
}

/* Drivers without exec queues return an error, and ignore the number. */
static void create_queues(void) {
  for (unsigned ring = 0; ring < FAKE_GPU_RINGS; ++ring) {
    struct fake_gpu_create_queue create = {VM, 0};
    if (gpu_ioctl(gpu, FAKE_GPU_CREATE_QUEUE, &create) == 0) {
      queues[ring] = create.queue;
    }
  }
}

/* Submits jobs until the file exists. The test creates it once a stack in the profile has this function: the
 * recorder then has the program's unwind tables. */
__attribute__((noinline)) void warm_up(const char* until) {
  for (int i = 0; access(until, F_OK) != 0; ++i) {
    submit(0, 100);
    usleep(50000);
    if (i == 2400) {
      fprintf(stderr, "%s did not appear\n", until);
      exit(1);
    }
  }
}

static void make(const char* file) {
  close(open(file, O_WRONLY | O_CREAT, 0600));
}

static void wait_for(const char* file) {
  while (access(file, F_OK) != 0) {
    usleep(50000);
  }
}

static int hand_over(const char* to) {
  wait_for("/tmp/go");
  submit(0, 1000);
  setenv("HANDED", "1", 1);
  execl(to, to, (char*)NULL);
  perror(to);
  return 1;
}

static int create_many(int count) {
  struct fake_gpu_create_queue create = {VM + 1, 0};
  while (count > 0 && gpu_ioctl(gpu, FAKE_GPU_CREATE_QUEUE, &create) == 0) {
    --count;
  }
  printf("%d queues are missing\n", count);
  return count != 0;
}

static int compare(const void* left, const void* right) {
  unsigned long long a = *(const unsigned long long*)left;
  unsigned long long b = *(const unsigned long long*)right;
  return (a > b) - (a < b);
}

static unsigned long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void print_cost(unsigned count) {
  unsigned long long* ns = calloc(count, sizeof(*ns));
  for (unsigned i = 0; i < count; ++i) {
    unsigned long long begin = now_ns();
    submit(0, 1);
    ns[i] = now_ns() - begin;
    gpu_ioctl(gpu, FAKE_GPU_WAIT, NULL);
  }
  qsort(ns, count, sizeof(*ns), compare);
  printf("COST %llu\n", ns[count / 2]);
  free(ns);
}

static void print_truth(void) {
  for (unsigned ring = 0; ring < FAKE_GPU_RINGS; ++ring) {
    struct fake_gpu_truth truth;
    memset(&truth, 0, sizeof(truth));
    truth.ring = ring;
    if (gpu_ioctl(gpu, FAKE_GPU_TRUTH, &truth) != 0) {
      perror("truth");
      exit(1);
    }
    printf("TRUTH %u %llu %llu\n", ring, (unsigned long long)truth.jobs, (unsigned long long)truth.busy_ns);
  }
}

int main(int argc, char** argv) {
  if (getenv("HANDED")) {
    make("/tmp/handed");
    wait_for("/tmp/over");
    return 0;
  }
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
  gpu = open_gpu();
  if (getenv("QUEUES")) {
    return create_many(atoi(getenv("QUEUES")));
  }
  create_queues();
  if (getenv("AFTER")) {
    make("/tmp/ready");
    wait_for(getenv("AFTER"));
  }
  if (getenv("HANDOVER")) {
    return hand_over(getenv("HANDOVER"));
  }
  if (getenv("DIE")) {
    for (int i = 0; i < 30; ++i) {
      submit(0, 100000);
    }
    raise(SIGKILL); /* the kernel waits one second for the jobs, then drops the others */
  }
  if (getenv("HANG")) {
    submit(0, 3600000000);
    gpu_ioctl(gpu, FAKE_GPU_WAIT, NULL);
  }
  if (getenv("WARM_UP")) {
    warm_up(getenv("WARM_UP"));
  }
  if (getenv("COST")) {
    print_cost(atoi(getenv("COST")));
    return 0;
  }
  train();
  int other = open_gpu(); /* only kernel threads queue jobs for this client */
  submit_by_worker(gpu);
  submit_by_worker(other);
  gpu_ioctl(gpu, FAKE_GPU_WAIT, NULL);
  print_truth();
  return 0;
}
