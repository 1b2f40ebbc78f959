// Decides which frames of a CPU stack are shown. Folding, reports, latencies and traces all use it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analyze/names/frame_origin.h"
#include "analyze/names/labels.h"
#include "analyze/paths/flame_tree.h"
#include "base/text/pattern.h"
#include "profile/tables.h"

namespace gpuprof::analyze {

enum class PythonFrames : uint8_t {
  frames,  // Python frames, without the interpreter's machine code
  native,  // Python frames and the interpreter's machine code
  off,     // the interpreter's machine code, without Python frames
};

// Filters, applied in this order. Only trim_to removes the notes "[truncated]" and "[no Python frames]".
struct StackOptions {
  std::string trim_to;  // user stacks begin at their outermost frame of this function, if they have one
  // false: user stacks begin at `main` or at Python's <module> (which may follow runpy). Stacks that have neither, such
  // as those of threads, begin after libc's thread start. Ignored for a stack that has trim_to.
  bool from_start = false;
  PythonFrames python = PythonFrames::frames;
  std::vector<Pattern> only;  // show only frames whose name or label matches one of these patterns; empty: all frames
  std::vector<Pattern> hide;  // hide frames whose name or label matches one of these patterns
  // If a sequence of up to kLongestCycle functions repeats directly, show only the innermost repetition.
  bool collapse_recursion = false;
  // false: consecutive frames without a symbol in one installed library are one frame, "[libcublasLt.so.13]".
  bool addresses = false;
  bool lines = false;   // append " (file:line)" to native frames with a known line
  bool numbers = true;  // false: "(file)" instead of "(file:line)"
};

inline constexpr size_t kLongestCycle = 16;

// Limits the total text of labels with file and line, because a small file could make it huge. Beyond the limit, labels
// are only names.
inline constexpr size_t kMostComposedBytes = size_t{64} << 20U;

class StackView {
 public:
  // The tables must outlive the view, and may grow.
  StackView(const profile::Tables& tables, StackOptions options) : tables_(tables), options_(std::move(options)) {}

  // Returns the frames to show, outermost first, as numbers for label() and frame_class(). Valid until the next call.
  std::span<const uint32_t> frames(bool kernel, profile::StackId id);

  // Returns the stack elements of the last frames() result, in the same order.
  [[nodiscard]] std::span<const profile::Element> shown_elements() const { return path_elements_; }

  // Returns the number of a frame of a GPU code location, which is never hidden.
  uint32_t place_frame(profile::Element element) { return known(false, element).shown; }

  // Returns the number of a frame that is not in a stack: a kernel, or a note in a path. Options never hide it.
  uint32_t text(std::string_view label, FrameClass cls) { return show(label, label, {}, cls); }

  [[nodiscard]] const std::string& label(uint32_t frame) const { return shown_[frame].label; }
  // Return the two components of the label. `location` is "train.py:31", or empty if the label is only a name.
  [[nodiscard]] std::string_view name(uint32_t frame) const {
    return std::string_view(shown_[frame].label).substr(0, shown_[frame].name_size);
  }
  [[nodiscard]] std::string_view location(uint32_t frame) const;
  [[nodiscard]] FrameClass frame_class(uint32_t frame) const { return shown_[frame].cls; }

  // Returns the number of the frame's function. All frames of a function have the same number, whatever their line.
  [[nodiscard]] uint32_t function(uint32_t frame) const { return shown_[frame].function; }

  struct FunctionText {
    std::string_view name;
    std::string_view file;  // shortened source path of a Python function; empty for other functions
  };
  [[nodiscard]] FunctionText function_text(uint32_t function) const;

  // Returns the origin of the frame's code. If frames with different origins have one label, Origin::own wins.
  [[nodiscard]] Origin origin(uint32_t frame) const { return shown_[frame].origin; }

  // Returns the id of the stack that represents all stacks with the same shown frames.
  profile::StackId representative(bool kernel, profile::StackId id);

  struct Trimmed {
    uint64_t stacks = 0;
    uint64_t without = 0;
  };
  [[nodiscard]] const Trimmed& trimmed() const { return trimmed_; }

 private:
  // The role of a frame at the outermost end of a stack.
  enum class Role : uint8_t {
    other,
    start_up,  // libc code before main or before a thread's function
    runner,    // Python's runpy
    main,
    python_main,  // main of the program python3
    module,       // Python's <module>
  };
  struct Shown {
    std::string label;
    size_t name_size = 0;  // length of the name at the start of the label
    FrameClass cls = FrameClass::note;
    Origin origin = Origin::none;
    uint32_t function = 0;
    bool left_out = false;  // hidden by `hide` or `only`
    bool trim_here = false;
    bool unnamed = false;  // stands for all consecutive frames of this library without a symbol
  };
  struct Known {
    uint32_t shown = kNone;
    profile::FrameKind kind = profile::FrameKind::native;
    Role role = Role::other;
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  const Known& known(bool kernel, profile::Element element);
  [[nodiscard]] uint32_t find_or_show(profile::Element element, profile::FrameKind kind, FrameClass cls);
  [[nodiscard]] Known look_up(bool kernel, profile::Element element);
  uint32_t show(profile::Element element, FrameClass cls, const LabelOptions& options);
  uint32_t show(std::string_view label, std::string_view name, std::string_view file, FrameClass cls);
  bool composes(profile::Element element);
  std::optional<size_t> trim_begin(profile::StackId id, std::span<const profile::Element> elements);
  size_t program_begin(std::span<const profile::Element> elements, bool has_python);
  size_t after_start_up(std::span<const profile::Element> elements);
  [[nodiscard]] Role role_of(profile::Element element, FrameClass cls) const;
  [[nodiscard]] bool shows(const Known& frame, bool interpreter, bool has_python) const;
  void push(uint32_t frame, profile::Element element);

  const profile::Tables& tables_;
  StackOptions options_;
  std::vector<Known> known_[4];  // indexed by 2 * is_kernel_stack + is_label, then by the element's position
  std::deque<Shown> shown_;      // a deque, so that labels never move
  std::unordered_map<uint64_t, uint32_t> shown_by_name_;  // key: class and STRING, for labels without location
  size_t composed_bytes_ = 0;
  std::unordered_map<std::string, uint32_t> shown_ids_;  // key: class and label
  // Points to a function's name and file inside a key of function_ids_, which never moves.
  struct FunctionKey {
    const std::string* key = nullptr;
    size_t name_size = 0;
  };
  std::unordered_map<std::string, uint32_t> function_ids_;  // key: class, name and, for Python, file
  std::vector<FunctionKey> functions_;
  std::vector<uint32_t> path_;
  std::vector<profile::Element> path_elements_;
  std::unordered_map<uint32_t, uint32_t> representatives_[2];
  // Maps shown frames to the id of the stack that represents all stacks with these frames.
  std::unordered_map<std::u32string, uint32_t> contents_[2];
  std::unordered_set<uint32_t> counted_;
  Trimmed trimmed_;
};

}  // namespace gpuprof::analyze
