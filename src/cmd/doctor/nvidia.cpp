#include <glob.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "base/files/file.h"
#include "base/nvidia_driver.h"
#include "cmd/doctor/facts.h"

namespace gpuprof::cmd {
namespace {

constexpr int kDriverOfCuda13 = 580;

Fact counters_fact(const std::string& root, const Rights& rights) {
  constexpr std::string_view kKey = "RmProfilingAdminOnly:";
  std::istringstream file(read_text(root + "/proc/driver/nvidia/params", 64 << 10));
  std::string line;
  bool found = false;
  while (!found && std::getline(file, line)) {
    found = line.starts_with(kKey);
  }
  if (!found) {
    return {"performance counters", State::info, "unknown: no NVIDIA driver reports who may use the counters", ""};
  }
  const bool admin_only = line.find('1', kKey.size()) != std::string::npos;
  if (!admin_only) {
    return {"performance counters", State::ok, "every user may use the counters: --pc-sampling and --sass-metrics work",
            ""};
  }
  if (rights.has(kCapSysAdmin)) {
    return {"performance counters", State::ok,
            "only administrators may use the counters, and you are one: --pc-sampling and --sass-metrics work", ""};
  }
  return {
      "performance counters", State::limited,
      "only administrators may use the counters, which --pc-sampling and --sass-metrics need; times and stacks do not",
      "as root: options nvidia NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d, then reload the driver"};
}

bool exists_like(const std::string& pattern) {
  glob_t found = {};
  const bool any = ::glob(pattern.c_str(), 0, nullptr, &found) == 0 && found.gl_pathc > 0;
  ::globfree(&found);
  return any;
}

bool has_cupti(const std::string& root, const char* major) {
  const std::string file = "/libcupti.so." + std::string(major);
  for (const char* folder :
       {"/usr/local/cuda*/extras/CUPTI/lib64", "/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/*/lib",
        "/usr/lib/*-linux-gnu", "/usr/local/lib/python3*/*-packages/nvidia/cu13/lib",
        "/usr/local/lib/python3*/*-packages/nvidia/cuda_cupti/lib"}) {
    if (exists_like(root + folder + file)) {
      return true;
    }
  }
  return false;
}

Fact cupti_fact(const std::string& root) {
  const int driver = std::atoi(nvidia_driver_version(root).c_str());  // major version; 0 if no driver is loaded
  const bool thirteen = has_cupti(root, "13");
  const bool twelve = has_cupti(root, "12");
  const std::string found = thirteen && twelve ? "13 and 12" : thirteen ? "13" : twelve ? "12" : "";
  if (driver == 0 || found.empty()) {
    return {"libcupti and driver", State::info,
            driver == 0 ? "no NVIDIA driver" : "no libcupti in the usual folders; programs may bring their own", ""};
  }
  const std::string both = "libcupti " + found + " with driver " + std::to_string(driver);
  if (thirteen && !twelve && driver < kDriverOfCuda13) {
    return {"libcupti and driver", State::missing,
            both + ": libcupti 13 needs driver " + std::to_string(kDriverOfCuda13) + " or later",
            "update the driver, or: pip install nvidia-cuda-cupti-cu12"};
  }
  return {"libcupti and driver", State::ok, both, ""};
}

// Lists running tools that may prevent a recording, because they use interfaces that only one process can use at a
// time.
std::string running_tools(const std::string& root) {
  constexpr std::string_view kTools[] = {"nv-hostengine", "dcgm-exporter", "nsys", "ncu", "nsys-launcher"};
  std::string found;
  std::error_code error;
  std::filesystem::directory_iterator entries(root + "/proc", error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string pid = entries->path().filename().string();
    if (pid.find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    const std::string name = first_line(root + "/proc/" + pid + "/comm");
    if (std::find(std::begin(kTools), std::end(kTools), name) != std::end(kTools)) {
      found += (found.empty() ? "" : ", ") + name + " (process " + pid + ")";
    }
  }
  return found;
}

Fact tools_fact(const std::string& root) {
  const std::string found = running_tools(root);
  if (found.empty()) {
    return {"other profilers", State::ok, "neither DCGM nor Nsight is running", ""};
  }
  return {"other profilers", State::limited, found + ": only one tool can use CUPTI in a process, or its counters",
          "if a recording reports another profiler, stop it; for DCGM: dcgmi profmon --pause, and --resume afterwards"};
}

Fact variable_fact(const char* name, const std::string& value, const char* consequence, const char* hint) {
  if (value.empty()) {
    return {name, State::ok, "not set", ""};
  }
  return {name, State::limited, "set to " + value + ": " + consequence, hint};
}

}  // namespace

std::vector<Fact> nvidia_facts(const std::string& root, const Rights& rights,
                               const std::function<std::string(const char* name)>& environment) {
  return {counters_fact(root, rights), cupti_fact(root), tools_fact(root),
          variable_fact("CUDA_INJECTION64_PATH", environment("CUDA_INJECTION64_PATH"),
                        "that library is loaded before gpuprof's; if it uses CUPTI, nothing is recorded",
                        "unset it if a recording reports another profiler"),
          variable_fact("NVTX_INJECTION64_PATH", environment("NVTX_INJECTION64_PATH"),
                        "that library gets the NVTX ranges instead of gpuprof", "unset it to record NVTX ranges")};
}

}  // namespace gpuprof::cmd
