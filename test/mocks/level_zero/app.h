// A program that uses Level Zero as real programs do. Each case launches known work from known functions, and prints
// the work that the profile must show: "expected SITE KIND NAME COUNT NS".
#pragma once

#include <level_zero/ze_api.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gpuprof::mock {

constexpr uint64_t kLightNs = 10000;
constexpr uint64_t kHeavyNs = 40000;
constexpr uint64_t kSlowNs = 20000000;
constexpr uint64_t kCopyNs = 5000;
constexpr uint64_t kFillNs = 2500;

// Prints the failed call and ends the program, unless `result` is success.
void check(ze_result_t result, const char* what);
#define CHECK_ZE(call) ::gpuprof::mock::check(call, #call)

void expect(const char* site, const char* kind, const char* name, uint64_t count, uint64_t ns);

// Owns a device and the objects that a program makes on it. The destructor destroys them all.
class Gpu {
 public:
  // `part` is the index of a sub-device; -1 means the whole device. `driver` is the index of the driver.
  explicit Gpu(uint32_t device = 0, int part = -1, uint32_t driver = 0);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  ze_command_list_handle_t immediate(uint32_t ordinal = 0,
                                     ze_command_queue_mode_t mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  ze_command_list_handle_t list(uint32_t ordinal = 0);
  ze_command_queue_handle_t queue(uint32_t ordinal = 0);
  ze_event_pool_handle_t pool(ze_event_pool_flags_t flags, uint32_t count);
  ze_event_handle_t event(ze_event_pool_handle_t pool, uint32_t index);
  ze_kernel_handle_t kernel(const char* name);
  void* device_memory(size_t bytes);
  void* host_memory(size_t bytes);

  ze_driver_handle_t driver = nullptr;
  ze_device_handle_t device = nullptr;
  ze_context_handle_t context = nullptr;

  void destroy_queue(ze_command_queue_handle_t queue);
  void destroy_list(ze_command_list_handle_t list);
  void destroy_event(ze_event_handle_t event);

 private:
  ze_module_handle_t module_ = nullptr;
  std::vector<ze_command_list_handle_t> lists_;
  std::vector<ze_command_queue_handle_t> queues_;
  std::vector<ze_event_pool_handle_t> pools_;
  std::vector<ze_event_handle_t> events_;
  std::vector<ze_kernel_handle_t> kernels_;
  std::vector<void*> memory_;
};

// Appends a barrier to the list and waits for it.
void drain(Gpu& gpu, ze_command_list_handle_t list);

void launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel, ze_event_handle_t signal = nullptr);

struct Case {
  const char* name;
  void (*run)(uint32_t count);
};
extern const std::vector<Case> kWorkCases;
extern const std::vector<Case> kCodeCases;
extern const std::vector<Case> kStallCases;
extern const std::vector<Case> kHostileCases;
extern const std::vector<Case> kStressCases;

}  // namespace gpuprof::mock
