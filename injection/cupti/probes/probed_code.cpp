#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "base/monotonic_clock.h"
#include "cupti/api/call_params_abi.h"
#include "cupti/chosen_kernels.h"
#include "cupti/devices.h"
#include "cupti/probes/block_probes.h"
#include "cupti/probes/driver.h"
#include "cupti/probes/fat_binary.h"
#include "cupti/probes/probe_counts.h"
#include "cupti/probes/ptx_probes.h"
#include "ipc/emit.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr size_t kMostEntries = 4096;  // of a module

// What replaces the code of the thread's open call.
struct Replaced {
  void* cubin;     // null: nothing was replaced
  bool preserved;  // the driver does not copy the code, so it must never be freed
};
constinit thread_local Replaced replaced = {};

struct Code {
  const void** image;
  unsigned int options;
  const CUjit_option* option_ids;
  bool preserved;
};

// Returns where the code of a call is, or null if the function loads none from memory.
Code code_of(const CUpti_CallbackData& data) {
  const char* name = data.functionName == nullptr ? "" : data.functionName;
  auto* params = const_cast<void*>(data.functionParams);
  if (params == nullptr) {
    return {};
  }
  if (strcmp(name, "cuLibraryLoadData") == 0) {
    auto* load = static_cast<cuLibraryLoadData_params*>(params);
    const CUlibraryOption* const end = load->libraryOptions + load->numLibraryOptions;
    return {&load->code, load->numJitOptions, load->jitOptions,
            std::find(static_cast<const CUlibraryOption*>(load->libraryOptions), end, CU_LIBRARY_BINARY_IS_PRESERVED) !=
                end};
  }
  auto* load = static_cast<cuModuleLoadDataEx_params*>(params);
  if (strcmp(name, "cuModuleLoadDataEx") == 0) {
    return {&load->image, load->numOptions, load->options, false};
  }
  if (strcmp(name, "cuModuleLoadData") == 0 || strcmp(name, "cuModuleLoadFatBinary") == 0) {
    return {&load->image, 0, nullptr, false};
  }
  return {};
}

// With other options than these, the program's code could be another one than that compiled here.
constexpr CUjit_option kHarmless[] = {CU_JIT_WALL_TIME,
                                      CU_JIT_INFO_LOG_BUFFER,
                                      CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                                      CU_JIT_ERROR_LOG_BUFFER,
                                      CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                                      CU_JIT_TARGET_FROM_CUCONTEXT,
                                      CU_JIT_LOG_VERBOSE,
                                      CU_JIT_GENERATE_LINE_INFO,
                                      CU_JIT_CACHE_MODE};

bool changes_code(const Code& code) {
  return std::any_of(code.option_ids, code.option_ids + code.options, [](CUjit_option id) {
    return std::find(std::begin(kHarmless), std::end(kHarmless), id) == std::end(kHarmless);
  });
}

// Returns 90 for sm_90, or 0 if the devices have several architectures.
uint32_t architecture() {
  const ProbeDriver& driver = probe_driver();
  uint32_t found = 0;
  int count = 0;
  driver.device_count(&count);
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    int major = 0;
    int minor = 0;
    if (driver.device(&device, i) != CUDA_SUCCESS ||
        driver.device_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) != CUDA_SUCCESS ||
        driver.device_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) != CUDA_SUCCESS) {
      return 0;
    }
    const auto arch = static_cast<uint32_t>(major * 10 + minor);
    if (found != 0 && arch != found) {
      return 0;
    }
    found = arch;
  }
  return found;
}

// Compiles as the driver would at the program's load. The program gets machine code, so that it does not see an error
// of changed PTX. Returns memory from malloc, or null.
void* compile(const PtxText& ptx, uint32_t arch) {
  const ProbeDriver& driver = probe_driver();
  CUlinkState state = nullptr;
  CUjit_option option = CU_JIT_TARGET;
  void* value = reinterpret_cast<void*>(uintptr_t{arch});  // NOLINT(performance-no-int-to-ptr): as the driver wants it
  if (const CUresult result = driver.link_create(1, &option, &value, &state); result != CUDA_SUCCESS) {
    note_compiler_error(static_cast<uint32_t>(result));
    return nullptr;
  }
  void* cubin = nullptr;
  size_t size = 0;
  void* copy = nullptr;
  CUresult result = driver.link_add(state, CU_JIT_INPUT_PTX, ptx.text, ptx.bytes + 1, "gpuprof", 0, nullptr, nullptr);
  if (result == CUDA_SUCCESS) {
    result = driver.link_complete(state, &cubin, &size);
  }
  if (result == CUDA_SUCCESS) {
    copy = malloc(size);
    if (copy != nullptr) {
      memcpy(copy, cubin, size);
    }
  } else {
    note_compiler_error(static_cast<uint32_t>(result));
  }
  driver.link_destroy(state);
  return copy;
}

struct Entries {
  PtxEntry entries[kMostEntries];
  bool chosen[kMostEntries];
  NotProbed why[kMostEntries];
  uint32_t names[kMostEntries];
};

// Returns whether a kernel is chosen.
bool choose(Entries* all, size_t count) {
  for (size_t i = 0; i < count; ++i) {  // The recorder decides about all names in one poll.
    all->names[i] = name_id(all->entries[i].name, all->entries[i].name_bytes);
  }
  bool any = false;
  for (size_t i = 0; i < count; ++i) {
    count_undecided(!wants(GPUPROF_OPTION_ALL_KERNELS) && all->names[i] >= GPUPROF_CHOSEN_NAMES ? 1 : 0);
    all->chosen[i] = is_chosen_kernel(all->names[i]);
    any = any || all->chosen[i];
  }
  return any;
}

void* with_probes(const PtxText& ptx, uint32_t arch) {
  auto* all = static_cast<Entries*>(calloc(1, sizeof(Entries)));
  if (all == nullptr) {
    return nullptr;
  }
  void* cubin = nullptr;
  const size_t count = list_entries(ptx, all->entries, kMostEntries);
  if (count > kMostEntries) {
    count_kernels(NotProbed::cannot_parse, 1);
  } else if (choose(all, count)) {
    const PtxText probed = add_block_probes(ptx, all->entries, count, all->chosen, all->why);
    cubin = probed.text == nullptr ? nullptr : compile(probed, arch);
    free(probed.text);
    for (size_t i = 0; i < count; ++i) {
      if (all->chosen[i] && (cubin != nullptr || all->why[i] != NotProbed::no)) {
        count_kernels(all->why[i], 1);
      }
    }
  }
  free(all);
  return cubin;
}

}  // namespace

void begin_load(const CUpti_CallbackData& data) {
  end_load();  // of an earlier call whose end CUPTI did not report
  const Code code = code_of(data);
  if (code.image == nullptr || *code.image == nullptr) {
    return;
  }
  const OwnCalls own;
  const uint32_t arch = architecture();
  FoundPtx found = {{nullptr, 0}, 0, NoPtx::other_architecture};
  if (changes_code(code)) {
    found.why = NoPtx::has_options;
  } else if (arch != 0) {
    found = find_ptx(*code.image, arch, driver_version());
  }
  count_module(found.why);
  if (found.ptx.text == nullptr) {
    return;
  }
  const uint64_t begun = now_ns();
  replaced = {with_probes(found.ptx, arch), code.preserved};
  free(found.ptx.text);
  if (replaced.cubin != nullptr) {
    *code.image = replaced.cubin;
  }
  count_compile_time(now_ns() - begun);
}

void end_load() {
  if (replaced.cubin != nullptr && !replaced.preserved) {
    free(replaced.cubin);
  }
  replaced = {};
}

}  // namespace gpuprof::injection::cupti
