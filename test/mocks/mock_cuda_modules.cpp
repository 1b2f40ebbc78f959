// The mock libcuda's modules and libraries. An image is text, with a line "NAME NS" for each kernel. Tools see an ELF
// file for it, with the section names that the real compiler makes.
#include <elf.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "mock_driver.h"

using namespace gpuprof::mock;

namespace {

// Memory slots for kernel names. The last dropped slot is reused first, so a dangling pointer soon shows another name.
constexpr size_t kNameBytes = 256;
struct Names {
  std::mutex mutex;
  std::vector<char*> dropped;
};

Names& names() {
  static auto* the_names = new Names;
  return *the_names;
}

// Makes an ELF file that has only a header and its section-name table.
std::string cubin_of(const std::string& kernels) {
  std::istringstream lines(kernels);
  std::string sections(1, '\0');
  std::string name;
  for (std::string ns; lines >> name >> ns;) {
    sections += ".nv.info." + name + '\0';
  }
  Elf64_Ehdr header = {};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shoff = sizeof(header);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 1;
  header.e_shstrndx = 0;
  Elf64_Shdr section = {};
  section.sh_type = SHT_STRTAB;
  section.sh_offset = sizeof(header) + sizeof(section);
  section.sh_size = sections.size();
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) +
         std::string(reinterpret_cast<const char*>(&section), sizeof(section)) + sections;
}

// MOCK_CUBIN names a file that is the code of all modules, whatever their images say.
std::string code_of(const std::string& kernels) {
  const char* path = getenv("MOCK_CUBIN");
  if (path == nullptr) {
    return cubin_of(kernels);
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    fprintf(stderr, "mock libcuda: cannot read MOCK_CUBIN %s\n", path);
    abort();
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

void tell(ModuleEvent event, const CUmod_st& module) {
  if (const Tracer* tracer = driver().tracer; tracer != nullptr) {
    tracer->module(event, current_context(), module.id, module.cubin.data(), module.cubin.size());
  }
}

CUresult load(CUmodule* module, const void* image) {
  if (!usable()) {
    return CUDA_ERROR_NOT_INITIALIZED;
  }
  auto loaded = std::make_unique<CUmod_st>();
  {
    const std::lock_guard lock(driver().mutex);
    loaded->id = ++driver().last_module;
  }
  loaded->cubin = code_of(static_cast<const char*>(image));
  std::istringstream lines(static_cast<const char*>(image));
  std::string name;
  uint64_t ns = 0;
  while (lines >> name >> ns) {
    loaded->functions[name] = std::make_unique<CUfunc_st>(CUfunc_st{keep_name(name), ns, loaded.get()});
  }
  read_ptx(static_cast<const char*>(image), loaded.get());
  tell(ModuleEvent::loaded, *loaded);
  *module = loaded.release();
  return CUDA_SUCCESS;
}

CUresult unload(CUmodule module) {
  tell(ModuleEvent::unloading, *module);
  for (const auto& function : module->functions) {
    drop_name(function.second->name);
  }
  delete module;
  return CUDA_SUCCESS;
}

CUresult find(CUfunction* function, CUmodule module, const char* name) {
  const auto found = module->functions.find(name);
  if (found == module->functions.end()) {
    return CUDA_ERROR_NOT_FOUND;
  }
  *function = found->second.get();
  return CUDA_SUCCESS;
}

}  // namespace

const char* gpuprof::mock::keep_name(const std::string& name) {
  const std::lock_guard lock(names().mutex);
  if (names().dropped.empty()) {
    names().dropped.push_back(new char[kNameBytes]);  // never freed: a late reader gets a wrong name instead of a fault
  }
  char* place = names().dropped.back();
  names().dropped.pop_back();
  strncpy(place, name.c_str(), kNameBytes - 1);
  place[kNameBytes - 1] = '\0';
  return place;
}

void gpuprof::mock::drop_name(const char* name) {
  const std::lock_guard lock(names().mutex);
  names().dropped.push_back(const_cast<char*>(name));
  strcpy(names().dropped.back(), "name of a module that is gone");
}

extern "C" {

const char* mock_cuda_function_name(CUfunction function) {
  return function->name;
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  cuModuleLoadData_params params = {module, image};
  return MOCK_CALL_WITH(cuModuleLoadData, &params, [&] {
    const CUresult result = load(module, params.image);
    // Other functions of the API run inside this one: cuMemAlloc if MOCK_LOAD_ALLOCATES is set, and if it is "2",
    // cuCtxSynchronize, in which cuMemAlloc runs.
    if (const char* how = getenv("MOCK_LOAD_ALLOCATES"); how != nullptr && strcmp(how, "2") == 0) {
      return mock_cuda_wait_and_allocate();
    }
    if (CUdeviceptr memory = 0; getenv("MOCK_LOAD_ALLOCATES") != nullptr && cuMemAlloc(&memory, 64) == CUDA_SUCCESS) {
      return cuMemFree(memory);
    }
    return result;
  });
}

CUresult cuModuleUnload(CUmodule module) {
  return MOCK_CALL(cuModuleUnload, nullptr, [&] { return unload(module); });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return MOCK_CALL(cuModuleGetFunction, nullptr, [&] { return find(function, module, name); });
}

// The mock treats a library as a module and a kernel as its function. The launch functions take both.
CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option* jit, void** jit_values,
                           unsigned int jit_count, CUlibraryOption* options, void** values, unsigned int count) {
  cuLibraryLoadData_params params = {library, image, jit, jit_values, jit_count, options, values, count};
  return MOCK_CALL_WITH(cuLibraryLoadData, &params,
                        [&] { return load(reinterpret_cast<CUmodule*>(library), params.code); });
}

CUresult cuLibraryUnload(CUlibrary library) {
  return MOCK_CALL(cuLibraryUnload, nullptr, [&] { return unload(reinterpret_cast<CUmodule>(library)); });
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return MOCK_CALL(cuLibraryGetKernel, nullptr, [&] {
    return find(reinterpret_cast<CUfunction*>(kernel), reinterpret_cast<CUmodule>(library), name);
  });
}

CUresult cuFuncGetName(const char** name, CUfunction function) {
  *name = function->name;
  return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  *name = reinterpret_cast<CUfunction>(kernel)->name;
  return CUDA_SUCCESS;
}

}  // extern "C"
