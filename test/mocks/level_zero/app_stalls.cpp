// Runs kernels that are sampled, and prints who launched each and on which device.
#include <unistd.h>

#include "app.h"

namespace gpuprof::mock {

[[gnu::noinline]] void relax(ze_command_list_handle_t list, ze_kernel_handle_t kernel) {
  launch(list, kernel);
}

[[gnu::noinline]] void smooth(ze_command_list_handle_t list, ze_kernel_handle_t kernel) {
  launch(list, kernel);
}

namespace {

void stalls(uint32_t count) {
  CHECK_ZE(zeInit(0));
  Gpu gpu;
  ze_command_list_handle_t list = gpu.immediate();
  ze_kernel_handle_t light = gpu.kernel("light");
  ze_kernel_handle_t heavy = gpu.kernel("heavy");
  for (uint32_t i = 0; i < count; ++i) {
    relax(list, light);
    smooth(list, heavy);
  }
  drain(gpu, list);
}

// Launches one kernel from two call paths. The first path has a quarter of the kernel's time, the second has the rest.
void stalls_shared(uint32_t count) {
  CHECK_ZE(zeInit(0));
  Gpu gpu;
  ze_command_list_handle_t list = gpu.immediate();
  ze_kernel_handle_t light = gpu.kernel("light");
  for (uint32_t i = 0; i < count; ++i) {
    relax(list, light);
    for (int k = 0; k < 3; ++k) {
      smooth(list, light);
    }
  }
  drain(gpu, list);
}

// Uses two devices whose kernels lie at the same addresses but differ.
void stalls_devices(uint32_t count) {
  CHECK_ZE(zeInit(0));
  Gpu one(0);
  Gpu whole(1);
  Gpu part(1, 1);
  ze_command_list_handle_t lists[] = {one.immediate(), whole.immediate(), part.immediate()};
  ze_kernel_handle_t kernels[] = {one.kernel("light"), whole.kernel("heavy"), part.kernel("light")};
  for (uint32_t i = 0; i < count; ++i) {
    relax(lists[0], kernels[0]);
    smooth(lists[1], kernels[1]);
    smooth(lists[2], kernels[2]);
  }
  drain(one, lists[0]);
  drain(whole, lists[1]);
  drain(part, lists[2]);
}

void with_pauses(uint32_t count, useconds_t pause) {
  CHECK_ZE(zeInit(0));
  Gpu gpu;
  ze_command_list_handle_t list = gpu.immediate();
  ze_kernel_handle_t light = gpu.kernel("light");
  for (uint32_t i = 0; i < count; ++i) {
    relax(list, light);
    usleep(pause);
  }
  drain(gpu, list);
}

// Pauses long enough that the samples are read several times.
void stalls_slowly(uint32_t count) {
  with_pauses(count, 120000);
}

// Pauses briefly, so that each read returns some samples.
void stalls_steadily(uint32_t count) {
  with_pauses(count, 2000);
}

}  // namespace

const std::vector<Case> kStallCases = {{"stalls", stalls},
                                       {"stalls_shared", stalls_shared},
                                       {"stalls_devices", stalls_devices},
                                       {"stalls_slowly", stalls_slowly},
                                       {"stalls_steadily", stalls_steadily}};

}  // namespace gpuprof::mock
