#include "backend/cupti/cupti_backend.h"

#include <dlfcn.h>
#include <glob.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/cupti/nvml.h"
#include "base/log.h"
#include "base/nvidia_driver.h"
#include "wire/cuda_launches.h"
#include "wire/cupti_faults.h"
#include "wire/wire.h"

extern "C" {
extern const unsigned char gpuprof_embedded_cupti_begin[];
extern const unsigned char gpuprof_embedded_cupti_end[];
}

namespace gpuprof::backend {
namespace {

constexpr std::string_view kCuptiFile = "libgpuprof_cupti.so";
constexpr std::string_view kDriverLibrary = "libcuda.so";
constexpr const char* kInjectionVariable = "CUDA_INJECTION64_PATH";
constexpr const char* kNvtxVariable = "NVTX_INJECTION64_PATH";

bool can_load(const char* library, const char* function = nullptr) {
  void* handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  const bool loaded = handle != nullptr && (function == nullptr || dlsym(handle, function) != nullptr);
  if (handle != nullptr) {
    dlclose(handle);
  }
  return loaded;
}

std::string first_match(const std::string& pattern) {
  glob_t found = {};
  std::string path;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0 && found.gl_pathc > 0) {
    path = found.gl_pathv[found.gl_pathc - 1];
  }
  globfree(&found);
  return path;
}

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// Finds a libcupti that a program on this machine could load. The injection library also searches in other folders.
std::string find_cupti() {
  std::vector<std::string> roots;
  std::istringstream listed(from_environment(GPUPROF_ENV_CUPTI_PATH));  // files or folders, separated by ':'
  for (std::string root; std::getline(listed, root, ':');) {
    roots.push_back(root);
  }
  for (const char* name : {"CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (std::string root = from_environment(name); !root.empty()) {
      roots.push_back(std::move(root));
    }
  }
  for (const char* root : {"/usr/local/cuda", "/usr/local/cuda-*", "/opt/cuda", "/usr/local", "/usr", "/opt/*"}) {
    roots.emplace_back(root);
  }
  for (const std::string& root : roots) {
    for (const char* below :
         {"", "/libcupti.so.1[23]", "/extras/CUPTI/lib64/libcupti.so.1[23]", "/lib64/libcupti.so.1[23]",
          "/lib/libcupti.so.1[23]", "/targets/*/lib/libcupti.so.1[23]", "/lib/*-linux-gnu/libcupti.so.1[23]",
          "/lib/python3*/*-packages/nvidia/cu13/lib/libcupti.so.13",
          "/lib/python3*/*-packages/nvidia/cuda_cupti/lib/libcupti.so.12"}) {
      std::string path = first_match(root + below);
      if (path.find(".so") != std::string::npos) {
        return path;
      }
    }
  }
  for (const char* name : {"libcupti.so.13", "libcupti.so.12"}) {
    if (can_load(name)) {
      return name;
    }
  }
  return {};
}

std::optional<Error> check_path(const std::string& value) {
  std::istringstream listed(value);
  std::string why;
  for (std::string item; std::getline(listed, item, ':');) {
    for (const std::string& file : {item + "/libcupti.so.13", item + "/libcupti.so.12", item}) {
      const bool wanted = file != item ? access(file.c_str(), F_OK) == 0 : item.find(".so") != std::string::npos;
      if (!wanted) {
        continue;
      }
      if (can_load(file.c_str(), "cuptiSubscribe")) {
        return std::nullopt;
      }
      const char* error = dlerror();
      why = error == nullptr ? file : error;
    }
  }
  if (why.empty()) {
    why = value.empty() ? "it is empty" : "there is no libcupti.so.13 or .12 in " + value;
  }
  return Error{
      "GPUPROF_CUPTI_PATH is ignored, because no library in it can be loaded: " + why,
      "name the folder of libcupti.so.13 or .12, or the file itself; gpuprof searches for it if the variable is unset"};
}

std::optional<Error> check_domains(const std::string& value) {
  for (const char* word : {"driver", "runtime", "both", "none"}) {
    if (value == word) {
      return std::nullopt;
    }
  }
  return Error{
      "GPUPROF_CUPTI_DOMAINS='" + value + "' is not one of driver, runtime, both and none: gpuprof uses the value both",
      "leave it unset (default: driver); other values are only for comparing the callback domains"};
}

std::optional<Error> check_shared(const std::string& value) {
  if (value == "1" || value == "0") {
    return std::nullopt;
  }
  return Error{"GPUPROF_CUPTI_SHARED='" + value + "' is ignored: it is not 1 or 0",
               "leave it unset for the default, 0"};
}

std::optional<Error> check_flush(const std::string& value) {
  const bool number = !value.empty() && value.size() < 10 && value.find_first_not_of("0123456789") == std::string::npos;
  if (number && std::stol(value) >= GPUPROF_FLUSH_MS_MIN && std::stol(value) <= GPUPROF_FLUSH_MS_MAX) {
    return std::nullopt;
  }
  return Error{"GPUPROF_CUPTI_FLUSH_MS='" + value + "' is ignored: it is not a number of milliseconds from 10 to 1000",
               "for example GPUPROF_CUPTI_FLUSH_MS=50; leave it unset for the default"};
}

constexpr Variable kVariables[] = {{GPUPROF_ENV_CUPTI_PATH, check_path},
                                   {GPUPROF_ENV_CUPTI_DOMAINS, check_domains},
                                   {GPUPROF_ENV_CUPTI_FLUSH_MS, check_flush},
                                   {GPUPROF_ENV_CUPTI_SHARED, check_shared},
                                   {GPUPROF_ENV_NEXT_CUDA_INJECTION}};
constexpr std::string_view kCudaVariables[] = {"CUDA_", "NVIDIA_"};
constexpr Descriptor kCupti = {"cupti",        "CUDA kernels, copies and fills on NVIDIA GPUs",
                               kVariables,     kCudaVariables,
                               kDriverLibrary, kInjectionVariable};

// The runtime's launch functions call the exported launch functions of libcuda. So it is enough to probe libcuda:
// each launch counts once, with the runtime's function on the stack. In a test on driver 580, probes in both
// libraries saw 311 637 of 311 720 launches. During the other 83, only one of the probes was attached yet. `<<<>>>`
// calls __cudaLaunchKernel, which jumps to cudaLaunchKernel.
std::vector<LaunchFunction> counted_functions() {
  std::vector<LaunchFunction> functions;
  for (const CudaLaunch& launch : kCudaLaunches) {
    for (const std::string_view symbol : launch.in_driver) {
      functions.push_back({kDriverLibrary, symbol});
    }
    for (const std::string_view symbol : launch.in_runtime) {
      functions.push_back({"libcudart.so", symbol, true, true});
    }
  }
  std::erase_if(functions, [](const LaunchFunction& function) { return function.symbol.empty(); });
  return functions;
}

// CUPTI calls the injection library inside the driver's launch function, so stacks contain frames of libcupti.
constexpr std::string_view kCudaLibraries[] = {"libcupti.so"};

class CuptiBackend final : public Backend {
 public:
  [[nodiscard]] const Descriptor& descriptor() const override { return kCupti; }

  [[nodiscard]] Availability probe() const override {
    const std::string driver = nvidia_driver_version();
    if (driver.empty() && access("/dev/nvidiactl", F_OK) != 0 && access("/dev/dxg", F_OK) != 0) {
      return {false, "no NVIDIA driver is loaded (no /dev/nvidiactl)",
              "on a machine with an NVIDIA GPU install its driver, 525 or newer; in a container pass the GPU through"};
    }
    if (!can_load("libcuda.so.1")) {
      return {false, "the NVIDIA driver " + driver + " is loaded, but libcuda.so.1 is not found",
              "install the driver's compute libraries (libcuda1), or start the container with the compute capability"};
    }
    const std::string cupti = find_cupti();
    if (cupti.empty()) {
      return {false, "driver " + driver + "; no libcupti.so.13 or .12 found",
              "install the CUDA toolkit or the Python package nvidia-cuda-cupti, or set GPUPROF_CUPTI_PATH to the "
              "folder of libcupti; programs with their own copy (PyTorch) are recorded anyway",
              true};
    }
    return {true, "driver " + (driver.empty() ? std::string("of unknown version") : driver) + ", " + cupti, ""};
  }

  [[nodiscard]] Library library() const override {
    return {kCuptiFile, {gpuprof_embedded_cupti_begin, gpuprof_embedded_cupti_end}};
  }

  [[nodiscard]] std::span<const std::string_view> profiler_libraries() const override { return kCudaLibraries; }

  [[nodiscard]] std::span<const LaunchFunction> launch_functions() const override {
    static const std::vector<LaunchFunction> functions = counted_functions();
    return functions;
  }

  [[nodiscard]] bool attaches() const override { return true; }

  // libcuda loads only one injection library. So gpuprof's library loads the one that the user set, and calls it.
  // This is not possible for NVTX calls, because an NVTX handle is valid only for the tool that created it. If the
  // user has set an NVTX tool, that tool gets all ranges, and gpuprof gets none.
  Status prepare(LaunchEnv& env) override {
    if (env.library_dir.empty()) {
      return Error{"the CUPTI library has not been unpacked", "set TMPDIR to a writable directory"};
    }
    std::string ours = env.library_dir + "/" + std::string(kCuptiFile);
    const std::string* before = env.get(kInjectionVariable);
    if (before != nullptr && !before->empty() && *before != ours) {
      env.set(GPUPROF_ENV_NEXT_CUDA_INJECTION, std::string(*before));
    }
    if (const std::string* tool = env.get(kNvtxVariable); tool == nullptr || tool->empty() || *tool == ours) {
      env.set(kNvtxVariable, ours);
    } else {
      log::info(std::string("no NVTX ranges: ") + kNvtxVariable + " is set to " + *tool + ", which receives them");
    }
    env.set(kInjectionVariable, std::move(ours));
    return {};
  }

  [[nodiscard]] uint32_t library_version() const override {
    const std::string path = find_cupti();
    void* const library = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) {
      return 0;
    }
    // Never closed: CUPTI may have started threads.
    const auto get_version = reinterpret_cast<int (*)(uint32_t*)>(dlsym(library, "cuptiGetVersion"));
    uint32_t version = 0;
    return get_version != nullptr && get_version(&version) == 0 ? version : 0;
  }

  [[nodiscard]] std::vector<std::string> faults_of(uint32_t version) const override {
    std::vector<std::string> faults;
    for (const CuptiFault& fault : kCuptiFaults) {
      if (has_fault(version, fault)) {
        faults.push_back(std::string(fault.text) + " (before CUDA " + fault.mended + ")");
      }
    }
    return faults;
  }

  void watch_clocks() override { clocks_ = std::make_unique<ClockWatch>(); }

  std::vector<DeviceClock> take_clocks() override {
    return clocks_ ? std::exchange(clocks_, nullptr)->finish() : std::vector<DeviceClock>();
  }

 private:
  std::unique_ptr<ClockWatch> clocks_;
};

}  // namespace

std::unique_ptr<Backend> make_cupti() {
  return std::make_unique<CuptiBackend>();
}

}  // namespace gpuprof::backend
