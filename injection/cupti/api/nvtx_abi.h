// Declares the part of NVTX 3's tool interface that gpuprof uses. NVTX is compiled into programs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuprof::injection::cupti {

struct nvtxDomainRegistration_st;
struct nvtxStringRegistration_st;
using nvtxDomainHandle_t = nvtxDomainRegistration_st*;
using nvtxStringHandle_t = nvtxStringRegistration_st*;
using nvtxRangeId_t = uint64_t;

enum nvtxMessageType_t : int32_t {
  NVTX_MESSAGE_TYPE_ASCII = 1,
  NVTX_MESSAGE_TYPE_UNICODE = 2,
  NVTX_MESSAGE_TYPE_REGISTERED = 3
};

union nvtxMessageValue_t {
  const char* ascii;
  const wchar_t* unicode;
  nvtxStringHandle_t registered;
};

// `size` is the struct's size in the NVTX version of the program. Do not read fields beyond it: the program's struct
// does not have them.
struct nvtxEventAttributes_t {
  uint16_t version;
  uint16_t size;
  uint32_t category;
  int32_t colorType;
  uint32_t color;
  int32_t payloadType;
  int32_t reserved0;
  uint64_t payload;
  int32_t messageType;  // nvtxMessageType_t
  nvtxMessageValue_t message;
};

enum NvtxExportTableID : uint32_t { NVTX_ETID_CALLBACKS = 1 };

enum NvtxCallbackModule : uint32_t { NVTX_CB_MODULE_CORE = 1, NVTX_CB_MODULE_CORE2 = 5 };

enum NvtxCallbackIdCore : uint32_t {
  NVTX_CBID_CORE_RangeStartEx = 4,
  NVTX_CBID_CORE_RangeStartA = 5,
  NVTX_CBID_CORE_RangeStartW = 6,
  NVTX_CBID_CORE_RangeEnd = 7,
  NVTX_CBID_CORE_RangePushEx = 8,
  NVTX_CBID_CORE_RangePushA = 9,
  NVTX_CBID_CORE_RangePushW = 10,
  NVTX_CBID_CORE_RangePop = 11
};

enum NvtxCallbackIdCore2 : uint32_t {
  NVTX_CBID_CORE2_DomainRangeStartEx = 2,
  NVTX_CBID_CORE2_DomainRangeEnd = 3,
  NVTX_CBID_CORE2_DomainRangePushEx = 4,
  NVTX_CBID_CORE2_DomainRangePop = 5,
  NVTX_CBID_CORE2_DomainRegisterStringA = 10,
  NVTX_CBID_CORE2_DomainRegisterStringW = 11,
  NVTX_CBID_CORE2_DomainCreateA = 12,
  NVTX_CBID_CORE2_DomainCreateW = 13,
  NVTX_CBID_CORE2_DomainDestroy = 14
};

using NvtxFunctionPointer = void (*)();
using NvtxFunctionTable = NvtxFunctionPointer**;

struct NvtxExportTableCallbacks {
  size_t struct_size;  // size of this table in the NVTX version of the program
  int (*GetModuleFunctionTable)(NvtxCallbackModule module, NvtxFunctionTable* table, unsigned int* size);
};

using NvtxGetExportTableFunc_t = const void* (*)(uint32_t id);
using NvtxInitializeInjectionNvtxFunc_t = int (*)(NvtxGetExportTableFunc_t get_table);

using nvtxRangeStartEx_impl_fntype = nvtxRangeId_t (*)(const nvtxEventAttributes_t* event);
using nvtxRangeStartA_impl_fntype = nvtxRangeId_t (*)(const char* text);
using nvtxRangeStartW_impl_fntype = nvtxRangeId_t (*)(const wchar_t* text);
using nvtxRangeEnd_impl_fntype = void (*)(nvtxRangeId_t id);
using nvtxRangePushEx_impl_fntype = int (*)(const nvtxEventAttributes_t* event);
using nvtxRangePushA_impl_fntype = int (*)(const char* text);
using nvtxRangePushW_impl_fntype = int (*)(const wchar_t* text);
using nvtxRangePop_impl_fntype = int (*)();
using nvtxDomainRangeStartEx_impl_fntype = nvtxRangeId_t (*)(nvtxDomainHandle_t domain,
                                                             const nvtxEventAttributes_t* event);
using nvtxDomainRangeEnd_impl_fntype = void (*)(nvtxDomainHandle_t domain, nvtxRangeId_t id);
using nvtxDomainRangePushEx_impl_fntype = int (*)(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event);
using nvtxDomainRangePop_impl_fntype = int (*)(nvtxDomainHandle_t domain);
using nvtxDomainRegisterStringA_impl_fntype = nvtxStringHandle_t (*)(nvtxDomainHandle_t domain, const char* text);
using nvtxDomainRegisterStringW_impl_fntype = nvtxStringHandle_t (*)(nvtxDomainHandle_t domain, const wchar_t* text);
using nvtxDomainCreateA_impl_fntype = nvtxDomainHandle_t (*)(const char* name);
using nvtxDomainCreateW_impl_fntype = nvtxDomainHandle_t (*)(const wchar_t* name);
using nvtxDomainDestroy_impl_fntype = void (*)(nvtxDomainHandle_t domain);

// ---- the payload extension, which has its own table

struct nvtxPayloadData_t;

constexpr uint16_t kNvtxPayloadModule = 2;
enum NvtxPayloadCallbackId : uint32_t {
  NVTX_CBID_PAYLOAD_RangePush = 3,
  NVTX_CBID_PAYLOAD_RangePop = 4,
  NVTX_CBID_PAYLOAD_RangeStart = 5,
  NVTX_CBID_PAYLOAD_RangeEnd = 6
};

struct nvtxExtModuleSegment_t {
  size_t segmentId;
  size_t slotCount;
  intptr_t* functionSlots;
};

struct nvtxExtModuleInfo_t {
  uint16_t nvtxVer;
  uint16_t structSize;  // size of this struct in the NVTX version of the program
  uint16_t moduleId;
  uint16_t compatId;
  size_t segmentsCount;
  nvtxExtModuleSegment_t* segments;
  intptr_t (*getExportFunction)(uint32_t id);
  const void* extInfo;
};

}  // namespace gpuprof::injection::cupti
