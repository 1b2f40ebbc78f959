// The names that frames, stacks and GPU work are shown by, wherever they are shown.
#pragma once

#include <string>
#include <string_view>

#include "analyze/paths/flame_tree.h"
#include "analyze/rows/aggregate.h"
#include "profile/tables.h"

namespace gpuprof::analyze {

struct LabelOptions {
  bool files = true;    // false: the name alone
  bool lines = false;   // append " (file:line)" to native frames that have one; Python and GPU frames always show it
  bool numbers = true;  // false: the file without the line
};

inline constexpr std::string_view kUnknown = "[unknown]";
inline constexpr std::string_view kNoCpuStack = "[no CPU stack]";
inline constexpr std::string_view kNoPythonFrames = "[no Python frames]";  // a FRAME of kind unknown: see FORMAT.md

// What a work's process is called; the pid is not part of it.
std::string_view process_label(const profile::Tables& tables, const profile::Work& work);

// The kernel's name, "[copy HtoD]", "[cudaLaunchKernel launches]", "[sync cudaStreamSynchronize]", "[page faults GPU]".
std::string work_label(const profile::Tables& tables, const profile::Work& work);

// "name", or "domain:name" outside of the default domain; of the innermost range, without its parents.
std::string range_label(const profile::Tables& tables, const profile::Range& range);

// The function of a CPU frame, or what is known instead.
std::string_view frame_name(const profile::Tables& tables, profile::Element element);

// "ns::f<int>(int, char const*) const" -> "ns::f<int>".
std::string_view without_parameters(std::string_view name);

// "/usr/lib/python3.12/site-packages/torch/nn/modules/module.py" -> "torch/nn/modules/module.py": what lies below
// site-packages, dist-packages or, for the standard library, lib/python3.N. Other paths stay as they are.
std::string_view short_python_file(std::string_view file);

// File and line are part of its label without being asked for.
bool shows_line(const profile::Frame& frame);

// A frame; `kernel` says which of a row's stacks it is from.
std::string frame_label(const profile::Tables& tables, profile::Element element, const LabelOptions& options);
FrameClass frame_class(const profile::Tables& tables, profile::Element element, bool kernel);

}  // namespace gpuprof::analyze
