// What programs do that makes it hard for who records them.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "app.h"

namespace gpuprof::mock {
namespace {

[[gnu::noinline]] void careless(ze_command_list_handle_t list, ze_kernel_handle_t kernel, ze_event_handle_t signal) {
  launch(list, kernel, signal);
}

// The list goes while it runs, and so does an immediate one with work in it.
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

// Another command signals the event, before anybody could have read what it timed; the program does not care.
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
  auto* gpu = new Gpu;  // and never destroyed
  careless(gpu->immediate(), gpu->kernel("slow"), nullptr);
  expect("careless", "kernel", "slow", 1, kSlowNs);
}

// A child of a process that uses Level Zero, which uses it on without asking for it anew.
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

}  // namespace

const std::vector<Case> kHostileCases = {{"destroy_running", destroy_running},
                                         {"reuse_event", reuse_event},
                                         {"refused", refused},
                                         {"leave_running", leave_running},
                                         {"fork_late", fork_late}};

}  // namespace gpuprof::mock
