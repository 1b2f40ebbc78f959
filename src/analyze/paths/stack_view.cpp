#include "analyze/paths/stack_view.h"

#include <algorithm>
#include <utility>

#include "analyze/names/labels.h"
#include "base/process/start_up.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

bool matches_any(const std::vector<Pattern>& patterns, const std::string& name, const std::string& label) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const Pattern& pattern) {
    return pattern.matches(label) || (name != label && pattern.matches(name));
  });
}

// Recognizes libc frames without a symbol by the module name in the label: "[libc.so.6+0x2a1ca]".
bool is_start_up(std::string_view name) {
  constexpr std::string_view kBegins[] = {"[libc.so.6+", "[libpthread.so.0+", "[ld-linux"};
  return is_start_up_function(name) || std::any_of(std::begin(kBegins), std::end(kBegins),
                                                   [name](std::string_view begin) { return name.starts_with(begin); });
}

// Compares only this much of a name with main(), because many frames of a hostile profile may have names of megabytes.
constexpr size_t kMostMain = 4096;

std::string view_key_of(FrameClass cls, std::string_view text) {
  return std::string(1, static_cast<char>(cls)).append(text);
}

}  // namespace

std::span<const uint32_t> StackView::frames(bool kernel, p::StackId id) {
  path_.clear();
  path_elements_.clear();
  const std::span<const p::Element> elements = tables_.stack(kernel, id);
  const bool has_python = std::any_of(elements.begin(), elements.end(), [&](p::Element element) {
    return known(kernel, element).kind == p::FrameKind::python;
  });
  const auto trimmed = kernel ? std::nullopt : trim_begin(id, elements);
  const bool whole = kernel || trimmed || options_.from_start;
  const size_t program = whole ? 0 : program_begin(elements, has_python);
  bool interpreter = false;
  for (size_t i = trimmed.value_or(0); i < elements.size(); ++i) {
    const Known& frame = known(kernel, elements[i]);
    // Code inlined into the interpreter is also interpreter code.
    interpreter = frame.kind == p::FrameKind::interpreter || (frame.kind == p::FrameKind::inlined && interpreter);
    // The code before `program` is left out, but not the notes about incomplete stacks there.
    const bool is_note = frame.kind == p::FrameKind::truncated || shown_[frame.shown].cls == FrameClass::mark;
    if ((i >= program || is_note) && shows(frame, interpreter, has_python)) {
      push(frame.shown, elements[i]);
    }
  }
  return path_;
}

// Returns where the program's own code begins: at main or at the first <module>, whichever comes first. A <module> that
// a thread or an import runs does not count: frames other than the interpreter and runpy precede it.
size_t StackView::program_begin(std::span<const p::Element> elements, bool has_python) {
  const bool only_python = has_python && options_.python == PythonFrames::frames;
  bool python_before = false;
  for (size_t i = 0; i < elements.size(); ++i) {
    const Known& frame = known(false, elements[i]);
    const Role role = frame.role;
    const bool interpreters = frame.kind == p::FrameKind::interpreter || role == Role::python_main;
    if ((role == Role::main || role == Role::python_main) && !python_before && !(only_python && interpreters)) {
      return i;
    }
    if (role == Role::module && !python_before && options_.python != PythonFrames::off) {
      return i;
    }
    python_before = python_before || (frame.kind == p::FrameKind::python && role != Role::runner);
  }
  return after_start_up(elements);
}

size_t StackView::after_start_up(std::span<const p::Element> elements) {
  size_t begin = 0;
  for (size_t i = 0; i < elements.size(); ++i) {
    const Known& frame = known(false, elements[i]);
    if (frame.role == Role::start_up) {
      begin = i + 1;
    } else if (shown_[frame.shown].cls != FrameClass::mark) {
      break;  // start-up code is outermost, so any other frame ends it, even "[truncated]"
    }
  }
  return begin < elements.size() ? begin : 0;  // if this would hide all frames, show all of them
}

StackView::Role StackView::role_of(p::Element element, FrameClass cls) const {
  const std::string_view name = frame_name(tables_, element);
  if (cls == FrameClass::python) {
    const std::string_view file = tables_.text(tables_.frame(element).file);
    return name == "<module>"                                        ? Role::module
           : file == "<frozen runpy>" || file.ends_with("/runpy.py") ? Role::runner
                                                                     : Role::other;
  }
  if (cls != FrameClass::native && cls != FrameClass::interpreter) {
    return Role::other;
  }
  if (name.starts_with("main") && without_parameters(name.substr(0, kMostMain)) == "main") {
    const std::string_view module = element.is_label ? std::string_view() : tables_.text(tables_.frame(element).module);
    return module.substr(module.rfind('/') + 1).starts_with("python") ? Role::python_main : Role::main;
  }
  return is_start_up(name) ? Role::start_up : Role::other;
}

bool StackView::shows(const Known& frame, bool interpreter, bool has_python) const {
  if (frame.kind == p::FrameKind::truncated) {
    return true;
  }
  const Shown& shown = shown_[frame.shown];
  const bool of_python = frame.kind == p::FrameKind::python || shown.cls == FrameClass::mark;
  if (of_python && options_.python == PythonFrames::off) {
    return false;
  }
  if (interpreter && has_python && options_.python == PythonFrames::frames) {
    return false;
  }
  return shown.cls == FrameClass::mark || !shown.left_out;
}

// Appends a frame. If the path then ends with two equal sequences of functions, removes one of them. Earlier calls have
// removed all earlier repetitions.
void StackView::push(uint32_t frame, p::Element element) {
  if (shown_[frame].unnamed && !path_.empty() && path_.back() == frame) {
    return;
  }
  path_.push_back(frame);
  path_elements_.push_back(element);
  if (!options_.collapse_recursion) {
    return;
  }
  const auto same = [this](uint32_t a, uint32_t b) { return shown_[a].function == shown_[b].function; };
  for (size_t length = 1; length <= kLongestCycle && 2 * length <= path_.size(); ++length) {
    const auto last = path_.end() - static_cast<std::ptrdiff_t>(length);
    const auto before = last - static_cast<std::ptrdiff_t>(length);
    if (std::equal(last, path_.end(), before, same)) {
      path_.erase(before, last);
      path_elements_.erase(path_elements_.end() - static_cast<std::ptrdiff_t>(2 * length),
                           path_elements_.end() - static_cast<std::ptrdiff_t>(length));
      return;
    }
  }
}

std::string_view StackView::location(uint32_t frame) const {
  constexpr size_t kAround = 3;  // length of " (" and ")"
  const std::string_view rest = std::string_view(shown_[frame].label).substr(shown_[frame].name_size);
  return rest.size() <= kAround ? std::string_view() : rest.substr(2, rest.size() - kAround);
}

StackView::FunctionText StackView::function_text(uint32_t function) const {
  const FunctionKey& known = functions_[function];
  const std::string_view text = std::string_view(*known.key).substr(1);
  const std::string_view name = text.substr(0, known.name_size);
  return {name, name.size() == text.size() ? std::string_view() : text.substr(name.size() + 1)};
}

std::optional<size_t> StackView::trim_begin(p::StackId id, std::span<const p::Element> elements) {
  if (options_.trim_to.empty()) {
    return std::nullopt;
  }
  const auto found = std::find_if(elements.begin(), elements.end(),
                                  [this](p::Element element) { return shown_[known(false, element).shown].trim_here; });
  const bool has = found != elements.end();
  if (!elements.empty() && counted_.insert(index(id)).second) {
    ++trimmed_.stacks;
    trimmed_.without += has ? 0 : 1;
  }
  return has ? std::optional(static_cast<size_t>(found - elements.begin())) : std::nullopt;
}

p::StackId StackView::representative(bool kernel, p::StackId id) {
  if (index(id) == 0) {
    return id;
  }
  const auto [found, added] = representatives_[kernel ? 1 : 0].try_emplace(index(id), index(id));
  if (added) {
    const auto shown = frames(kernel, id);
    found->second =
        contents_[kernel ? 1 : 0].try_emplace(std::u32string(shown.begin(), shown.end()), index(id)).first->second;
  }
  return p::StackId{found->second};
}

const StackView::Known& StackView::known(bool kernel, p::Element element) {
  std::vector<Known>& row = known_[(kernel ? 2 : 0) + (element.is_label ? 1 : 0)];
  if (element.position >= row.size()) {
    row.resize(std::max<size_t>(element.position + size_t{1}, 2 * row.size()));
  }
  Known& frame = row[element.position];
  if (frame.shown == kNone) {
    frame = look_up(kernel, element);
  }
  return frame;
}

// Returns true if the frame's label is "name (file:line)". If so, adds the label's size to composed_bytes_.
bool StackView::composes(p::Element element) {
  if (element.is_label) {
    return false;
  }
  const p::Frame& frame = tables_.frame(element);
  const std::string_view file = tables_.text(frame.file);
  if (file.empty() || (!shows_line(frame) && !options_.lines)) {
    return false;
  }
  const size_t bytes = frame_name(tables_, element).size() + file.size();
  if (bytes > kMostComposedBytes - composed_bytes_) {
    return false;
  }
  composed_bytes_ += bytes;
  return true;
}

StackView::Known StackView::look_up(bool kernel, p::Element element) {
  const p::FrameKind kind = element.is_label ? p::FrameKind::native : tables_.frame(element).kind;
  const FrameClass cls = analyze::frame_class(tables_, element, kernel);
  const std::string_view library =
      kernel || options_.addresses ? std::string_view() : unnamed_library(tables_, element);
  if (!library.empty() && role_of(element, cls) == Role::other) {
    const std::string label = "[" + std::string(library) + "]";
    const uint32_t shown = show(label, label, {}, cls);
    shown_[shown].unnamed = true;
    return {shown, kind, Role::other};
  }
  const uint32_t shown = find_or_show(element, kind, cls);
  shown_[shown].origin = std::min(shown_[shown].origin, origin_of(tables_, element, kernel));
  return {shown, kind, role_of(element, cls)};
}

uint32_t StackView::find_or_show(p::Element element, p::FrameKind kind, FrameClass cls) {
  if (element.is_label || composes(element)) {
    return show(element, cls, {.lines = options_.lines, .numbers = options_.numbers});
  }
  // Caches by name, because many frames share few names, and a name may be long.
  const uint64_t key = (uint64_t{static_cast<uint8_t>(cls)} << 40U) | (uint64_t{static_cast<uint8_t>(kind)} << 32U) |
                       index(tables_.frame(element).name);
  const auto [found, added] = shown_by_name_.try_emplace(key, kNone);
  if (added) {
    found->second = show(element, cls, {.files = false});
  }
  return found->second;
}

uint32_t StackView::show(p::Element element, FrameClass cls, const LabelOptions& options) {
  const bool has_file = cls == FrameClass::python && options.files;
  return show(frame_label(tables_, element, options), frame_name(tables_, element),
              has_file ? short_python_file(tables_.text(tables_.frame(element).file)) : std::string_view(), cls);
}

// `file` distinguishes Python functions of the same name.
uint32_t StackView::show(std::string_view label, std::string_view name, std::string_view file, FrameClass cls) {
  const auto [found, added] = shown_ids_.try_emplace(view_key_of(cls, label), static_cast<uint32_t>(shown_.size()));
  if (!added) {
    return found->second;
  }
  // Inlined calls and real calls of a function count as the same function for recursion.
  std::string function = view_key_of(cls == FrameClass::inlined ? FrameClass::native : cls, name);
  if (cls == FrameClass::python) {
    function.append(1, '\0').append(file);
  }
  Shown& shown = shown_.emplace_back();
  shown.label = label;
  shown.name_size = name.size();
  shown.cls = cls;
  const auto [known, is_new] =
      function_ids_.try_emplace(std::move(function), static_cast<uint32_t>(function_ids_.size()));
  if (is_new) {
    functions_.push_back({&known->first, name.size()});
  }
  shown.function = known->second;
  const std::string known_name(name);
  shown.left_out = (!options_.only.empty() && !matches_any(options_.only, known_name, shown.label)) ||
                   matches_any(options_.hide, known_name, shown.label);
  const std::string& wanted = options_.trim_to;
  shown.trim_here = !wanted.empty() && (name == wanted || without_parameters(name) == wanted || label == wanted);
  return found->second;
}

}  // namespace gpuprof::analyze
