#include "backend/level_zero/level_zero_backend.h"

#include <dlfcn.h>
#include <glob.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/file.h"

extern "C" {
extern const unsigned char gpuprof_embedded_level_zero_begin[];
extern const unsigned char gpuprof_embedded_level_zero_end[];
}

namespace gpuprof::backend {
namespace {

constexpr std::string_view kLevelZeroVariables[] = {"ZE_"};
constexpr std::string_view kZeLibrary = "libze_loader.so";
constexpr const char* kPreloadVariable = "LD_PRELOAD";
constexpr Descriptor kLevelZero = {"level_zero", "Level Zero kernels, copies and fills (Intel GPUs)",
                                   {},           kLevelZeroVariables,
                                   kZeLibrary,   kPreloadVariable};
constexpr std::string_view kLevelZeroFile = "libgpuprof_level_zero.so";
constexpr const char* kLoader = "libze_loader.so.1";
constexpr std::string_view kTracingLayer = "libze_tracing_layer.so.1";
constexpr const char* kTracingVariable = "ZE_ENABLE_TRACING_LAYER";
constexpr const char* kMetricsVariable = "ZET_ENABLE_METRICS";
constexpr const char* kDriversVariable = "ZE_ENABLE_ALT_DRIVERS";

// Returns the file of the loader that a program on this machine would load, such as
// /usr/lib/x86_64-linux-gnu/libze_loader.so.1. Returns an empty text without a loader. Does not call zeInit(),
// because that would load drivers.
std::string find_ze_loader() {
  void* library = dlopen(kLoader, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    return {};
  }
  Dl_info info = {};
  void* function = dlsym(library, "zeInit");
  std::string path;
  if (function != nullptr && dladdr(function, &info) != 0 && info.dli_fname != nullptr) {
    path = info.dli_fname;
  }
  dlclose(library);
  return path;
}

// Returns the version in a file name such as libze_loader.so.1.8.0.
std::string version_of(const std::string& loader) {
  std::string file = loader;
  char* whole = realpath(loader.c_str(), nullptr);
  if (whole != nullptr) {
    file = whole;
    free(whole);
  }
  const size_t at = file.find(".so.");
  return at == std::string::npos ? "of unknown version" : file.substr(at + 4);
}

bool has_tracing_layer(const std::string& loader) {
  const std::string beside = loader.substr(0, loader.rfind('/') + 1) + std::string(kTracingLayer);
  return access(beside.c_str(), R_OK) == 0;
}

std::vector<std::string> matches(const char* pattern) {
  glob_t found = {};
  std::vector<std::string> paths;
  if (glob(pattern, 0, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  globfree(&found);
  return paths;
}

// Returns what the loader would use: an Intel GPU or NPU, or the drivers that the user's variable names. Empty if it
// would find nothing.
std::string find_device(const std::string* alternative_drivers) {
  if (alternative_drivers != nullptr && !alternative_drivers->empty()) {
    return std::string(kDriversVariable) + "=" + *alternative_drivers;
  }
  for (const std::string& path : matches("/sys/class/drm/renderD*/device/vendor")) {
    if (first_line(path) == "0x8086") {
      return "an Intel GPU";
    }
  }
  if (!matches("/dev/accel/accel*").empty()) {
    return "an accelerator";
  }
  return access("/dev/dxg", F_OK) == 0 ? "a GPU of the Windows host" : "";
}

constexpr LaunchFunction kLevelZeroLaunches[] = {
    {kZeLibrary, "zeCommandListAppendLaunchKernel"},
    {kZeLibrary, "zeCommandListAppendLaunchCooperativeKernel"},
    {kZeLibrary, "zeCommandListAppendLaunchKernelIndirect"},
    {kZeLibrary, "zeCommandListAppendLaunchMultipleKernelsIndirect"},
    {kZeLibrary, "zeCommandListAppendLaunchKernelWithArguments"},
    {kZeLibrary, "zeCommandListAppendLaunchKernelWithParameters"},
    {kZeLibrary, "zeCommandListAppendMemoryCopy"},
    {kZeLibrary, "zeCommandListAppendMemoryFill"},
};

// The loader's functions call the injection library through the tracing layer, so stacks contain frames of that
// layer.
constexpr std::string_view kLevelZeroLibraries[] = {"libze_tracing_layer.so"};

class LevelZeroBackend final : public Backend {
 public:
  [[nodiscard]] const Descriptor& descriptor() const override { return kLevelZero; }

  [[nodiscard]] Availability probe() const override {
    const std::string loader = find_ze_loader();
    if (loader.empty()) {
      return {
          false, std::string("no Level Zero loader (") + kLoader + ")",
          "on a machine with an Intel GPU install the loader and a driver: on Debian and Ubuntu, apt install libze1 "
          "libze-intel-gpu1"};
    }
    const std::string found = "loader " + version_of(loader);
    if (!has_tracing_layer(loader)) {
      return {false, found + " without its tracing layer",
              "install " + std::string(kTracingLayer) + " of the same version beside " + loader, true};
    }
    const char* alternative = std::getenv(kDriversVariable);
    const std::string drivers = alternative == nullptr ? "" : alternative;
    const std::string device = find_device(&drivers);
    if (device.empty()) {
      return {false, found + " with its tracing layer; no Intel GPU or NPU",
              "check that the kernel's driver is loaded (ls /dev/dri); in a container pass the device through"};
    }
    return {true, found + " with its tracing layer; " + device, ""};
  }

  [[nodiscard]] Library library() const override {
    return {kLevelZeroFile, {gpuprof_embedded_level_zero_begin, gpuprof_embedded_level_zero_end}};
  }

  [[nodiscard]] std::span<const std::string_view> profiler_libraries() const override { return kLevelZeroLibraries; }

  [[nodiscard]] std::span<const LaunchFunction> launch_functions() const override { return kLevelZeroLaunches; }

  [[nodiscard]] bool attaches() const override { return true; }

  // Older loaders can enable the tracing layer only when a program starts, by an environment variable.
  [[nodiscard]] std::string_view attach_needs() const override { return "zelEnableTracingLayer"; }

  // Preloads the injection library and sets ZE_ENABLE_TRACING_LAYER, which the loader reads when the program
  // initializes Level Zero. Changes nothing on a machine without a device.
  Status prepare(LaunchEnv& env) override {
    if (find_device(env.get(kDriversVariable)).empty()) {
      return {};
    }
    if (env.library_dir.empty() || env.library_dir.find_first_of(": ") != std::string::npos) {
      return Error{"the Level Zero library cannot be preloaded: '" + env.library_dir + "' is not a usable directory",
                   "set TMPDIR to a directory without ':' or blanks in its name"};
    }
    std::string libraries = env.library_dir + "/" + std::string(kLevelZeroFile);
    const std::string* before = env.get(kPreloadVariable);
    if (before != nullptr && !before->empty()) {
      libraries = *before + ":" + libraries;
    }
    env.set(kPreloadVariable, std::move(libraries));
    env.set(kTracingVariable, "1");
    // Keeps a value that the user set. If it disables metrics, the library reports why samples are missing.
    if (env.samples && !is_code_only() && env.get(kMetricsVariable) == nullptr) {
      env.set(kMetricsVariable, "1");
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<Backend> make_level_zero() {
  return std::make_unique<LevelZeroBackend>();
}

}  // namespace gpuprof::backend
