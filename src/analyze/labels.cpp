#include "analyze/labels.h"

#include "profile/words.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

std::string_view or_unknown(std::string_view text) {
  return text.empty() ? kUnknown : text;
}

std::string_view op_label(p::Op op) {
  switch (op) {
    case p::Op::kernel:
      return kUnknown;  // a kernel without a name
    case p::Op::copy_htod:
      return "[copy HtoD]";
    case p::Op::copy_dtoh:
      return "[copy DtoH]";
    case p::Op::copy_dtod:
      return "[copy DtoD]";
    case p::Op::copy_htoh:
      return "[copy HtoH]";
    case p::Op::copy_ptop:
      return "[copy PtoP]";
    case p::Op::copy:
      return "[copy]";
    case p::Op::fill:
      return "[fill]";
    case p::Op::other:
      return "[other GPU work]";
  }
  return kUnknown;
}

}  // namespace

std::string_view process_label(const p::Tables& tables, const RowKey& key) {
  if (key.kind == RowKind::stall) {
    return or_unknown(tables.text(p::StringId{key.process}));
  }
  const p::Process* process = tables.process(p::ProcessId{key.process});
  return process == nullptr ? kUnknown : or_unknown(tables.text(process->name));
}

std::string work_label(const p::Tables& tables, const RowKey& key) {
  switch (key.kind) {
    case RowKind::gpu: {
      const std::string_view name = tables.text(p::StringId{key.name});
      const bool named = !name.empty() && (key.op == p::Op::kernel || key.op == p::Op::other);
      return std::string(named ? name : op_label(key.op));
    }
    case RowKind::launch: {
      const std::string_view name = tables.text(p::StringId{key.name});
      return name.empty() ? "[launches]" : "[" + std::string(name) + " launches]";
    }
    case RowKind::stall:
      return std::string(or_unknown(tables.gpu_symbol(key.name)));
  }
  return std::string(kUnknown);
}

std::string stall_label(uint32_t stall_type) {
  const std::string_view known = p::stall_type_word(stall_type);
  if (!known.empty()) {
    return std::string(known);
  }
  return stall_type == 0 ? std::string(kUnknown) : "[stall type " + std::to_string(stall_type) + "]";
}

std::string frame_label(const p::Tables& tables, p::Element element, const LabelOptions& options) {
  if (element.is_label) {
    return std::string(tables.label(element));
  }
  const p::Frame& frame = tables.frame(element);
  std::string_view name = tables.text(frame.name);
  if (name.empty()) {
    name = frame.kind == p::FrameKind::truncated ? "[truncated]" : kUnknown;
  }
  std::string label(name);
  const std::string_view file = tables.text(frame.file);
  if (options.lines && !file.empty()) {
    label.append(" (").append(file);
    if (frame.line != 0) {
      label.append(":").append(std::to_string(frame.line));
    }
    label += ')';
  }
  return label;
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
    case p::FrameKind::unknown:
      return tables.text(frame.name).empty() ? FrameClass::note : FrameClass::native;
    case p::FrameKind::truncated:
      return FrameClass::note;
  }
  return FrameClass::note;
}

}  // namespace gpuprof::analyze
