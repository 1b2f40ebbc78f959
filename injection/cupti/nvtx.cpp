// NVTX code in the target calls InitializeInjectionNvtx2() at its first NVTX call. The NVTX headers put that code, with
// its own function table, into every library that uses them. The injection library connects to the recorder only when
// the target initializes CUDA, which may be much later. Until then, it stores the ranges in memory.
#include <cstddef>
#include <cstring>
#include <cwchar>

#include "cupti/api/nvtx_abi.h"
#include "nvtx/ranges.h"

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    gpuprof::injection::cupti::NvtxGetExportTableFunc_t get_table);
// The program's NVTX code calls this function once for each NVTX extension that it uses, such as payloads.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(
    gpuprof::injection::cupti::nvtxExtModuleInfo_t* module);

namespace gpuprof::injection::cupti {
namespace {

constexpr size_t kMaxText = 4096;
constexpr char kUnnamed[] = "[unnamed range]";

// Converts a wide text to UTF-8, and cuts it if it is too long.
class Narrow {
 public:
  explicit Narrow(const wchar_t* text) {
    for (; text != nullptr && *text != L'\0' && length_ + 4 <= sizeof(bytes_); ++text) {
      append(static_cast<uint32_t>(*text));
    }
  }
  [[nodiscard]] const char* data() const { return bytes_; }
  [[nodiscard]] size_t length() const { return length_; }

 private:
  void append(uint32_t c) {
    if (c < 0x80) {
      put(c);
    } else if (c < 0x800) {
      put(0xC0 | c >> 6);
      put(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
      put(0xE0 | c >> 12);
      put(0x80 | (c >> 6 & 0x3F));
      put(0x80 | (c & 0x3F));
    } else if (c < 0x110000) {
      put(0xF0 | c >> 18);
      put(0x80 | (c >> 12 & 0x3F));
      put(0x80 | (c >> 6 & 0x3F));
      put(0x80 | (c & 0x3F));
    }
  }
  void put(uint32_t byte) { bytes_[length_++] = static_cast<char>(byte); }

  char bytes_[1024];
  size_t length_ = 0;
};

// An NVTX handle is an id of the injection library, cast to a pointer. Programs may pass any value, so the functions
// that use a handle check it.
template <typename Handle>
Handle to_handle(uint32_t id) {
  return reinterpret_cast<Handle>(static_cast<uintptr_t>(id));  // NOLINT(performance-no-int-to-ptr)
}

template <typename Handle>
uint32_t to_id(Handle handle) {
  const auto value = reinterpret_cast<uintptr_t>(handle);
  return value <= UINT32_MAX ? static_cast<uint32_t>(value) : 0;
}

RangeLabel label(uint32_t domain, const char* text) {
  return text == nullptr || *text == '\0' ? range_label(domain, kUnnamed, sizeof(kUnnamed) - 1)
                                          : range_label(domain, text, strnlen(text, kMaxText));
}

RangeLabel label(uint32_t domain, const wchar_t* text) {
  const Narrow narrow(text);
  return narrow.length() == 0 ? label(domain, "") : range_label(domain, narrow.data(), narrow.length());
}

RangeLabel label(uint32_t domain, const nvtxEventAttributes_t* event) {
  constexpr size_t kNeeded = offsetof(nvtxEventAttributes_t, message) + sizeof(nvtxEventAttributes_t::message);
  if (event == nullptr || event->size < kNeeded) {
    return label(domain, "");
  }
  switch (event->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return label(domain, event->message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
      return label(domain, event->message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED:
      return checked_label(domain, to_id(event->message.registered));
    default:
      return label(domain, "");
  }
}

template <typename Text>
int push(Text text) {
  return push_range(kDefaultDomain, label(kDefaultDomain, text));
}
int pop() {
  return pop_range(kDefaultDomain);
}

template <typename Text>
nvtxRangeId_t start(Text text) {
  return start_range(label(kDefaultDomain, text));
}
void end(nvtxRangeId_t id) {
  end_range(id);
}

int domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  return push_range(to_id(domain), label(to_id(domain), event));
}
int domain_pop(nvtxDomainHandle_t domain) {
  return pop_range(to_id(domain));
}
nvtxRangeId_t domain_start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  return start_range(label(to_id(domain), event));
}
void domain_end(nvtxDomainHandle_t /*domain*/, nvtxRangeId_t id) {
  end_range(id);
}

template <typename Text>
nvtxStringHandle_t register_text(nvtxDomainHandle_t domain, Text text) {
  return to_handle<nvtxStringHandle_t>(label(to_id(domain), text));
}

nvtxDomainHandle_t create_a(const char* name) {
  const size_t length = name == nullptr ? 0 : strnlen(name, kMaxText);
  return to_handle<nvtxDomainHandle_t>(length == 0 ? kDefaultDomain : range_domain(name, length));
}
nvtxDomainHandle_t create_w(const wchar_t* name) {
  const Narrow narrow(name);
  return to_handle<nvtxDomainHandle_t>(narrow.length() == 0 ? kDefaultDomain
                                                            : range_domain(narrow.data(), narrow.length()));
}
// Ranges that begin with a payload get no name, because the program defines the layout of the payload and gpuprof does
// not read it. pop_payload() also ends ranges that began with a name, because NCCL ends such ranges with it.
int push_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t* /*data*/, size_t /*count*/) {
  return push_range(to_id(domain), label(to_id(domain), ""));
}
int pop_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t* /*data*/, size_t /*count*/) {
  return pop_range(to_id(domain));
}
nvtxRangeId_t start_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t* /*data*/, size_t /*count*/) {
  return start_range(label(to_id(domain), ""));
}
void end_payload(nvtxDomainHandle_t /*domain*/, nvtxRangeId_t id, const nvtxPayloadData_t* /*data*/, size_t /*count*/) {
  end_range(id);
}

// Keeps the domain's name, because a profile that is being written may use it.
void destroy(nvtxDomainHandle_t /*domain*/) {}

// A table of NVTX functions in the calling program or library. A tool replaces its entries.
class Table {
 public:
  Table(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module) {
    if (callbacks.GetModuleFunctionTable(module, &functions_, &size_) == 0) {
      size_ = 0;
    }
  }
  template <typename Function>
  void set(unsigned int index, Function function) {
    if (functions_ != nullptr && index < size_ && functions_[index] != nullptr) {
      *functions_[index] = reinterpret_cast<NvtxFunctionPointer>(function);
    }
  }

 private:
  NvtxFunctionTable functions_ = nullptr;
  unsigned int size_ = 0;
};

void take_core(Table table) {
  table.set<nvtxRangeStartEx_impl_fntype>(NVTX_CBID_CORE_RangeStartEx, start);
  table.set<nvtxRangeStartA_impl_fntype>(NVTX_CBID_CORE_RangeStartA, start);
  table.set<nvtxRangeStartW_impl_fntype>(NVTX_CBID_CORE_RangeStartW, start);
  table.set<nvtxRangeEnd_impl_fntype>(NVTX_CBID_CORE_RangeEnd, end);
  table.set<nvtxRangePushEx_impl_fntype>(NVTX_CBID_CORE_RangePushEx, push);
  table.set<nvtxRangePushA_impl_fntype>(NVTX_CBID_CORE_RangePushA, push);
  table.set<nvtxRangePushW_impl_fntype>(NVTX_CBID_CORE_RangePushW, push);
  table.set<nvtxRangePop_impl_fntype>(NVTX_CBID_CORE_RangePop, pop);
}

void take_domains(Table table) {
  table.set<nvtxDomainRangeStartEx_impl_fntype>(NVTX_CBID_CORE2_DomainRangeStartEx, domain_start);
  table.set<nvtxDomainRangeEnd_impl_fntype>(NVTX_CBID_CORE2_DomainRangeEnd, domain_end);
  table.set<nvtxDomainRangePushEx_impl_fntype>(NVTX_CBID_CORE2_DomainRangePushEx, domain_push);
  table.set<nvtxDomainRangePop_impl_fntype>(NVTX_CBID_CORE2_DomainRangePop, domain_pop);
  table.set<nvtxDomainRegisterStringA_impl_fntype>(NVTX_CBID_CORE2_DomainRegisterStringA, register_text);
  table.set<nvtxDomainRegisterStringW_impl_fntype>(NVTX_CBID_CORE2_DomainRegisterStringW, register_text);
  table.set<nvtxDomainCreateA_impl_fntype>(NVTX_CBID_CORE2_DomainCreateA, create_a);
  table.set<nvtxDomainCreateW_impl_fntype>(NVTX_CBID_CORE2_DomainCreateW, create_w);
  table.set<nvtxDomainDestroy_impl_fntype>(NVTX_CBID_CORE2_DomainDestroy, destroy);
}

template <typename Function>
void set_slot(const nvtxExtModuleSegment_t& segment, uint32_t index, Function* function) {
  if (index < segment.slotCount) {
    segment.functionSlots[index] = reinterpret_cast<intptr_t>(function);
  }
}

}  // namespace
}  // namespace gpuprof::injection::cupti

extern "C" int InitializeInjectionNvtx2(gpuprof::injection::cupti::NvtxGetExportTableFunc_t get_table) {
  using namespace gpuprof::injection;
  using namespace gpuprof::injection::cupti;
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(NvtxExportTableCallbacks)) {
    return 0;
  }
  init_ranges();
  take_core(Table(*callbacks, NVTX_CB_MODULE_CORE));
  take_domains(Table(*callbacks, NVTX_CB_MODULE_CORE2));
  return 1;
}

extern "C" int InitializeInjectionNvtxExtension(gpuprof::injection::cupti::nvtxExtModuleInfo_t* module) {
  using namespace gpuprof::injection;
  using namespace gpuprof::injection::cupti;
  if (module == nullptr || module->structSize < sizeof(nvtxExtModuleInfo_t) || module->moduleId != kNvtxPayloadModule ||
      module->segmentsCount == 0) {
    return 0;
  }
  init_ranges();
  const nvtxExtModuleSegment_t& segment = module->segments[0];
  set_slot(segment, NVTX_CBID_PAYLOAD_RangePush, push_payload);
  set_slot(segment, NVTX_CBID_PAYLOAD_RangePop, pop_payload);
  set_slot(segment, NVTX_CBID_PAYLOAD_RangeStart, start_payload);
  set_slot(segment, NVTX_CBID_PAYLOAD_RangeEnd, end_payload);
  return 1;
}
