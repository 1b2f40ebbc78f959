// Makes the names by which frames, stacks and GPU work are shown in all outputs.
#pragma once

#include <string>
#include <string_view>

#include "analyze/paths/flame_tree.h"
#include "analyze/rows/aggregate.h"
#include "profile/tables.h"

namespace gpuprof::analyze {

struct LabelOptions {
  bool files = true;   // false: show only the function's name
  bool lines = false;  // append " (file:line)" to native frames with a known line; Python and GPU frames always have it
  bool numbers = true;  // false: show files, but no line numbers
};

inline constexpr std::string_view kUnknown = "[unknown]";
inline constexpr std::string_view kNoCpuStack = "[no CPU stack]";
inline constexpr std::string_view kNoPythonFrames = "[no Python frames]";  // label of FRAME kind `unknown` (FORMAT.md)

// Returns the name of the work's process, without its pid.
std::string_view process_label(const profile::Tables& tables, const profile::Work& work);

// Returns the kernel's name or a label: "[copy HtoD]", "[cudaLaunchKernel launches]", "[sync cudaStreamSynchronize]".
std::string work_label(const profile::Tables& tables, const profile::Work& work);

// Returns why a device is idle, if `work` ended the idle time or is what a CPU thread did in it: "[idle before gemm]",
// "[idle in cudaMemcpy]", "[sleeps]".
std::string idle_label(const profile::Tables& tables, const profile::Work& work);
inline constexpr std::string_view kNothingLaunched = "[idle: nothing launched any more]";

// Returns "name", or "domain:name" outside of the default domain. Leaves out the parents of `range`.
std::string range_label(const profile::Tables& tables, const profile::Range& range);

// Returns the function of a CPU frame, or a label such as "[truncated]" if the function is unknown.
std::string_view frame_name(const profile::Tables& tables, profile::Element element);

// "ns::f<int>(int, char const*) const" -> "ns::f<int>".
std::string_view without_parameters(std::string_view name);

// "/usr/lib/python3.12/site-packages/torch/nn/modules/module.py" -> "torch/nn/modules/module.py": what lies below
// site-packages, dist-packages or, for the standard library, lib/python3.N. Other paths stay as they are.
std::string_view short_python_file(std::string_view file);

// True if the frame's label always has the file and line, whatever the options: Python and GPU frames.
bool shows_line(const profile::Frame& frame);

std::string frame_label(const profile::Tables& tables, profile::Element element, const LabelOptions& options);
// `kernel`: the frame is from a kernel stack.
FrameClass frame_class(const profile::Tables& tables, profile::Element element, bool kernel);

}  // namespace gpuprof::analyze
