// The tables that the loader asks a driver for. The loader requires all tables, so unused ones exist but are empty.
#include <level_zero/zes_ddi.h>
#include <level_zero/zet_ddi.h>

#include "driver.h"

using gpuprof::mock::fill;

namespace {

template <typename Table>
ze_result_t give(Table* table) {
  *table = {};
  fill(*table);
  return ZE_RESULT_SUCCESS;
}

template <typename Table>
ze_result_t give_empty(Table* table) {
  *table = {};
  return ZE_RESULT_SUCCESS;
}

}  // namespace

#define MOCK_TABLE(function, table)                                                                                \
  extern "C" __attribute__((visibility("default"))) ze_result_t ZE_APICALL function(ze_api_version_t, table* to) { \
    return give(to);                                                                                               \
  }
#define MOCK_EMPTY_TABLE(function, table)                                                                          \
  extern "C" __attribute__((visibility("default"))) ze_result_t ZE_APICALL function(ze_api_version_t, table* to) { \
    return give_empty(to);                                                                                         \
  }

MOCK_TABLE(zeGetGlobalProcAddrTable, ze_global_dditable_t)
MOCK_TABLE(zeGetDriverProcAddrTable, ze_driver_dditable_t)
MOCK_TABLE(zeGetDeviceProcAddrTable, ze_device_dditable_t)
MOCK_TABLE(zeGetContextProcAddrTable, ze_context_dditable_t)
MOCK_TABLE(zeGetFenceProcAddrTable, ze_fence_dditable_t)
MOCK_TABLE(zeGetModuleProcAddrTable, ze_module_dditable_t)
MOCK_TABLE(zeGetKernelProcAddrTable, ze_kernel_dditable_t)
MOCK_TABLE(zeGetMemProcAddrTable, ze_mem_dditable_t)
MOCK_TABLE(zeGetImageProcAddrTable, ze_image_dditable_t)

MOCK_EMPTY_TABLE(zeGetDeviceExpProcAddrTable, ze_device_exp_dditable_t)
MOCK_EMPTY_TABLE(zeGetImageExpProcAddrTable, ze_image_exp_dditable_t)
MOCK_EMPTY_TABLE(zeGetEventExpProcAddrTable, ze_event_exp_dditable_t)
MOCK_EMPTY_TABLE(zeGetModuleBuildLogProcAddrTable, ze_module_build_log_dditable_t)
MOCK_EMPTY_TABLE(zeGetKernelExpProcAddrTable, ze_kernel_exp_dditable_t)
MOCK_EMPTY_TABLE(zeGetSamplerProcAddrTable, ze_sampler_dditable_t)
MOCK_EMPTY_TABLE(zeGetPhysicalMemProcAddrTable, ze_physical_mem_dditable_t)
MOCK_EMPTY_TABLE(zeGetVirtualMemProcAddrTable, ze_virtual_mem_dditable_t)
MOCK_EMPTY_TABLE(zeGetFabricVertexExpProcAddrTable, ze_fabric_vertex_exp_dditable_t)
MOCK_EMPTY_TABLE(zeGetFabricEdgeExpProcAddrTable, ze_fabric_edge_exp_dditable_t)
MOCK_EMPTY_TABLE(zetGetDeviceProcAddrTable, zet_device_dditable_t)
MOCK_EMPTY_TABLE(zetGetCommandListProcAddrTable, zet_command_list_dditable_t)
MOCK_EMPTY_TABLE(zetGetModuleProcAddrTable, zet_module_dditable_t)
MOCK_EMPTY_TABLE(zetGetKernelProcAddrTable, zet_kernel_dditable_t)
MOCK_EMPTY_TABLE(zetGetMetricQueryPoolProcAddrTable, zet_metric_query_pool_dditable_t)
MOCK_EMPTY_TABLE(zetGetMetricQueryProcAddrTable, zet_metric_query_dditable_t)
MOCK_EMPTY_TABLE(zetGetTracerExpProcAddrTable, zet_tracer_exp_dditable_t)
MOCK_EMPTY_TABLE(zetGetDebugProcAddrTable, zet_debug_dditable_t)
MOCK_EMPTY_TABLE(zesGetDriverProcAddrTable, zes_driver_dditable_t)
MOCK_EMPTY_TABLE(zesGetDeviceProcAddrTable, zes_device_dditable_t)
MOCK_EMPTY_TABLE(zesGetSchedulerProcAddrTable, zes_scheduler_dditable_t)
MOCK_EMPTY_TABLE(zesGetPerformanceFactorProcAddrTable, zes_performance_factor_dditable_t)
MOCK_EMPTY_TABLE(zesGetPowerProcAddrTable, zes_power_dditable_t)
MOCK_EMPTY_TABLE(zesGetFrequencyProcAddrTable, zes_frequency_dditable_t)
MOCK_EMPTY_TABLE(zesGetEngineProcAddrTable, zes_engine_dditable_t)
MOCK_EMPTY_TABLE(zesGetStandbyProcAddrTable, zes_standby_dditable_t)
MOCK_EMPTY_TABLE(zesGetFirmwareProcAddrTable, zes_firmware_dditable_t)
MOCK_EMPTY_TABLE(zesGetMemoryProcAddrTable, zes_memory_dditable_t)
MOCK_EMPTY_TABLE(zesGetFabricPortProcAddrTable, zes_fabric_port_dditable_t)
MOCK_EMPTY_TABLE(zesGetTemperatureProcAddrTable, zes_temperature_dditable_t)
MOCK_EMPTY_TABLE(zesGetPsuProcAddrTable, zes_psu_dditable_t)
MOCK_EMPTY_TABLE(zesGetFanProcAddrTable, zes_fan_dditable_t)
MOCK_EMPTY_TABLE(zesGetLedProcAddrTable, zes_led_dditable_t)
MOCK_EMPTY_TABLE(zesGetRasProcAddrTable, zes_ras_dditable_t)
MOCK_EMPTY_TABLE(zesGetDiagnosticsProcAddrTable, zes_diagnostics_dditable_t)

#define MOCK_GROWN_TABLE(function, table, fill_newer)                                                         \
  extern "C" __attribute__((visibility("default"))) ze_result_t ZE_APICALL function(ze_api_version_t version, \
                                                                                    table* to) {              \
    give(to);                                                                                                 \
    gpuprof::mock::fill_newer(reinterpret_cast<void**>(to), version);                                         \
    return ZE_RESULT_SUCCESS;                                                                                 \
  }

MOCK_GROWN_TABLE(zeGetCommandListProcAddrTable, ze_command_list_dditable_t, fill_newer_lists)
MOCK_GROWN_TABLE(zeGetCommandQueueProcAddrTable, ze_command_queue_dditable_t, fill_newer_queues)
MOCK_GROWN_TABLE(zeGetEventPoolProcAddrTable, ze_event_pool_dditable_t, fill_newer_pools)
MOCK_GROWN_TABLE(zeGetEventProcAddrTable, ze_event_dditable_t, fill_newer_events)

// The C++ name differs from the symbol: newer headers declare the symbol with a type that older headers lack.
extern "C" __attribute__((visibility("default"))) ze_result_t ZE_APICALL
mock_list_exp_table(ze_api_version_t version, void** to) __asm__("zeGetCommandListExpProcAddrTable");

extern "C" ze_result_t ZE_APICALL mock_list_exp_table(ze_api_version_t version, void** to) {
  if (version >= gpuprof::mock::kGettersVersion) {
    gpuprof::mock::fill_exp(to);
  }
  return ZE_RESULT_SUCCESS;
}
