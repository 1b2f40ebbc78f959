#include "analyze/names/labels.h"

#include <array>

#include "profile/keywords.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

constexpr std::string_view kTruncated = "[truncated]";

std::string_view or_unknown(std::string_view text) {
  return text.empty() ? kUnknown : text;
}

// Indexed by p::Op. The first one is for a kernel without a name.
constexpr std::array<std::string_view, 23> kOpLabels = {
    kUnknown,        "[copy HtoD]",   "[copy DtoH]",       "[copy DtoD]",       "[copy HtoH]",    "[copy PtoP]",
    "[copy]",        "[fill]",        "[other GPU work]",  "[graph launch]",    "[launches]",     "[sync]",
    "[alloc]",       "[free]",        "[page faults GPU]", "[page faults CPU]", "[migrate HtoD]", "[migrate DtoH]",
    "[failed call]", "[no GPU work]", "[on CPU]",          "[not sampled]",     "[call]"};
static_assert(static_cast<size_t>(p::Op::call) + 1 == kOpLabels.size());

}  // namespace

std::string_view process_label(const p::Tables& tables, const p::Work& work) {
  const p::Process* process = tables.process(work.process);
  return process == nullptr ? kUnknown : or_unknown(tables.text(process->name));
}

std::string work_label(const p::Tables& tables, const p::Work& work) {
  const std::string_view name = tables.text(work.name);
  if (!name.empty()) {
    switch (work.op) {
      case p::Op::kernel:
      case p::Op::other:
        return std::string(name);
      case p::Op::launch:
        return "[" + std::string(name) + " launches]";
      case p::Op::sync:
        return "[sync " + std::string(name) + "]";
      case p::Op::call:
        return "[call " + std::string(name) + "]";
      case p::Op::off_cpu:
        return "[" + std::string(p::off_cpu_cause(name)) + "]";
      case p::Op::graph:
      case p::Op::failed:
        return "[" + std::string(name) + "]";
      default:
        break;
    }
  }
  return std::string(kOpLabels.at(static_cast<size_t>(work.op)));
}

std::string idle_label(const p::Tables& tables, const p::Work& work) {
  if (p::is_thread_time(work.op)) {
    return work_label(tables, work);
  }
  if (p::work_kind(work.op) == p::WorkKind::host) {
    const std::string_view function = tables.text(work.name);
    return "[idle in " + (function.empty() ? std::string("a blocking call") : std::string(function)) + "]";
  }
  std::string next = work_label(tables, work);
  if (next.starts_with('[') && next.ends_with(']')) {
    next = next.substr(1, next.size() - 2);
  }
  return "[idle before " + next + "]";
}

std::string range_label(const p::Tables& tables, const p::Range& range) {
  const std::string_view name = or_unknown(tables.text(range.name));
  const std::string_view domain = tables.text(range.domain);
  return domain.empty() ? std::string(name) : std::string(domain).append(":").append(name);
}

std::string_view frame_name(const p::Tables& tables, p::Element element) {
  if (element.is_label) {
    return tables.label(element);
  }
  const p::Frame& frame = tables.frame(element);
  const std::string_view name = tables.text(frame.name);
  if (!name.empty()) {
    return name;
  }
  return frame.kind == p::FrameKind::truncated ? kTruncated : kUnknown;
}

bool shows_line(const p::Frame& frame) {
  return frame.kind == p::FrameKind::python || frame.kind == p::FrameKind::gpu;
}

std::string frame_label(const p::Tables& tables, p::Element element, const LabelOptions& options) {
  std::string label(frame_name(tables, element));
  if (element.is_label || !options.files) {
    return label;
  }
  const p::Frame& frame = tables.frame(element);
  const bool python = frame.kind == p::FrameKind::python;
  const std::string_view file = tables.text(frame.file);
  if ((options.lines || shows_line(frame)) && !file.empty()) {
    label.append(" (").append(python ? short_python_file(file) : file);
    if (options.numbers && frame.line != 0) {
      label.append(":").append(std::to_string(frame.line));
    }
    label += ')';
  }
  return label;
}

std::string_view without_parameters(std::string_view name) {
  std::string_view head =
      name.substr(0, name.ends_with(") const") ? name.size() - std::string_view(" const").size() : name.size());
  if (!head.ends_with(")")) {
    return name;
  }
  size_t depth = 0;
  while (!head.empty()) {
    const char c = head.back();
    head.remove_suffix(1);
    depth += c == ')' ? 1 : 0;
    depth -= c == '(' ? 1 : 0;
    if (depth == 0) {
      break;
    }
  }
  // Keep the name if it is only "operator()", whose brackets are not a parameter list, or if the result would be empty.
  return head.empty() || depth != 0 || head.ends_with("operator") || head.ends_with(" ") ? name : head;
}

std::string_view short_python_file(std::string_view file) {
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    const size_t at = file.rfind(folder);
    if (at != std::string_view::npos && at + folder.size() < file.size()) {
      return file.substr(at + folder.size());
    }
  }
  constexpr std::string_view kLibrary = "/lib/python3.";
  const size_t at = file.rfind(kLibrary);
  if (at == std::string_view::npos) {
    return file;
  }
  const size_t minor = at + kLibrary.size();
  const size_t end = file.find_first_not_of("0123456789", minor);
  const bool below = end != std::string_view::npos && end > minor && file[end] == '/' && end + 1 < file.size();
  return below ? file.substr(end + 1) : file;
}

FrameClass frame_class(const p::Tables& tables, p::Element element, bool kernel) {
  if (kernel) {
    return FrameClass::kernel;
  }
  if (element.is_label) {
    return FrameClass::native;
  }
  const p::Frame& frame = tables.frame(element);
  switch (frame.kind) {
    case p::FrameKind::native:
      return FrameClass::native;
    case p::FrameKind::inlined:
      return FrameClass::inlined;
    case p::FrameKind::kernel:
      return FrameClass::kernel;
    case p::FrameKind::python:
      return FrameClass::python;
    case p::FrameKind::interpreter:
      return FrameClass::interpreter;
    case p::FrameKind::gpu:
      return FrameClass::gpu;
    case p::FrameKind::unknown: {
      const std::string_view name = tables.text(frame.name);
      return name.empty() ? FrameClass::note : name == kNoPythonFrames ? FrameClass::mark : FrameClass::native;
    }
    case p::FrameKind::truncated:
      return FrameClass::note;
  }
  return FrameClass::note;
}

}  // namespace gpuprof::analyze
