#include "analyze/names/frame_origin.h"

#include <algorithm>
#include <array>

#include "analyze/names/labels.h"
#include "base/process/start_up.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

template <size_t N>
bool starts_with_one(std::string_view text, const std::array<std::string_view, N>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [text](std::string_view prefix) { return text.starts_with(prefix); });
}

// Examines only this much of a name or path, because millions of frames may share one name of many megabytes.
constexpr size_t kMostText = 4096;

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

// True for "cudaLaunchKernel", "cuMemcpyAsync", "clEnqueueNDRangeKernel", "zeCommandListAppendBarrier", "hipMalloc" ...
bool is_vendor_function(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kPrefixes = {"cuda", "cu", "cl", "ze", "zes", "hip"};
  const bool is_word = name.find_first_of(" <(") == std::string_view::npos;
  return is_word && std::any_of(kPrefixes.begin(), kPrefixes.end(), [name](std::string_view prefix) {
           return name.starts_with(prefix) && name.size() > prefix.size() && is_upper(name[prefix.size()]);
         });
}

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_vendor_library(std::string_view name) {
  static constexpr std::array<std::string_view, 9> kNames = {"libcuda.so", "libcudart",      "libOpenCL",
                                                             "libpocl",    "libze_",         "libamdhip",
                                                             "libhsa-",    "libnvidia-open", "libigdrcl"};
  return starts_with_one(name, kNames);
}

bool is_installed(std::string_view path) {
  static constexpr std::array<std::string_view, 9> kFolders = {"/usr/lib",  "/lib/",         "/lib64/",
                                                               "/lib32/",   "/usr/include/", "/usr/local/cuda",
                                                               "/opt/rocm", "/opt/nvidia/",  "/opt/intel/"};
  const bool packaged =
      path.find("/site-packages/") != std::string_view::npos || path.find("/dist-packages/") != std::string_view::npos;
  return packaged || starts_with_one(path, kFolders) || short_python_file(path).size() != path.size();
}

bool is_library(std::string_view module) {
  static constexpr std::array<std::string_view, 17> kNames = {
      "libtorch",    "libc10",      "libcublas",      "libcudnn", "libnccl",  "libcufft",
      "libcusparse", "libcusolver", "libcurand",      "libcupti", "libnvrtc", "libstdc++",
      "libpython3",  "python3",     "libtensorflow_", "libc.so",  "ld-linux"};
  return is_installed(module) || starts_with_one(file_name(module), kNames);
}

Origin python_origin(std::string_view file) {
  // These begin the file names of the user's own code: `python -c`, a shell, a notebook. Other names with '<', such as
  // "<frozen runpy>" or "<eval_with_key>.0", belong to code that a library made.
  static constexpr std::array<std::string_view, 3> kTyped = {"<string>", "<stdin>", "<ipython-input-"};
  const bool generated = file.starts_with('<') && !starts_with_one(file, kTyped);
  return generated || is_installed(file) ? Origin::library : Origin::own;
}

// Judges by its location whether a vendor may have written the function. A function in an unknown module or a library
// may be a vendor's, but "clRender" in the program's own module is not. A "cuda..." function without a source file may
// be a vendor's in any module, because the CUDA runtime may be linked into the program.
bool may_be_vendors(std::string_view name, std::string_view module, std::string_view file) {
  return module.empty() || is_library(module) || (name.starts_with("cuda") && file.empty());
}

// True for a kernel's host stub, which nvcc generates so that the program can launch the kernel.
bool is_launch_stub(std::string_view name) {
  return name.starts_with("__device_stub__");
}

Origin native_origin(std::string_view name, std::string_view module, std::string_view file) {
  if (is_launch_stub(name) || is_vendor_library(file_name(module)) ||
      (is_vendor_function(name) && may_be_vendors(name, module, file))) {
    return Origin::vendor;
  }
  static constexpr std::array<std::string_view, 3> kStandard = {"std::", "__gnu_cxx::", "void std::"};
  return starts_with_one(name, kStandard) || is_library(module) || is_installed(file) ? Origin::library : Origin::own;
}

// Returns the name in "[libfoo.so+0x12ab]": "libfoo.so". Empty: the frame has another name. Examines only the ends,
// because millions of frames may share one name of many megabytes.
std::string_view module_of_address(std::string_view frame) {
  constexpr size_t kMostOffset = sizeof("+0x0123456789abcdef]") - 1;
  if (!frame.starts_with('[') || !frame.ends_with(']')) {
    return {};
  }
  const size_t plus = frame.find("+0x", frame.size() - std::min(frame.size(), kMostOffset));
  return plus == std::string_view::npos ? std::string_view() : frame.substr(1, plus - 1);
}

}  // namespace

std::string_view unnamed_library(const p::Tables& tables, p::Element element) {
  const std::string_view name = module_of_address(frame_name(tables, element));
  constexpr size_t kMostName = 255;  // NAME_MAX
  if (element.is_label || name.empty() || name.size() > kMostName) {
    return {};
  }
  const std::string_view module = tables.text(tables.frame(element).module).substr(0, kMostText);
  return is_library(module) || is_vendor_library(file_name(module)) ? name : std::string_view();
}

bool is_uninformative(std::string_view frame) {
  return !module_of_address(frame).empty() || frame.starts_with("0x") || frame == kUnknown ||
         is_start_up_function(frame);
}

Origin origin_of(const p::Tables& tables, p::Element element, bool kernel) {
  const std::string_view name = frame_name(tables, element);
  const bool is_python = !kernel && !element.is_label && tables.frame(element).kind == p::FrameKind::python;
  // A Python function can be called "clone", which is_uninformative() would take for libc's start-up code.
  if (is_python ? name == kUnknown : is_uninformative(name)) {
    return Origin::none;
  }
  if (kernel) {
    return Origin::vendor;
  }
  if (element.is_label) {
    return native_origin(name.substr(0, kMostText), {}, {});
  }
  const p::Frame& frame = tables.frame(element);
  const std::string_view module = tables.text(frame.module).substr(0, kMostText);
  const std::string_view file = tables.text(frame.file).substr(0, kMostText);
  switch (frame.kind) {
    case p::FrameKind::python:
      return python_origin(file);
    case p::FrameKind::native:
    case p::FrameKind::inlined:
      return native_origin(name.substr(0, kMostText), module, file);
    case p::FrameKind::truncated:
      return Origin::none;
    default:
      return Origin::library;
  }
}

}  // namespace gpuprof::analyze
