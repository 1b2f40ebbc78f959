// The part of libnvidia-ml that gpuprof uses: two devices, with the UUIDs of mock_cuda. MOCK_NVML: with "1500 1700" the
// first device's clock alternates between these MHz, with "hang" a sample never returns, with "refuse" access is
// denied. The mock aborts if a function is called before nvmlInit_v2 or after nvmlShutdown.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Device {
  unsigned index;
};
Device devices[2] = {{0}, {1}};
std::atomic<bool> is_open{false};
std::atomic<unsigned> samples{0};

const char* plan() {
  const char* text = std::getenv("MOCK_NVML");
  return text == nullptr ? "1500" : text;
}

void expect_open(const char* function) {
  if (!is_open) {
    std::fprintf(stderr, "mock_nvml: %s while NVML is not open\n", function);
    std::abort();
  }
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  if (std::strcmp(plan(), "refuse") == 0) {
    return 9;  // NVML_ERROR_DRIVER_NOT_LOADED
  }
  is_open = true;
  return 0;
}

int nvmlShutdown() {
  expect_open("nvmlShutdown");
  is_open = false;
  return 0;
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  expect_open("nvmlDeviceGetCount_v2");
  *count = 2;
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device** device) {
  expect_open("nvmlDeviceGetHandleByIndex_v2");
  *device = &devices[index];
  return index < 2 ? 0 : 2;
}

int nvmlDeviceGetUUID(Device* device, char* uuid, unsigned length) {
  expect_open("nvmlDeviceGetUUID");
  std::snprintf(uuid, length, "GPU-00010203-0405-0607-0809-0a0b0c0d0e%02x", 0xF0U + device->index);
  return 0;
}

struct Utilization {
  unsigned gpu;
  unsigned memory;
};

int nvmlDeviceGetUtilizationRates(Device* device, Utilization* used) {
  expect_open("nvmlDeviceGetUtilizationRates");
  *used = {device->index == 0 ? 40U : 0U, 0};
  return 0;
}

int nvmlDeviceGetClockInfo(Device* device, int type, unsigned* mhz) {
  expect_open("nvmlDeviceGetClockInfo");
  if (type != 1 || device->index != 0) {
    return 2;  // NVML_ERROR_INVALID_ARGUMENT: the query is for another clock, or for an idle device
  }
  while (std::strcmp(plan(), "hang") == 0) {
    ::pause();
  }
  unsigned clocks[2] = {0, 0};
  const int known = std::sscanf(plan(), "%u %u", &clocks[0], &clocks[1]);
  *mhz = clocks[known == 2 ? samples++ % 2 : 0];
  return 0;
}
}
