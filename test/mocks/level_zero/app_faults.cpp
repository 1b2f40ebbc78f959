// Cases in which the program is hard to record.
#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "app.h"

namespace gpuprof::mock {
namespace {

[[gnu::noinline]] void careless(ze_command_list_handle_t list, ze_kernel_handle_t kernel, ze_event_handle_t signal) {
  launch(list, kernel, signal);
}

void destroy_running(uint32_t /*count*/) {
  CHECK_ZE(zeInit(0));
  Gpu gpu;
  ze_kernel_handle_t slow = gpu.kernel("slow");
  ze_command_list_handle_t list = gpu.list();
  ze_command_queue_handle_t queue = gpu.queue();
  careless(list, slow, nullptr);
  CHECK_ZE(zeCommandListClose(list));
  CHECK_ZE(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
  gpu.destroy_list(list);
  ze_command_list_handle_t immediate = gpu.immediate();
  careless(immediate, slow, nullptr);
  gpu.destroy_list(immediate);
  CHECK_ZE(zeCommandQueueSynchronize(queue, UINT64_MAX));
  usleep(500000);
  expect("careless", "kernel", "slow", 2, 2 * kSlowNs);
}

// Signals an event with a second command before the first command's time can be read. The program itself reads no time.
void reuse_event(uint32_t count) {
  CHECK_ZE(zeInit(0));
  Gpu gpu;
  ze_command_list_handle_t list = gpu.immediate();
  ze_kernel_handle_t slow = gpu.kernel("slow");
  ze_event_handle_t timed = gpu.event(gpu.pool(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP, 1), 0);
  for (uint32_t i = 0; i < count; ++i) {
    careless(list, slow, timed);
  }
  CHECK_ZE(zeEventHostSynchronize(timed, UINT64_MAX));
  expect("careless", "kernel", "slow", 1, kSlowNs);
}

void refused(uint32_t count) {
  CHECK_ZE(zeInit(0));
  Gpu gpu;
  ze_command_list_handle_t list = gpu.immediate();
  ze_kernel_handle_t light = gpu.kernel("light");
  const ze_group_count_t groups = {1, 1, 1};
  for (uint32_t i = 0; i < count; ++i) {
    if (zeCommandListAppendLaunchKernel(list, light, &groups, nullptr, 0, nullptr) == ZE_RESULT_SUCCESS) {
      exit(1);
    }
  }
}

void leave_running(uint32_t /*count*/) {
  CHECK_ZE(zeInit(0));
  auto* gpu = new Gpu;  // never destroyed
  careless(gpu->immediate(), gpu->kernel("slow"), nullptr);
  expect("careless", "kernel", "slow", 1, kSlowNs);
}

// The child of a process that uses Level Zero goes on to use it without initializing it again.
void fork_late(uint32_t count) {
  CHECK_ZE(zeInit(0));
  Gpu gpu;
  ze_command_list_handle_t list = gpu.immediate();
  ze_kernel_handle_t light = gpu.kernel("light");
  careless(list, light, nullptr);
  const pid_t child = fork();
  if (child == 0) {
    for (uint32_t i = 0; i < count; ++i) {
      careless(list, light, nullptr);
    }
    _exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) {
    exit(1);
  }
  drain(gpu, list);
  expect("careless", "kernel", "light", 1, kLightNs);
}

// Destroys only the context. Objects that are made next may have the same handles.
void leave_behind(uint32_t count) {
  CHECK_ZE(zeInit(0));
  for (uint32_t i = 0; i < count; ++i) {
    auto* gpu = new Gpu;
    ze_kernel_handle_t light = gpu->kernel("light");
    ze_event_handle_t timed = gpu->event(gpu->pool(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP, 1), 0);
    ze_command_list_handle_t immediate = gpu->immediate();
    careless(immediate, light, timed);
    careless(immediate, light, nullptr);
    ze_command_list_handle_t list = gpu->list();
    careless(list, light, nullptr);
    CHECK_ZE(zeCommandListClose(list));
    ze_command_queue_handle_t queue = gpu->queue();
    CHECK_ZE(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
    CHECK_ZE(zeCommandQueueSynchronize(queue, UINT64_MAX));
    drain(*gpu, immediate);
    CHECK_ZE(zeContextDestroy(gpu->context));
  }
  expect("careless", "kernel", "light", 3 * uint64_t{count}, 3 * count * kLightNs);
}

// Puts the list twice into one submission: its events hold only the times of the second execution.
void twice(uint32_t count) {
  CHECK_ZE(zeInit(0));
  Gpu gpu;
  ze_command_list_handle_t list = gpu.list();
  ze_command_queue_handle_t queue = gpu.queue();
  careless(list, gpu.kernel("light"), nullptr);
  CHECK_ZE(zeCommandListClose(list));
  ze_command_list_handle_t lists[] = {list, list};
  for (uint32_t i = 0; i < count; ++i) {
    CHECK_ZE(zeCommandQueueExecuteCommandLists(queue, 2, lists, nullptr));
  }
  CHECK_ZE(zeCommandQueueSynchronize(queue, UINT64_MAX));
  expect("careless", "kernel", "light", count, count * kLightNs);
}

// Resets an event that a running list signals, so the time in the event is lost.
void reset_meanwhile(uint32_t /*count*/) {
  CHECK_ZE(zeInit(0));
  Gpu gpu;
  ze_command_list_handle_t list = gpu.list();
  ze_command_queue_handle_t queue = gpu.queue();
  ze_event_handle_t timed = gpu.event(gpu.pool(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP, 1), 0);
  careless(list, gpu.kernel("light"), timed);
  careless(list, gpu.kernel("slow"), nullptr);
  CHECK_ZE(zeCommandListClose(list));
  CHECK_ZE(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
  CHECK_ZE(zeEventHostSynchronize(timed, UINT64_MAX));
  CHECK_ZE(zeEventHostReset(timed));
  CHECK_ZE(zeCommandQueueSynchronize(queue, UINT64_MAX));
  expect("careless", "kernel", "slow", 1, kSlowNs);
}

// Clones a command list. The clone signals the original's events, so the times of both lists are unknown after this.
void cloned(uint32_t /*count*/) {
  using Clone = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t, ze_command_list_handle_t*);
  const auto clone_list = reinterpret_cast<Clone>(dlsym(RTLD_DEFAULT, "zeCommandListCreateCloneExp"));
  CHECK_ZE(zeInit(0));
  Gpu gpu;
  ze_command_list_handle_t list = gpu.list();
  ze_command_queue_handle_t queue = gpu.queue();
  careless(list, gpu.kernel("light"), nullptr);
  CHECK_ZE(zeCommandListClose(list));
  CHECK_ZE(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
  ze_command_list_handle_t clone = nullptr;
  if (clone_list == nullptr || clone_list(list, &clone) != ZE_RESULT_SUCCESS) {
    puts("the loader cannot clone lists");
    CHECK_ZE(zeCommandQueueSynchronize(queue, UINT64_MAX));
    return;
  }
  ze_command_list_handle_t both[] = {clone, list};
  CHECK_ZE(zeCommandQueueExecuteCommandLists(queue, 2, both, nullptr));
  CHECK_ZE(zeCommandQueueSynchronize(queue, UINT64_MAX));
  CHECK_ZE(zeCommandListDestroy(clone));
  expect("careless", "kernel", "light", 1, kLightNs);
}

// Makes a number of launches and executions, and prints what they cost the process.
void measured(uint32_t count) {
  CHECK_ZE(zeInit(0));
  Gpu gpu;
  ze_command_list_handle_t immediate = gpu.immediate();
  ze_kernel_handle_t empty = gpu.kernel("empty");
  ze_command_list_handle_t list = gpu.list();
  ze_command_queue_handle_t queue = gpu.queue();
  careless(list, empty, nullptr);
  CHECK_ZE(zeCommandListClose(list));
  for (uint32_t i = 0; i < count; ++i) {
    careless(immediate, empty, nullptr);
    CHECK_ZE(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
    if (i % 16 == 0) {
      zeCommandQueueSynchronize(queue, UINT64_MAX);
    }
  }
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  printf("peak %ld KiB\n", usage.ru_maxrss);
  expect("careless", "kernel", "empty", 2 * uint64_t{count}, 0);
  exit(0);  // not _exit(), which leaves the last commands uncounted
}

// Submits more work than the injection library can follow, to a device that finishes nothing.
void hung(uint32_t count) {
  CHECK_ZE(zeInit(0));
  auto* gpu = new Gpu;
  ze_command_list_handle_t immediate = gpu->immediate();
  ze_kernel_handle_t light = gpu->kernel("light");
  ze_command_list_handle_t list = gpu->list();
  ze_command_queue_handle_t queue = gpu->queue();
  careless(list, light, nullptr);
  CHECK_ZE(zeCommandListClose(list));
  for (uint32_t i = 0; i < count; ++i) {
    careless(immediate, light, nullptr);
    if (i % 10 == 0) {
      CHECK_ZE(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
    }
  }
}

// Ends the process by `end`, not by exit(). The library has read the times of all work but the last launches.
void end_by(void (*end)()) {
  CHECK_ZE(zeInit(0));
  auto* gpu = new Gpu;
  ze_command_list_handle_t list = gpu->immediate();
  ze_kernel_handle_t light = gpu->kernel("light");
  for (int i = 0; i < 100; ++i) {
    careless(list, light, nullptr);
  }
  drain(*gpu, list);
  sleep(2);  // longer than the interval between two polls for finished work
  for (int i = 0; i < 10; ++i) {
    careless(list, light, nullptr);
  }
  end();
}

void end_at_once(uint32_t /*count*/) {
  end_by([] { _exit(0); });
}

void end_by_abort(uint32_t /*count*/) {
  end_by([] { abort(); });
}

void end_by_kill(uint32_t /*count*/) {
  end_by([] { raise(SIGKILL); });
}

}  // namespace

const std::vector<Case> kHostileCases = {{"destroy_running", destroy_running},
                                         {"reuse_event", reuse_event},
                                         {"refused", refused},
                                         {"leave_running", leave_running},
                                         {"leave_behind", leave_behind},
                                         {"twice", twice},
                                         {"cloned", cloned},
                                         {"reset_meanwhile", reset_meanwhile},
                                         {"measured", measured},
                                         {"hung", hung},
                                         {"end_at_once", end_at_once},
                                         {"end_by_abort", end_by_abort},
                                         {"end_by_kill", end_by_kill},
                                         {"fork_late", fork_late}};

}  // namespace gpuprof::mock
