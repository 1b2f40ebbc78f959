/* C functions between Python and the launch, for cases that need a known C function or a C thread. */
#include <pthread.h>
#include <stddef.h>

typedef int (*Launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                      void**);

struct LaunchJob {
  Launch launch;
  int (*set_context)(void*);
  void* context;
  void* function;
  int result;
};

static void* launch_in_thread(void* argument) {
  struct LaunchJob* job = argument;
  job->result = job->set_context(job->context);
  if (job->result == 0) {
    job->result = job->launch(job->function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
  }
  return NULL;
}

static int run_in_thread(void* (*run)(void*), void* argument) {
  pthread_t thread;
  return pthread_create(&thread, NULL, run, argument) == 0 && pthread_join(thread, NULL) == 0 ? 0 : -1;
}

/* Launches from a thread that never runs Python. */
int helper_launch_elsewhere(Launch launch, int (*set_context)(void*), void* context, void* function) {
  struct LaunchJob job = {launch, set_context, context, function, -1};
  return run_in_thread(launch_in_thread, &job) == 0 ? job.result : -1;
}

struct WalkJob {
  int (*walk)(const char*, int);
  const char* name;
  int careful;
};

static void* walk_in_thread(void* argument) {
  struct WalkJob* job = argument;
  job->walk(job->name, job->careful);
  return NULL;
}

int helper_walk_elsewhere(int (*walk)(const char*, int), const char* name, int careful) {
  struct WalkJob job = {walk, name, careful};
  return run_in_thread(walk_in_thread, &job);
}

/* Calls back into Python, so that a C frame with this name is between two Python frames. */
int helper_call_back(int (*callback)(int), int value) {
  return callback(value + 1) + 1;
}

static void* call_back_in_thread(void* argument) {
  int (**callback)(int) = argument;
  (*callback)(1);
  return NULL;
}

/* Runs the Python callback in a thread that C created. */
int helper_call_back_elsewhere(int (*callback)(int)) {
  return run_in_thread(call_back_in_thread, &callback) == 0;
}
