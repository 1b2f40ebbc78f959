// Collects frames with all details that the profile knows, for export to other tools.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/paths/flame_tree.h"
#include "analyze/paths/work_paths.h"
#include "profile/tables.h"

namespace gpuprof::analyze {

struct WalkFrame {
  std::string_view label;     // as `flame` shows it; not empty
  std::string_view name;      // function, without file and line
  std::string_view file;      // recorded path of the source file; empty: unknown
  std::string_view module;    // path of the mapped file, or name of the GPU module; empty: unknown
  std::string_view build_id;  // build id of the module; empty: unknown
  uint64_t address = 0;       // ELF virtual address in the module; 0: unknown
  uint32_t line = 0;
  FrameClass cls = FrameClass::note;
};

class WalkFrames {
 public:
  // The tables must outlive the object, and may grow.
  WalkFrames(const profile::Tables& tables, const StackOptions& stacks)
      : tables_(tables), numbers_(stacks.numbers), paths_(tables, stacks) {
    paths_.keep_elements();
  }

  WorkPaths& paths() { return paths_; }

  // Returns the frame ids of a path segment. Ids are small and stable, but the span is valid only until the next call.
  std::span<const uint32_t> of(WorkPaths::PathSegment part);
  uint32_t of_place(profile::Element element) {
    return of_element(ElementSource::place, element, paths_.view().place_frame(element));
  }
  uint32_t text(uint32_t shown);  // returns the frame id; `shown` is a frame number of the StackView
  uint32_t text(std::string_view label, FrameClass cls) { return text(paths_.view().text(label, cls)); }
  uint32_t add(const WalkFrame& frame);

  [[nodiscard]] const WalkFrame& frame(uint32_t id) const { return frames_[id]; }
  [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(frames_.size()); }

 private:
  enum class ElementSource : uint8_t { ustack, kstack, place };
  void add_part(WorkPaths::PathSegment part);
  uint32_t of_element(ElementSource whose, profile::Element element, uint32_t shown);

  const profile::Tables& tables_;
  bool numbers_;
  WorkPaths paths_;
  std::deque<WalkFrame> frames_;
  std::unordered_map<uint32_t, uint32_t> texts_;     // key: frame number in the StackView
  std::unordered_map<uint64_t, uint32_t> elements_;  // key: element of a stack or of a code location
  std::vector<uint32_t> ids_;
  size_t known_parts_ = 0;
};

}  // namespace gpuprof::analyze
