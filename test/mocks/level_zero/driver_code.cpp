// Modules and kernels, their code and its addresses. A module made from native code returns that code as its binary.
// All others return the file that MOCK_ZE_ZEBIN names.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>

#include "driver.h"

namespace gpuprof::mock {
namespace {

// Bit 47 is set, so the canonical form of the address has all upper bits set.
constexpr uint64_t kFirstAddress = 0x800000010000;
constexpr uint64_t kModuleBytes = 0x10000;
constexpr uint64_t kKernelBytes = 0x400;

std::vector<uint8_t> read_binary() {
  const char* path = getenv("MOCK_ZE_ZEBIN");
  if (path == nullptr) {
    return {0x7f, 'E', 'L', 'F'};
  }
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return {bytes.begin(), bytes.end()};
}

std::vector<uint8_t> binary_of(const ze_module_desc_t& description) {
  const bool is_native = description.format == ZE_MODULE_FORMAT_NATIVE && description.pInputModule != nullptr;
  return is_native ? std::vector<uint8_t>(description.pInputModule, description.pInputModule + description.inputSize)
                   : read_binary();
}

struct Places {
  uint64_t next = kFirstAddress;
  std::vector<uint64_t> free;  // addresses of destroyed modules, the last destroyed one last
};

Places& places_of(const Device* device) {
  static auto* all = new std::map<const Device*, Places>;  // never freed: used until the process ends
  return (*all)[device];
}

uint64_t take_address(Places& places) {
  uint64_t address = places.next;
  if (ze_faults().same_place && !places.free.empty()) {
    address = places.free.back();
    places.free.pop_back();
  } else {
    places.next += kModuleBytes;
  }
  return address;
}

ze_result_t ZE_APICALL create_module(ze_context_handle_t /*context*/, ze_device_handle_t device,
                                     const ze_module_desc_t* description, ze_module_handle_t* module,
                                     ze_module_build_log_handle_t* /*log*/) {
  const std::lock_guard<std::mutex> guard(the_lock());
  const Device& of = object<Device>(device);
  auto* made = make<Module>();
  made->device = of.whole != nullptr ? of.whole : &of;
  made->address = take_address(places_of(made->device));
  made->binary = binary_of(*description);
  *module = reinterpret_cast<ze_module_handle_t>(made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL destroy_module(ze_module_handle_t module) {
  const std::lock_guard<std::mutex> guard(the_lock());
  if (object<Module>(module).live != 0 && !ze_faults().lenient) {
    violation("a module is destroyed before its kernels");
  }
  const Module& gone = object<Module>(module);
  places_of(gone.device).free.push_back(gone.address);
  destroy<Module>(module);
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL get_native_binary(ze_module_handle_t module, size_t* size, uint8_t* bytes) {
  const std::vector<uint8_t>& binary = object<Module>(module).binary;
  if (size == nullptr) {
    violation("zeModuleGetNativeBinary without a size");
  }
  if (ze_faults().no_binary) {
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  }
  if (bytes != nullptr) {
    if (*size < binary.size()) {
      violation("zeModuleGetNativeBinary: the buffer is smaller than the reported size");
    }
    memcpy(bytes, binary.data(), binary.size());
  }
  *size = binary.size();
  return ZE_RESULT_SUCCESS;
}

// Returns the code address of a kernel by its name. All kernels of one module with this name share the address.
uint64_t address_of(const Module& module, const std::string& name) {
  uint64_t sum = 0;
  for (const char letter : name) {
    sum = sum * 31 + static_cast<unsigned char>(letter);
  }
  return module.address + sum % (kModuleBytes / kKernelBytes) * kKernelBytes;
}

// The name of a kernel sets its run time: 10 us for "light", 40 us for "heavy", 20 ms for "slow", less than 1 us for
// "empty", 5 us for all others.
ze_result_t ZE_APICALL create_kernel(ze_module_handle_t module, const ze_kernel_desc_t* description,
                                     ze_kernel_handle_t* kernel) {
  const std::lock_guard<std::mutex> guard(the_lock());
  Module& of = object<Module>(module);
  auto* made = make<Kernel>();
  made->name = description->pKernelName;
  made->cycles = made->name == "light"   ? 192
                 : made->name == "heavy" ? 768
                 : made->name == "slow"  ? kRate / 50
                 : made->name == "empty" ? 1
                                         : 96;
  made->module = &of;
  made->address = address_of(of, made->name);
  ++of.live;
  *kernel = reinterpret_cast<ze_kernel_handle_t>(made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL destroy_kernel(ze_kernel_handle_t kernel) {
  const std::lock_guard<std::mutex> guard(the_lock());
  --object<Kernel>(kernel).module->live;
  destroy<Kernel>(kernel);
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL set_group_size(ze_kernel_handle_t /*kernel*/, uint32_t /*x*/, uint32_t /*y*/, uint32_t /*z*/) {
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL get_kernel_name(ze_kernel_handle_t kernel, size_t* bytes, char* name) {
  const std::string& text = object<Kernel>(kernel).name;
  if (ze_faults().mute) {
    return ZE_RESULT_SUCCESS;
  }
  if (name != nullptr) {
    if (*bytes < text.size() + 1) {
      return ZE_RESULT_ERROR_INVALID_SIZE;
    }
    memcpy(name, text.c_str(), text.size() + 1);
  }
  *bytes = text.size() + 1;
  return ZE_RESULT_SUCCESS;
}

// Programs call this extension without the loader, so they must pass the driver's own handle.
ze_result_t ZE_APICALL get_base_address(ze_kernel_handle_t kernel, uint64_t* address) {
  const Kernel& of = object<Kernel>(kernel);
  if (address == nullptr) {
    violation("zexKernelGetBaseAddress without an address");
  }
  *address = of.address;
  return ZE_RESULT_SUCCESS;
}

}  // namespace

void* extension(const char* name) {
  const bool known = !ze_faults().no_extension && strcmp(name, "zexKernelGetBaseAddress") == 0;
  return known ? reinterpret_cast<void*>(get_base_address) : nullptr;
}

void fill(ze_module_dditable_t& table) {
  table.pfnCreate = create_module;
  table.pfnDestroy = destroy_module;
  table.pfnGetNativeBinary = get_native_binary;
}

void fill(ze_kernel_dditable_t& table) {
  table.pfnCreate = create_kernel;
  table.pfnDestroy = destroy_kernel;
  table.pfnSetGroupSize = set_group_size;
  table.pfnGetName = get_kernel_name;
}

}  // namespace gpuprof::mock
