#include "output/export/perfetto_stacks.h"

#include <algorithm>

#include "base/text/utf8.h"
#include "output/export/perfetto_fields.h"
#include "output/export/protobuf.h"
#include "output/text.h"

namespace gpuprof::output::perfetto {
namespace {

constexpr uint32_t kFieldOf[Interned::kTables] = {
    interned::kEventCategories, interned::kEventNames,   interned::kDebugAnnotationNames, interned::kFunctionNames,
    interned::kBuildIds,        interned::kMappingPaths, interned::kSourcePaths,
};

int digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Returns the bytes of a hexadecimal build id, as Perfetto stores it. Returns any other text unchanged.
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
    Protobuf(new_).message(kFieldOf[static_cast<size_t>(table)], [&, id = known->second](Protobuf& message) {
      message.number(interned_text::kIid, id);
      message.bytes(interned_text::kText,
                    table == Table::build_ids ? build_id_bytes(value) : escaped(shown_text(value)));
    });
  }
  return known->second;
}

uint64_t Interned::call_stack(const analyze::LaunchSite& site) {
  if (site == analyze::LaunchSite{}) {
    return 0;
  }
  const auto [known, is_new] = call_stacks_.try_emplace(site, call_stacks_.size() + 1);
  if (is_new) {
    path_.clear();
    for (const analyze::WorkPaths::PathSegment part : frames_.paths().launch(site)) {
      for (const uint32_t id : frames_.of(part)) {
        path_.push_back(frame(id));
      }
    }
    Protobuf(new_).message(interned::kCallstacks, [&, id = known->second](Protobuf& message) {
      message.number(callstack::kIid, id);
      for (const uint64_t frame : path_) {
        message.number(callstack::kFrameIds, frame);
      }
    });
  }
  return known->second;
}

uint64_t Interned::frame(uint32_t id) {
  if (id >= frame_ids_.size()) {
    frame_ids_.resize(std::max<size_t>(id + size_t{1}, 2 * frame_ids_.size()));
  }
  uint64_t& known = frame_ids_[id];
  if (known == 0) {
    const analyze::WalkFrame& frame = frames_.frame(id);
    known = ++frame_count_;
    Protobuf(new_).message(interned::kFrames, [&](Protobuf& message) {
      message.number(perfetto::frame::kIid, known);
      message.number(perfetto::frame::kFunctionNameId, text(Table::functions, frame.name));
      if (!frame.module.empty()) {
        message.number(perfetto::frame::kMappingId, mapping(frame));
        message.present(perfetto::frame::kRelPc, frame.address);
      }
      if (!frame.file.empty()) {
        message.number(perfetto::frame::kSourcePathIid, text(Table::source_paths, frame.file));
        message.number(perfetto::frame::kLineNumber, frame.line);
      }
    });
  }
  return known;
}

uint64_t Interned::mapping(const analyze::WalkFrame& frame) {
  const auto [known, is_new] = mappings_.try_emplace(std::pair(frame.module, frame.build_id), mappings_.size() + 1);
  if (is_new) {
    Protobuf(new_).message(interned::kMappings, [&, id = known->second](Protobuf& message) {
      message.number(perfetto::mapping::kIid, id);
      if (!frame.build_id.empty()) {
        message.number(perfetto::mapping::kBuildId, text(Table::build_ids, frame.build_id));
      }
      message.number(perfetto::mapping::kPathStringIds, text(Table::mapping_paths, frame.module));
    });
  }
  return known->second;
}

}  // namespace gpuprof::output::perfetto
