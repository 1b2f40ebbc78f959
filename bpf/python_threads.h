/* Finds the PyThreadState of the current thread without the process's help. Searches the main interpreter's list of
 * threads for the value of pthread_self(), which follows from the thread pointer. Another thread may hold the GIL and
 * change the list during the search. So the values read are only compared, and every read may fail. Include after
 * mappings.h and <bpf/bpf_core_read.h>. */
#ifndef GPUPROF_PYTHON_THREADS_H
#define GPUPROF_PYTHON_THREADS_H

#include "mappings.h"

#define MAX_PYTHON_THREADS 512 /* The search ends after this many threads. It begins with the newest. */

struct thread_search {
  __u64 state;
  __u64 wanted;
  __u32 next;
  __u32 ident;
  __u64 failed; /* 1: memory could not be read, so the thread may be in the list */
};

static long compare_thread(__u32 index, struct thread_search* search) {
  __u64 ident = 0;
  __u64 next = 0;
  if (search->state == 0) {
    return 1;
  }
  if (read_user(&ident, sizeof(ident), search->state + search->ident) != 0) {
    search->state = 0;
    search->failed = 1;
    return 1;
  }
  if (GPUPROF_IS_PTHREAD(ident, search->wanted)) {
    return 1;
  }
  if (read_user(&next, sizeof(next), search->state + search->next) != 0) {
    next = 0;
    search->failed = 1;
  }
  search->state = next;
  return 0;
}

/* Returns the address of the newest PyThreadState, which begins the list; 0: unknown. */
static __always_inline __u64 newest_thread(const struct gpuprof_python_threads* threads) {
  __u64 interpreter = 0;
  __u64 state = 0;
  if (threads->interpreter == 0 || read_user(&interpreter, sizeof(interpreter), threads->interpreter) != 0 ||
      interpreter == 0 || read_user(&state, sizeof(state), interpreter + threads->first) != 0) {
    return 0;
  }
  return state;
}

/* Returns the address of the thread's PyThreadState; 0: not found. Sets `failed` if memory could not be read. */
static __always_inline __u64 find_thread(const struct gpuprof_bpf_process* process, __u64* failed) {
  const struct gpuprof_python_threads* threads = &process->python_threads;
  struct thread_search search = {newest_thread(threads), GPUPROF_THREAD_POINTER(bpf_get_current_task_btf()),
                                 threads->next, threads->ident, 0};
  *failed = search.state == 0;
  if (search.state == 0 || search.wanted == 0) {
    return 0;
  }
  long turns = bpf_loop(MAX_PYTHON_THREADS, compare_thread, &search, 0);
  *failed = search.failed;
  return turns == MAX_PYTHON_THREADS ? 0 : search.state;
}

#endif
