// What of a CPU stack is shown: folding, reports, latencies and traces all look at stacks through this.
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

// In stacks that have Python frames.
enum class PythonFrames : uint8_t {
  frames,  // Python's frames; the interpreter's own machine code is left out
  native,  // both
  off,     // the interpreter's machine code; Python's frames are left out
};

// The steps are taken in this order. "[truncated]" and "[no Python frames]" are no frames to hide: only what lies
// rootward of trim_to takes them away.
struct StackOptions {
  std::string trim_to;  // user stacks begin at their outermost frame of this function, where they have it
  // false: user stacks begin where the program does, at `main` or at <module> (of Python, behind at most the runpy
  // module), and those that have neither, as threads do, behind the code of libc that starts a thread. Not where
  // trim_to is found.
  bool from_start = false;
  PythonFrames python = PythonFrames::frames;
  std::vector<Pattern> only;  // frames of which one of these matches the name or the label; empty: all
  std::vector<Pattern> hide;  // no frames of which one of these does
  // Wherever up to kLongestCycle functions follow themselves directly, only the innermost occurrence stays.
  bool collapse_recursion = false;
  bool lines = false;   // append " (file:line)" to native frames that have one
  bool numbers = true;  // false: "(file)" where "(file:line)" would be
};

inline constexpr size_t kLongestCycle = 16;

// Labels with a file and a line are as many as there are lines, each with all of a name. Beyond this much text further
// ones are the name alone, or a small file could ask for any amount of memory.
inline constexpr size_t kMostComposedBytes = size_t{64} << 20U;

class StackView {
 public:
  // The tables must outlive the view. They may grow meanwhile.
  StackView(const profile::Tables& tables, StackOptions options) : tables_(tables), options_(std::move(options)) {}

  // The frames that are shown, root first, for label() and frame_class(). Valid until the next call.
  std::span<const uint32_t> frames(bool kernel, profile::StackId id);

  // The elements of the stack that the frames of the last frames() are, one for each.
  [[nodiscard]] std::span<const profile::Element> shown_elements() const { return path_elements_; }

  // A frame of a place in GPU code, which is always shown; for label().
  uint32_t place_frame(profile::Element element) { return known(false, element).shown; }

  // A frame that is no element of a stack: the kernel, or a note in a path. It is shown whatever the options hide.
  uint32_t text(std::string_view label, FrameClass cls) { return show(label, label, {}, cls); }

  [[nodiscard]] const std::string& label(uint32_t frame) const { return shown_[frame].label; }
  // The label in its two parts; `location` is "train.py:31", empty where the label is a name alone.
  [[nodiscard]] std::string_view name(uint32_t frame) const {
    return std::string_view(shown_[frame].label).substr(0, shown_[frame].name_size);
  }
  [[nodiscard]] std::string_view location(uint32_t frame) const;
  [[nodiscard]] FrameClass frame_class(uint32_t frame) const { return shown_[frame].cls; }

  // Whose line a frame is: the same number for all lines of a function, inlined or not.
  [[nodiscard]] uint32_t function(uint32_t frame) const { return shown_[frame].function; }

  struct FunctionText {
    std::string_view name;
    std::string_view file;  // short, of a Python function; else empty
  };
  [[nodiscard]] FunctionText function_text(uint32_t function) const;

  // Whose code it is. Of frames that are shown alike, and of which some are the user's own, all are.
  [[nodiscard]] Origin origin(uint32_t frame) const { return shown_[frame].origin; }

  // A stack that is shown alike: the same one for all that are.
  profile::StackId representative(bool kernel, profile::StackId id);

  // Of the user stacks looked at so far.
  struct Trimmed {
    uint64_t stacks = 0;
    uint64_t without = 0;  // they do not have the function of trim_to
  };
  [[nodiscard]] const Trimmed& trimmed() const { return trimmed_; }

 private:
  // What a frame is at a stack's root.
  enum class Role : uint8_t {
    other,
    start_up,  // of libc: before main, or a thread's function
    runner,    // Python's runpy
    main,
    python_main,  // main of the program python3
    module,       // Python's <module>
  };
  struct Shown {
    std::string label;
    size_t name_size = 0;  // of the label
    FrameClass cls = FrameClass::note;
    Origin origin = Origin::none;
    uint32_t function = 0;  // the same for all lines of a function
    bool left_out = false;  // by `hide` or `only`
    bool trim_here = false;
  };
  struct Known {
    uint32_t shown = kNone;
    profile::FrameKind kind = profile::FrameKind::native;
    Role role = Role::other;
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  const Known& known(bool kernel, profile::Element element);
  [[nodiscard]] uint32_t look_up_shown(profile::Element element, profile::FrameKind kind, FrameClass cls);
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
  std::vector<Known> known_[4];  // by position of an element; frames and labels, of kernel stacks or not
  std::deque<Shown> shown_;      // stay where they are
  std::unordered_map<uint64_t, uint32_t> shown_by_name_;  // by class and STRING: labels that are a name alone
  size_t composed_bytes_ = 0;                             // of labels that are more than a name
  std::unordered_map<std::string, uint32_t> shown_ids_;   // by class and label
  // Where a function's name and file lie in its key, which stays where it is.
  struct FunctionKey {
    const std::string* key = nullptr;
    size_t name_size = 0;
  };
  std::unordered_map<std::string, uint32_t> function_ids_;  // by class, name and a Python function's file
  std::vector<FunctionKey> functions_;
  std::vector<uint32_t> path_;  // what frames() returns
  std::vector<profile::Element> path_elements_;
  std::unordered_map<uint32_t, uint32_t> representatives_[2];
  std::unordered_map<std::u32string, uint32_t> contents_[2];  // the frames of a representative -> its id
  std::unordered_set<uint32_t> counted_;
  Trimmed trimmed_;
};

}  // namespace gpuprof::analyze
