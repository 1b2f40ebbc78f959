// Cases in which the program uses Level Zero correctly.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "app.h"

namespace gpuprof::mock {

[[gnu::noinline]] void assemble(ze_command_list_handle_t list, ze_kernel_handle_t kernel, ze_event_handle_t signal) {
  launch(list, kernel, signal);
}

[[gnu::noinline]] void solve(ze_command_list_handle_t list, ze_kernel_handle_t kernel, ze_event_handle_t signal) {
  launch(list, kernel, signal);
}

[[gnu::noinline]] void submit(ze_command_queue_handle_t queue, ze_command_list_handle_t list,
                              ze_fence_handle_t fence = nullptr) {
  CHECK_ZE(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence));
}

namespace {

void initialize() {
  CHECK_ZE(zeInit(0));
}

void work(uint32_t count) {
  Gpu gpu;
  ze_command_list_handle_t list = gpu.immediate();
  ze_kernel_handle_t light = gpu.kernel("light");
  ze_kernel_handle_t heavy = gpu.kernel("heavy");
  for (uint32_t i = 0; i < count; ++i) {
    assemble(list, light, nullptr);
    solve(list, heavy, nullptr);
  }
  drain(gpu, list);
  expect("assemble", "kernel", "light", count, count * kLightNs);
  expect("solve", "kernel", "heavy", count, count * kHeavyNs);
}

void immediate(uint32_t count) {
  initialize();
  work(count);
}

void synchronous(uint32_t count) {
  initialize();
  Gpu gpu;
  ze_command_list_handle_t list = gpu.immediate(0, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  ze_kernel_handle_t light = gpu.kernel("light");
  for (uint32_t i = 0; i < count; ++i) {
    assemble(list, light, nullptr);
  }
  expect("assemble", "kernel", "light", count, count * kLightNs);
}

// Checks the command time in the program's own event: recording must not change it.
void check_time(ze_event_handle_t event, uint64_t ns) {
  ze_kernel_timestamp_result_t times = {};
  CHECK_ZE(zeEventQueryKernelTimestamp(event, &times));
  constexpr uint64_t kRate = 19200000;
  const uint64_t cycles = (times.global.kernelEnd - times.global.kernelStart) & 0xFFFFFFFFU;
  if (cycles * 1000000000 / kRate != ns) {
    fprintf(stderr, "the program's own event says %llu cycles\n", static_cast<unsigned long long>(cycles));
    exit(1);
  }
}

void with_events(uint32_t count) {
  initialize();
  Gpu gpu;
  ze_command_list_handle_t list = gpu.immediate();
  ze_kernel_handle_t light = gpu.kernel("light");
  ze_kernel_handle_t heavy = gpu.kernel("heavy");
  ze_event_handle_t plain = gpu.event(gpu.pool(0, 1), 0);
  ze_event_handle_t timed = gpu.event(gpu.pool(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP, 1), 0);
  for (uint32_t i = 0; i < count; ++i) {
    assemble(list, light, plain);
    CHECK_ZE(zeEventHostSynchronize(plain, UINT64_MAX));
    CHECK_ZE(zeEventHostReset(plain));
    solve(list, heavy, timed);
    CHECK_ZE(zeEventHostSynchronize(timed, UINT64_MAX));
    check_time(timed, kHeavyNs);
    CHECK_ZE(zeEventHostReset(timed));
  }
  expect("assemble", "kernel", "light", count, count * kLightNs);
  expect("solve", "kernel", "heavy", count, count * kHeavyNs);
}

// Launches with events that the program never reads, and destroys them right after the work ends.
void with_unread_events(uint32_t count) {
  initialize();
  Gpu gpu;
  ze_command_list_handle_t list = gpu.immediate();
  ze_kernel_handle_t light = gpu.kernel("light");
  ze_event_pool_handle_t pool = gpu.pool(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP, count);
  std::vector<ze_event_handle_t> events;
  for (uint32_t i = 0; i < count; ++i) {
    events.push_back(gpu.event(pool, i));
    assemble(list, light, events.back());
  }
  drain(gpu, list);
  for (ze_event_handle_t event : events) {
    gpu.destroy_event(event);
  }
  expect("assemble", "kernel", "light", count, count * kLightNs);
}

ze_command_list_handle_t recorded_list(Gpu& gpu) {
  ze_command_list_handle_t list = gpu.list();
  assemble(list, gpu.kernel("light"), nullptr);
  solve(list, gpu.kernel("heavy"), nullptr);
  assemble(list, gpu.kernel("light"), nullptr);
  CHECK_ZE(zeCommandListClose(list));
  return list;
}

void regular(uint32_t count) {
  initialize();
  Gpu gpu;
  ze_command_list_handle_t list = recorded_list(gpu);
  ze_command_queue_handle_t queue = gpu.queue();
  for (uint32_t i = 0; i < count; ++i) {
    submit(queue, list);
  }
  CHECK_ZE(zeCommandQueueSynchronize(queue, UINT64_MAX));
  expect("assemble", "kernel", "light", 2 * uint64_t{count}, 2 * count * kLightNs);
  expect("solve", "kernel", "heavy", count, count * kHeavyNs);
}

// Executes a list that signals the program's events, waits by a fence, and resets the list before the next execution.
void regular_with_events(uint32_t count) {
  initialize();
  Gpu gpu;
  ze_command_list_handle_t list = gpu.list();
  ze_command_queue_handle_t queue = gpu.queue();
  ze_kernel_handle_t light = gpu.kernel("light");
  ze_kernel_handle_t heavy = gpu.kernel("heavy");
  ze_event_handle_t plain = gpu.event(gpu.pool(0, 1), 0);
  ze_event_handle_t timed = gpu.event(gpu.pool(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP, 1), 0);
  const ze_fence_desc_t description = {ZE_STRUCTURE_TYPE_FENCE_DESC};
  ze_fence_handle_t fence = nullptr;
  CHECK_ZE(zeFenceCreate(queue, &description, &fence));
  for (uint32_t i = 0; i < count; ++i) {
    assemble(list, light, plain);
    solve(list, heavy, timed);
    CHECK_ZE(zeCommandListClose(list));
    submit(queue, list, fence);
    CHECK_ZE(zeFenceHostSynchronize(fence, UINT64_MAX));
    CHECK_ZE(zeEventQueryStatus(plain));
    check_time(timed, kHeavyNs);
    CHECK_ZE(zeCommandQueueSynchronize(queue, UINT64_MAX));
    CHECK_ZE(zeFenceReset(fence));
    CHECK_ZE(zeEventHostReset(plain));
    CHECK_ZE(zeEventHostReset(timed));
    CHECK_ZE(zeCommandListReset(list));
  }
  CHECK_ZE(zeFenceDestroy(fence));
  expect("assemble", "kernel", "light", count, count * kLightNs);
  expect("solve", "kernel", "heavy", count, count * kHeavyNs);
}

[[gnu::noinline]] void move(ze_command_list_handle_t list, void* to, const void* from) {
  CHECK_ZE(zeCommandListAppendMemoryCopy(list, to, from, 1000, nullptr, 0, nullptr));
}

[[gnu::noinline]] void clear(ze_command_list_handle_t list, void* to) {
  const uint32_t pattern = 0;
  CHECK_ZE(zeCommandListAppendMemoryFill(list, to, &pattern, sizeof(pattern), 1000, nullptr, 0, nullptr));
}

void copies(uint32_t count) {
  initialize();
  Gpu gpu;
  Gpu other(1);
  ze_command_list_handle_t list = gpu.immediate();
  char heap[1000] = {};
  void* device = gpu.device_memory(1000);
  void* second = gpu.device_memory(1000);
  void* host = gpu.host_memory(1000);
  void* far = other.device_memory(1000);
  for (uint32_t i = 0; i < count; ++i) {
    move(list, device, heap);
    move(list, host, device);
    move(list, second, device);
    move(list, far, device);
    clear(list, device);
  }
  drain(gpu, list);
  for (const char* kind : {"copy_htod", "copy_dtoh", "copy_dtod", "copy_ptop"}) {
    expect("move", kind, "-", count, count * kCopyNs);
  }
  expect("clear", "fill", "-", count, count * kFillNs);
}

[[gnu::noinline]] void picture(ze_command_list_handle_t list, ze_image_handle_t to, ze_image_handle_t from,
                               void* memory) {
  CHECK_ZE(zeCommandListAppendImageCopy(list, to, from, nullptr, 0, nullptr));
  CHECK_ZE(zeCommandListAppendImageCopyToMemoryExt(list, memory, from, nullptr, 0, 0, nullptr, 0, nullptr));
  CHECK_ZE(zeCommandListAppendImageCopyFromMemoryExt(list, to, memory, nullptr, 0, 0, nullptr, 0, nullptr));
}

void images(uint32_t count) {
  initialize();
  Gpu gpu;
  ze_command_list_handle_t list = gpu.immediate();
  const ze_image_desc_t description = {ZE_STRUCTURE_TYPE_IMAGE_DESC};
  ze_image_handle_t both[2] = {};
  for (ze_image_handle_t& image : both) {
    CHECK_ZE(zeImageCreate(gpu.context, gpu.device, &description, &image));
  }
  char memory[64] = {};
  for (uint32_t i = 0; i < count; ++i) {
    picture(list, both[0], both[1], memory);
  }
  drain(gpu, list);
  for (ze_image_handle_t image : both) {
    CHECK_ZE(zeImageDestroy(image));
  }
  expect("picture", "copy", "-", 3 * uint64_t{count}, 3 * count * kCopyNs);
}

// Queues of this group cannot copy event times, so the library must read the times before a queue is destroyed.
void copy_queue(uint32_t count) {
  initialize();
  Gpu gpu;
  constexpr uint32_t kCopyOrdinal = 1;
  ze_command_list_handle_t list = gpu.list(kCopyOrdinal);
  void* device = gpu.device_memory(1000);
  void* host = gpu.host_memory(1000);
  move(list, device, host);
  move(list, device, host);
  CHECK_ZE(zeCommandListClose(list));
  for (uint32_t i = 0; i < count; ++i) {
    ze_command_queue_handle_t queue = gpu.queue(kCopyOrdinal);
    submit(queue, list);
    CHECK_ZE(zeCommandQueueSynchronize(queue, UINT64_MAX));
    gpu.destroy_queue(queue);
  }
  expect("move", "copy_htod", "-", 2 * uint64_t{count}, 2 * count * kCopyNs);
}

[[gnu::noinline]] void other_ways(ze_command_list_handle_t list, ze_kernel_handle_t kernel) {
  ze_group_count_t groups = {1, 1, 1};
  CHECK_ZE(zeCommandListAppendLaunchCooperativeKernel(list, kernel, &groups, nullptr, 0, nullptr));
  CHECK_ZE(zeCommandListAppendLaunchKernelIndirect(list, kernel, &groups, nullptr, 0, nullptr));
  ze_kernel_handle_t kernels[2] = {kernel, kernel};
  uint32_t two = 2;
  CHECK_ZE(zeCommandListAppendLaunchMultipleKernelsIndirect(list, 2, kernels, &two, &groups, nullptr, 0, nullptr));
}

void launches(uint32_t count) {
  initialize();
  Gpu gpu;
  ze_command_list_handle_t list = gpu.immediate();
  for (uint32_t i = 0; i < count; ++i) {
    other_ways(list, gpu.kernel("light"));
  }
  drain(gpu, list);
  expect("other_ways", "kernel", "light", 3 * uint64_t{count}, 4 * count * kLightNs);
}

void devices(uint32_t count) {
  initialize();
  Gpu first(0);
  Gpu part(1, 0);
  Gpu other_part(1, 1);
  for (Gpu* gpu : {&first, &part, &other_part}) {
    ze_command_list_handle_t list = gpu->immediate();
    for (uint32_t i = 0; i < count; ++i) {
      assemble(list, gpu->kernel("light"), nullptr);
    }
    drain(*gpu, list);
  }
  expect("assemble", "kernel", "light", 3 * uint64_t{count}, 3 * count * kLightNs);
}

void threads(uint32_t count) {
  initialize();
  constexpr uint32_t kThreads = 4;
  std::vector<std::thread> all;
  for (uint32_t i = 0; i < kThreads; ++i) {
    all.emplace_back([count] {
      Gpu gpu;
      ze_command_list_handle_t list = gpu.immediate();
      ze_kernel_handle_t light = gpu.kernel("light");
      for (uint32_t k = 0; k < count; ++k) {
        assemble(list, light, nullptr);
      }
      drain(gpu, list);
    });
  }
  for (std::thread& thread : all) {
    thread.join();
  }
  expect("assemble", "kernel", "light", kThreads * uint64_t{count}, kThreads * count * kLightNs);
}

void waits(uint32_t /*count*/) {
  initialize();
  Gpu gpu;
  ze_command_list_handle_t list = gpu.immediate();
  ze_kernel_handle_t slow = gpu.kernel("slow");
  ze_event_handle_t plain = gpu.event(gpu.pool(0, 1), 0);
  solve(list, slow, plain);
  if (zeEventHostSynchronize(plain, 0) != ZE_RESULT_NOT_READY) {
    exit(1);
  }
  CHECK_ZE(zeEventHostSynchronize(plain, UINT64_MAX));
  ze_command_list_handle_t later = gpu.list();
  ze_command_queue_handle_t queue = gpu.queue();
  solve(later, slow, nullptr);
  CHECK_ZE(zeCommandListClose(later));
  submit(queue, later);
  CHECK_ZE(zeCommandQueueSynchronize(queue, UINT64_MAX));
  expect("solve", "kernel", "slow", 2, 2 * kSlowNs);
}

// Opens the Level Zero loader at run time, like programs for which Level Zero is optional.
void by_handle(uint32_t count) {
  void* loader = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);
  const auto init = reinterpret_cast<decltype(&zeInit)>(dlsym(loader, "zeInit"));
  CHECK_ZE(init(0));
  work(count);
}

using WithParameters = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t, ze_kernel_handle_t, const ze_group_count_t*,
                                                const void*, ze_event_handle_t, uint32_t, ze_event_handle_t*);
struct GroupSize {
  uint32_t x, y, z;
};
using WithArguments = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t, ze_kernel_handle_t, ze_group_count_t,
                                               GroupSize, void**, const void*, ze_event_handle_t, uint32_t,
                                               ze_event_handle_t*);
using ListSynchronize = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t, uint64_t);
using AppendListsWithParameters = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t, uint32_t,
                                                           ze_command_list_handle_t*, const void*, ze_event_handle_t,
                                                           uint32_t, ze_event_handle_t*);
using AppendLists = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t, uint32_t, ze_command_list_handle_t*,
                                             ze_event_handle_t, uint32_t, ze_event_handle_t*);

template <typename Function>
Function find(const char* name) {
  const auto found = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  if (found == nullptr) {
    printf("the loader has no %s\n", name);
    exit(0);
  }
  return found;
}

// Calls functions that later versions of Level Zero added.
void newer(uint32_t count) {
  const auto with_parameters = find<WithParameters>("zeCommandListAppendLaunchKernelWithParameters");
  const auto with_arguments = find<WithArguments>("zeCommandListAppendLaunchKernelWithArguments");
  const auto synchronize = find<ListSynchronize>("zeCommandListHostSynchronize");
  const auto append_lists = find<AppendLists>("zeCommandListImmediateAppendCommandListsExp");
  const auto append_lists_too =
      find<AppendListsWithParameters>("zeCommandListImmediateAppendCommandListsWithParameters");
  initialize();
  Gpu gpu;
  ze_command_list_handle_t list = gpu.immediate();
  ze_command_list_handle_t recorded = recorded_list(gpu);
  ze_kernel_handle_t slow = gpu.kernel("slow");
  const ze_group_count_t groups = {1, 1, 1};
  for (uint32_t i = 0; i < count; ++i) {
    CHECK_ZE(append_lists(list, 1, &recorded, nullptr, 0, nullptr));
    CHECK_ZE(append_lists_too(list, 1, &recorded, nullptr, nullptr, 0, nullptr));
  }
  CHECK_ZE(with_parameters(list, slow, &groups, nullptr, nullptr, 0, nullptr));
  CHECK_ZE(with_arguments(list, slow, groups, {1, 1, 1}, nullptr, nullptr, nullptr, 0, nullptr));
  CHECK_ZE(synchronize(list, UINT64_MAX));
  expect("newer", "kernel", "slow", 2, 2 * kSlowNs);
  expect("newer", "kernel", "light", 4 * uint64_t{count}, 4 * count * kLightNs);
  expect("newer", "kernel", "heavy", 2 * uint64_t{count}, 2 * count * kHeavyNs);
}

void read_line() {
  for (int c = getchar(); c != '\n'; c = getchar()) {
    if (c == EOF) {
      exit(1);
    }
  }
}

// Waits for an input line before its work, and for another one before it ends.
void ready(uint32_t count) {
  initialize();
  puts("ready");
  read_line();
  work(count);
  while (getchar() != EOF) {
  }
}

// Creates all objects, reads a line, and launches. The recording ends before the program reads its second line.
void attached(uint32_t count) {
  initialize();
  Gpu gpu;
  ze_command_list_handle_t immediate = gpu.immediate();
  ze_command_list_handle_t filled = recorded_list(gpu);
  ze_command_list_handle_t list = gpu.list();
  ze_command_queue_handle_t queue = gpu.queue();
  ze_kernel_handle_t light = gpu.kernel("light");
  ze_kernel_handle_t heavy = gpu.kernel("heavy");
  ze_event_handle_t timed = gpu.event(gpu.pool(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP, 1), 0);
  ze_event_handle_t plain = gpu.event(gpu.pool(0, 1), 0);
  puts("ready");
  read_line();
  for (uint32_t i = 0; i < count; ++i) {
    assemble(immediate, light, plain);
    solve(immediate, heavy, timed);
    CHECK_ZE(zeEventHostSynchronize(timed, UINT64_MAX));
    CHECK_ZE(zeEventHostSynchronize(plain, UINT64_MAX));
    CHECK_ZE(zeEventHostReset(timed));
    CHECK_ZE(zeEventHostReset(plain));
    submit(queue, filled);
    CHECK_ZE(zeCommandQueueSynchronize(queue, UINT64_MAX));
    CHECK_ZE(zeCommandListReset(list));
    assemble(list, light, nullptr);
    CHECK_ZE(zeCommandListClose(list));
    submit(queue, list);
    CHECK_ZE(zeCommandQueueSynchronize(queue, UINT64_MAX));
  }
  expect("assemble", "kernel", "light", 2 * uint64_t{count}, 2 * count * kLightNs);
  expect("solve", "kernel", "heavy", count, count * kHeavyNs);
  puts("done");
  read_line();
  work(count);  // the recording has ended
}

// Measures what a launch costs the launching thread. The number of outstanding launches is bounded.
void cost(uint32_t count) {
  initialize();
  Gpu gpu;
  ze_command_list_handle_t list = gpu.immediate();
  ze_kernel_handle_t light = gpu.kernel("empty");
  ze_event_handle_t done = gpu.event(gpu.pool(0, 1), 0);
  uint64_t spent = 0;
  for (uint32_t i = 0; i < count; i += 100) {
    const auto begin = std::chrono::steady_clock::now();
    for (int k = 0; k < 100; ++k) {
      assemble(list, light, nullptr);
    }
    spent += static_cast<uint64_t>((std::chrono::steady_clock::now() - begin).count());
    CHECK_ZE(zeCommandListAppendBarrier(list, done, 0, nullptr));
    CHECK_ZE(zeEventHostSynchronize(done, UINT64_MAX));
    CHECK_ZE(zeEventHostReset(done));
  }
  printf("%.1f ns per launch\n", static_cast<double>(spent) / count);
}

void forked(uint32_t count) {
  const pid_t child = fork();
  immediate(count);
  if (child == 0) {
    exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) {
    exit(1);
  }
}

}  // namespace

const std::vector<Case> kWorkCases = {{"immediate", immediate},
                                      {"by_handle", by_handle},
                                      {"synchronous", synchronous},
                                      {"with_events", with_events},
                                      {"with_unread_events", with_unread_events},
                                      {"regular", regular},
                                      {"regular_with_events", regular_with_events},
                                      {"copies", copies},
                                      {"copy_queue", copy_queue},
                                      {"images", images},
                                      {"launches", launches},
                                      {"devices", devices},
                                      {"threads", threads},
                                      {"waits", waits},
                                      {"newer", newer},
                                      {"ready", ready},
                                      {"attached", attached},
                                      {"cost", cost},
                                      {"forked", forked}};

}  // namespace gpuprof::mock
