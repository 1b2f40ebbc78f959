#include "output/export/perfetto_stacks.h"

#include "analyze/labels.h"
#include "base/utf8.h"
#include "output/export/perfetto_fields.h"
#include "output/export/protobuf.h"
#include "output/text.h"

namespace gpuprof::output::perfetto {
namespace {

namespace p = gpuprof::profile;

constexpr uint32_t kFieldOf[Interned::kTables] = {
    interned::kEventCategories, interned::kEventNames,   interned::kDebugAnnotationNames, interned::kFunctionNames,
    interned::kBuildIds,        interned::kMappingPaths, interned::kSourcePaths,
};

int digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Perfetto has build ids as bytes. What is no hexadecimal number stays as it is.
std::string build_id_bytes(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    const int high = digit(hex[i]);
    const int low = digit(hex[i + 1]);
    if (high < 0 || low < 0) {
      return std::string(hex);
    }
    bytes += static_cast<char>(high * 16 + low);
  }
  return hex.size() % 2 == 0 ? bytes : std::string(hex);
}

}  // namespace

uint64_t Interned::text(Table table, std::string_view value) {
  auto& texts = texts_[static_cast<size_t>(table)];
  const auto [known, is_new] = texts.try_emplace(std::string(value), texts.size() + 1);
  if (is_new) {
    std::string entry;
    Protobuf message(entry);
    message.number(interned_text::kIid, known->second);
    message.bytes(interned_text::kText, table == Table::build_ids ? build_id_bytes(value) : escaped(shown_text(value)));
    Protobuf(new_).bytes(kFieldOf[static_cast<size_t>(table)], entry);
  }
  return known->second;
}

uint64_t Interned::call_stack(const Stacks& stacks) {
  if (stacks == Stacks{}) {
    return 0;
  }
  const auto [known, is_new] = call_stacks_.try_emplace(stacks, call_stacks_.size() + 1);
  if (is_new) {
    path_.clear();
    put_stack(false, stacks.ustack);
    put_stack(true, stacks.kstack);
    if (index(stacks.capture) != 0) {
      path_.push_back(note(analyze::kCapturedAt));
      put_stack(false, stacks.capture);
    }
    std::string entry;
    Protobuf message(entry);
    message.number(callstack::kIid, known->second);
    for (const uint64_t frame : path_) {
      message.number(callstack::kFrameIds, frame);
    }
    Protobuf(new_).bytes(interned::kCallstacks, entry);
  }
  return known->second;
}

void Interned::put_stack(bool kernel, p::StackId id) {
  if (index(id) == 0) {
    return;
  }
  if (view_.is_hidden(kernel, id)) {
    path_.push_back(note(analyze::kAllHidden));
    return;
  }
  const auto shown = view_.frames(kernel, id);
  const auto elements = view_.shown_elements();
  for (size_t i = 0; i < shown.size(); ++i) {
    path_.push_back(frame(kernel, elements[i], shown[i]));
  }
}

uint64_t Interned::frame(bool kernel, p::Element element, uint32_t shown) {
  const uint64_t key = (uint64_t{kernel} << 33U) | (uint64_t{element.is_label} << 32U) | element.position;
  if (const auto known = frames_.find(key); known != frames_.end()) {
    return known->second;
  }
  if (element.is_label) {
    return frames_.emplace(key, note(view_.label(shown))).first->second;
  }
  const p::Frame& known = tables_.frame(element);
  const uint64_t id = ++frame_count_;
  std::string entry;
  Protobuf message(entry);
  message.number(perfetto::frame::kIid, id);
  message.number(perfetto::frame::kFunctionNameId, text(Table::functions, analyze::frame_name(tables_, element)));
  if (index(known.module) != 0) {
    message.number(perfetto::frame::kMappingId, mapping(known));
    message.present(perfetto::frame::kRelPc, known.address);
  }
  if (index(known.file) != 0) {
    message.number(perfetto::frame::kSourcePathIid, text(Table::source_paths, tables_.text(known.file)));
    message.number(perfetto::frame::kLineNumber, known.line);
  }
  Protobuf(new_).bytes(interned::kFrames, entry);
  return frames_.emplace(key, id).first->second;
}

// A frame that is a text alone.
uint64_t Interned::note(std::string_view value) {
  const auto [known, is_new] = notes_.try_emplace(std::string(value), frame_count_ + 1);
  if (is_new) {
    ++frame_count_;
    std::string entry;
    Protobuf message(entry);
    message.number(perfetto::frame::kIid, known->second);
    message.number(perfetto::frame::kFunctionNameId, text(Table::functions, value));
    Protobuf(new_).bytes(interned::kFrames, entry);
  }
  return known->second;
}

uint64_t Interned::mapping(const p::Frame& frame) {
  const auto [known, is_new] =
      mappings_.try_emplace(join_ids(index(frame.module), index(frame.build_id)), mappings_.size() + 1);
  if (is_new) {
    std::string entry;
    Protobuf message(entry);
    message.number(perfetto::mapping::kIid, known->second);
    if (index(frame.build_id) != 0) {
      message.number(perfetto::mapping::kBuildId, text(Table::build_ids, tables_.text(frame.build_id)));
    }
    message.number(perfetto::mapping::kPathStringIds, text(Table::mapping_paths, tables_.text(frame.module)));
    Protobuf(new_).bytes(interned::kMappings, entry);
  }
  return known->second;
}

}  // namespace gpuprof::output::perfetto
