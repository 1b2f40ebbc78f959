// The names that frames, stacks and GPU work are shown by, wherever they are shown.
#pragma once

#include <string>
#include <string_view>

#include "analyze/aggregate.h"
#include "analyze/flame_tree.h"
#include "profile/tables.h"

namespace gpuprof::analyze {

struct LabelOptions {
  bool lines = false;  // append " (file:line)" to CPU frames that have one
};

inline constexpr std::string_view kUnknown = "[unknown]";
inline constexpr std::string_view kNoCpuStack = "[no CPU stack]";

// What a row's process is called; the pid is not part of it.
std::string_view process_label(const profile::Tables& tables, const profile::Work& work);
std::string_view process_label(const Aggregate& rows, const Row& row);

// The kernel's name, "[copy HtoD]", "[cudaLaunchKernel launches]", "[sync cudaStreamSynchronize]", "[page faults GPU]",
// or a stall's GPU symbol.
std::string work_label(const profile::Tables& tables, const profile::Work& work);
std::string work_label(const Aggregate& rows, const Row& row);

// "name", or "domain:name" outside of the default domain; of the innermost range, without its parents.
std::string range_label(const profile::Tables& tables, const profile::Range& range);

// "active" ..., or "[unknown]" for 0 and "[stall type N]" for numbers that have no name.
std::string stall_label(uint32_t stall_type);

// A CPU frame; `kernel` says which of a row's stacks it is from.
std::string frame_label(const profile::Tables& tables, profile::Element element, const LabelOptions& options);
FrameClass frame_class(const profile::Tables& tables, profile::Element element, bool kernel);

}  // namespace gpuprof::analyze
