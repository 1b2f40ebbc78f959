#include "backend/opencl/opencl_backend.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/safe_open.h"
#include "base/text/hints.h"
#include "base/unique_fd.h"

extern "C" {
extern const unsigned char gpuprof_embedded_opencl_begin[];
extern const unsigned char gpuprof_embedded_opencl_end[];
}

namespace gpuprof::backend {
namespace {

constexpr std::string_view kOpenClVariables[] = {"OCL_", "OPENCL_", "POCL_"};
constexpr const char* kLayersVariable = "OPENCL_LAYERS";
constexpr std::string_view kIcdLibrary = "libOpenCL.so";
constexpr Descriptor kOpenCl = {"opencl",    "OpenCL kernels, copies and fills on any driver, the CPU included",
                                {},          kOpenClVariables,
                                kIcdLibrary, kLayersVariable};
constexpr std::string_view kOpenClFile = "libgpuprof_opencl.so";
constexpr const char* kVendorsDirectory = "/etc/OpenCL/vendors";

// Returns false and sets `error` if the file cannot be read.
bool file_contains(const char* path, std::string_view text, int& error) {
  const UniqueFd fd = open_regular(AT_FDCWD, path);
  struct stat info = {};
  if (!fd || fstat(fd.get(), &info) != 0 || info.st_size <= 0) {
    error = errno;
    return false;
  }
  const auto bytes = static_cast<size_t>(info.st_size);
  void* mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (mapped == MAP_FAILED) {
    error = errno;
    return false;
  }
  const bool found = memmem(mapped, bytes, text.data(), text.size()) != nullptr;
  munmap(mapped, bytes);
  return found;
}

// The ICD loader that a program on this machine would load. gpuprof makes no OpenCL call to find it, because that
// would load drivers.
struct Loader {
  bool present = false;
  bool layers = false;
  int error = 0;  // why the loader's file cannot be read; 0: it was read
  std::string path;
};

Loader find_icd_loader() {
  Loader loader;
  void* library = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    return loader;
  }
  loader.present = true;
  Dl_info info = {};
  void* function = dlsym(library, "clGetPlatformIDs");
  // A loader that supports layers contains the name of the environment variable kLayersVariable, which it reads.
  if (function != nullptr && dladdr(function, &info) != 0 && info.dli_fname != nullptr) {
    loader.path = info.dli_fname;
    loader.layers = file_contains(info.dli_fname, kLayersVariable, loader.error);
  }
  dlclose(library);
  return loader;
}

bool ends_with_icd(std::string_view name) {
  constexpr std::string_view kSuffix = ".icd";
  return name.size() > kSuffix.size() && name.substr(name.size() - kSuffix.size()) == kSuffix;
}

// Returns where the loader searches for drivers. The variable OCL_ICD_VENDORS may name another directory, or a
// driver.
std::string vendors_path() {
  const char* vendors = std::getenv("OCL_ICD_VENDORS");
  return vendors != nullptr && *vendors != '\0' ? vendors : kVendorsDirectory;
}

// Returns the names of the drivers that the loader would find in `path`.
std::vector<std::string> find_drivers(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode)) {
    return {path};
  }
  std::vector<std::string> drivers;
  DIR* directory = opendir(path.c_str());
  if (directory == nullptr) {
    if (path.find('/') == std::string::npos) {
      drivers.push_back(path);  // the name of a library, which only the loader can find
    }
    return drivers;
  }
  while (const dirent* entry = readdir(directory)) {  // NOLINT(concurrency-mt-unsafe): a stream of our own
    if (ends_with_icd(entry->d_name)) {
      drivers.emplace_back(entry->d_name);
    }
  }
  closedir(directory);
  std::sort(drivers.begin(), drivers.end());
  return drivers;
}

std::string join(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) {
    joined += joined.empty() ? word : ", " + word;
  }
  return joined;
}

// The calls that the injection library records, too.
constexpr LaunchFunction kOpenClLaunches[] = {
    {kIcdLibrary, "clEnqueueNDRangeKernel"},     {kIcdLibrary, "clEnqueueTask"},
    {kIcdLibrary, "clEnqueueNativeKernel"},      {kIcdLibrary, "clEnqueueReadBuffer"},
    {kIcdLibrary, "clEnqueueReadBufferRect"},    {kIcdLibrary, "clEnqueueWriteBuffer"},
    {kIcdLibrary, "clEnqueueWriteBufferRect"},   {kIcdLibrary, "clEnqueueCopyBuffer"},
    {kIcdLibrary, "clEnqueueCopyBufferRect"},    {kIcdLibrary, "clEnqueueFillBuffer"},
    {kIcdLibrary, "clEnqueueReadImage"},         {kIcdLibrary, "clEnqueueWriteImage"},
    {kIcdLibrary, "clEnqueueCopyImage"},         {kIcdLibrary, "clEnqueueCopyImageToBuffer"},
    {kIcdLibrary, "clEnqueueCopyBufferToImage"}, {kIcdLibrary, "clEnqueueFillImage"},
    {kIcdLibrary, "clEnqueueMapBuffer"},         {kIcdLibrary, "clEnqueueMapImage"},
    {kIcdLibrary, "clEnqueueUnmapMemObject"},    {kIcdLibrary, "clEnqueueSVMMemcpy"},
    {kIcdLibrary, "clEnqueueSVMMemFill"},
};

class OpenClBackend final : public Backend {
 public:
  [[nodiscard]] const Descriptor& descriptor() const override { return kOpenCl; }

  [[nodiscard]] Availability probe() const override {
    const Loader loader = find_icd_loader();
    if (!loader.present) {
      return {false, "no OpenCL loader (libOpenCL.so.1)",
              "install a loader and a driver: on Debian and Ubuntu, apt install ocl-icd-libopencl1 pocl-opencl-icd"};
    }
    if (loader.error != 0) {
      return {false, "cannot read the OpenCL loader " + loader.path + ": " + std::strerror(loader.error),
              hints::of_error(loader.error, "check the rights of this file"), true};
    }
    if (!loader.layers) {
      return {false, "the OpenCL loader does not support layers: " + loader.path,
              "use ocl-icd 2.3 or newer, or the Khronos loader 2021.04 or newer, instead of the vendor's libOpenCL: if "
              "several loaders are installed, LD_LIBRARY_PATH chooses one",
              true};
    }
    const std::string path = vendors_path();
    const std::vector<std::string> drivers = find_drivers(path);
    if (drivers.empty()) {
      return {false, "no OpenCL driver in " + path,
              "install the GPU's OpenCL driver, or pocl-opencl-icd for OpenCL on the CPU"};
    }
    return {true, "loader with layers; drivers: " + join(drivers), ""};
  }

  [[nodiscard]] Library library() const override {
    return {kOpenClFile, {gpuprof_embedded_opencl_begin, gpuprof_embedded_opencl_end}};
  }

  [[nodiscard]] std::span<const LaunchFunction> launch_functions() const override { return kOpenClLaunches; }

  // Puts gpuprof's layer first in the list. The loader puts the first layer next to the driver, so gpuprof sees the
  // calls that the user's layers make to the driver.
  Status prepare(LaunchEnv& env) override {
    if (env.library_dir.empty() || env.library_dir.find(':') != std::string::npos) {
      return Error{"the OpenCL layer cannot be loaded: '" + env.library_dir + "' is not a usable directory",
                   "set TMPDIR to a directory without ':' in its name"};
    }
    std::string layers = env.library_dir + "/" + std::string(kOpenClFile);
    const std::string* before = env.get(kLayersVariable);
    if (before != nullptr && !before->empty()) {
      layers += ":" + *before;
    }
    env.set(kLayersVariable, std::move(layers));
    return {};
  }
};

}  // namespace

std::unique_ptr<Backend> make_opencl() {
  return std::make_unique<OpenClBackend>();
}

}  // namespace gpuprof::backend
