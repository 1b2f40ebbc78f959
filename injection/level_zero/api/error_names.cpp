#include "level_zero/api/error_names.h"

#include <array>
#include <cstdint>

namespace gpuprof::injection::level_zero {
namespace {

// Index: code - ZE_RESULT_ERROR_DEVICE_LOST.
constexpr std::array kDeviceErrors = {"ZE_RESULT_ERROR_DEVICE_LOST",
                                      "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY",
                                      "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY",
                                      "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE",
                                      "ZE_RESULT_ERROR_MODULE_LINK_FAILURE",
                                      "ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET",
                                      "ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE"};

// Index: code - ZE_RESULT_ERROR_UNINITIALIZED.
constexpr std::array kArgumentErrors = {"ZE_RESULT_ERROR_UNINITIALIZED",
                                        "ZE_RESULT_ERROR_UNSUPPORTED_VERSION",
                                        "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE",
                                        "ZE_RESULT_ERROR_INVALID_ARGUMENT",
                                        "ZE_RESULT_ERROR_INVALID_NULL_HANDLE",
                                        "ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE",
                                        "ZE_RESULT_ERROR_INVALID_NULL_POINTER",
                                        "ZE_RESULT_ERROR_INVALID_SIZE",
                                        "ZE_RESULT_ERROR_UNSUPPORTED_SIZE",
                                        "ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT",
                                        "ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT",
                                        "ZE_RESULT_ERROR_INVALID_ENUMERATION",
                                        "ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION",
                                        "ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT",
                                        "ZE_RESULT_ERROR_INVALID_NATIVE_BINARY",
                                        "ZE_RESULT_ERROR_INVALID_GLOBAL_NAME",
                                        "ZE_RESULT_ERROR_INVALID_KERNEL_NAME",
                                        "ZE_RESULT_ERROR_INVALID_FUNCTION_NAME",
                                        "ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION",
                                        "ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION",
                                        "ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX",
                                        "ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE",
                                        "ZE_RESULT_ERROR_INVALID_KERNEL_ATTRIBUTE_VALUE",
                                        "ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED",
                                        "ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE",
                                        "ZE_RESULT_ERROR_OVERLAPPING_REGIONS"};
static_assert(ZE_RESULT_ERROR_DEVICE_LOST + kDeviceErrors.size() - 1 == ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE);
static_assert(ZE_RESULT_ERROR_UNINITIALIZED + kArgumentErrors.size() - 1 == ZE_RESULT_ERROR_OVERLAPPING_REGIONS);

}  // namespace

const char* error_name(ze_result_t result) {
  const auto code = static_cast<uint64_t>(result);
  if (const uint64_t at = code - ZE_RESULT_ERROR_DEVICE_LOST; at < kDeviceErrors.size()) {
    return kDeviceErrors[at];
  }
  if (const uint64_t at = code - ZE_RESULT_ERROR_UNINITIALIZED; at < kArgumentErrors.size()) {
    return kArgumentErrors[at];
  }
  return nullptr;
}

}  // namespace gpuprof::injection::level_zero
