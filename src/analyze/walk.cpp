#include "analyze/walk.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "analyze/call_path.h"
#include "analyze/labels.h"
#include "analyze/sample_order.h"
#include "base/hash.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

// As in pictures: each range that work was done in has a path of its own, and a small file could ask for any amount of
// memory.
constexpr size_t kMostRangeFrames = 16'000'000;

bool is_graph_node(const p::Work& work) {
  return (work.flags & p::kWorkGraphNode) != 0 || index(work.capture) != 0;
}

bool is_zero(const WalkWeight& weight) {
  return weight.ns == 0 && weight.launches == 0 && weight.queue_ns == 0 && weight.bytes == 0 && weight.samples == 0;
}

std::vector<uint64_t> shares_of(const std::vector<StackDonors::Donor>& donors) {
  std::vector<uint64_t> shares(donors.size());
  std::transform(donors.begin(), donors.end(), shares.begin(), [](const auto& donor) { return donor.ns; });
  const auto all_zero = [&] { return std::all_of(shares.begin(), shares.end(), [](uint64_t s) { return s == 0; }); };
  if (all_zero()) {
    std::transform(donors.begin(), donors.end(), shares.begin(), [](const auto& donor) { return donor.count; });
  }
  if (all_zero()) {
    std::fill(shares.begin(), shares.end(), 1);
  }
  return shares;
}

std::vector<WalkWeight> split(const WalkWeight& weight, const std::vector<StackDonors::Donor>& donors) {
  const std::vector<uint64_t> shares = shares_of(donors);
  std::vector<WalkWeight> parts(donors.size());
  for (uint64_t WalkWeight::*const number :
       {&WalkWeight::ns, &WalkWeight::launches, &WalkWeight::queue_ns, &WalkWeight::bytes, &WalkWeight::samples}) {
    const std::vector<uint64_t> amounts = apportion(weight.*number, shares);
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i].*number = amounts[i];
    }
  }
  return parts;
}

}  // namespace

Walk::Walk(const Aggregate& rows, const StackOptions& stacks)
    : rows_(rows),
      tables_(rows.tables),
      stack_options_(stacks),
      instructions_(rows.info.kind == ProfileKind::stall_samples),
      view_(rows.tables, stacks),
      donors_(rows),
      total_{.ns = rows.total.ns,
             .launches = rows.total.count,
             .queue_ns = rows.queue_total_ns,
             .bytes = rows.total.bytes,
             .samples = rows.sample_count} {}

Status Walk::run(const Visit& visit) {
  parts_ = 0;
  for (const Row& row : rows_.rows) {
    if (Status visited = visit_row(row, visit); !visited) {
      return visited;
    }
  }
  const SampleOrder samples(rows_);
  for (size_t i = 0; i < samples.size(); ++i) {
    if (Status visited = visit_sample(samples.row(i), visit); !visited) {
      return visited;
    }
  }
  return {};
}

Status Walk::visit_row(const Row& row, const Visit& visit) {
  const auto position = static_cast<size_t>(&row - rows_.rows.data());
  const WalkWeight weight{.ns = row.weight.ns,
                          .launches = row.weight.count,
                          .queue_ns = position < rows_.queue_ns.size() ? rows_.queue_ns[position] : 0,
                          .bytes = row.weight.bytes};
  const p::Work& work = rows_.work(row);
  const FrameClass cls = row.kind == RowKind::gpu ? FrameClass::gpu : FrameClass::note;
  return each_part(work, weight, [&](const WalkWeight& part) {
    path_.push_back(work_frame(work, cls));
    return visit({.work = work,
                  .frames = path_,
                  .ustack = stacks_of_path_.ustack,
                  .kstack = stacks_of_path_.kstack,
                  .outer = outer_,
                  .weight = part});
  });
}

Status Walk::visit_sample(const SampleRow& row, const Visit& visit) {
  const p::Work& work = rows_.work(row);
  return each_part(work, {.samples = row.count}, [&](const WalkWeight& part) {
    path_.push_back(work_frame(work, FrameClass::gpu));
    put_place(row, work);
    return visit({.work = work,
                  .frames = path_,
                  .ustack = stacks_of_path_.ustack,
                  .kstack = stacks_of_path_.kstack,
                  .outer = outer_,
                  .stall = row.key.reason,
                  .weight = part});
  });
}

// Once for each stack that the work is shown under, with that in path_.
template <typename Emit>
Status Walk::each_part(const p::Work& work, const WalkWeight& weight, Emit emit) {
  if (is_zero(weight)) {
    return {};
  }
  if (!p::is_unsampled(work)) {
    put_path(work, {work.ustack, work.kstack, kNoCpuStack});
    return emit(weight);
  }
  static const std::vector<StackDonors::Donor> kNobody;
  const auto& donors = parts_ < StackDonors::kMostParts ? donors_.of(work) : kNobody;
  parts_ += donors.size();
  if (donors.empty()) {
    put_path(work, {work.ustack, work.kstack, kNotSampled});
    return emit(weight);
  }
  const std::vector<WalkWeight> parts = split(weight, donors);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (is_zero(parts[i])) {
      continue;
    }
    put_path(work, {donors[i].ustack, donors[i].kstack, kNoCpuStack});
    if (Status done = emit(parts[i]); !done) {
      return done;
    }
  }
  return {};
}

void Walk::put_path(const p::Work& work, const Stacks& stacks) {
  path_.clear();
  stacks_of_path_ = stacks;
  path_.push_back(process_frame(work));
  put_ranges(work.range);
  outer_ = path_.size();
  put_launch(stacks);
  if (is_graph_node(work)) {
    if (index(work.capture) != 0) {
      path_.push_back(text_frame(kCapturedAt, FrameClass::mark));
    }
    put_capture(work);
  }
}

uint32_t Walk::process_frame(const p::Work& work) {
  const auto [known, is_new] = processes_.try_emplace(index(work.process), 0);
  if (is_new) {
    known->second = text_frame(process_label(tables_, work), FrameClass::process);
  }
  return known->second;
}

void Walk::put_ranges(p::RangeId id) {
  if (index(id) == 0) {
    return;
  }
  const auto [known, is_new] = ranges_.try_emplace(index(id));
  if (is_new) {
    std::vector<uint32_t>& frames = known->second;
    for (const p::Range* range = tables_.range(id); range != nullptr; range = tables_.range(range->parent)) {
      const std::string_view name = tables_.text(range->name);
      const size_t composed = tables_.text(range->domain).size() + name.size();  // one domain may be that of many
      if (composed <= kMostComposedBytes - range_bytes_) {
        range_bytes_ += composed;
        frames.push_back(text_frame(range_label(tables_, *range), FrameClass::mark));
      } else {
        frames.push_back(text_frame(name.empty() ? kUnknown : name, FrameClass::mark));
      }
      if (range_frames_ >= kMostRangeFrames) {
        break;  // without what is around it
      }
    }
    range_frames_ += frames.size();
    std::reverse(frames.begin(), frames.end());
  }
  path_.insert(path_.end(), known->second.begin(), known->second.end());
}

void Walk::put_launch(const Stacks& stacks) {
  if (index(stacks.ustack) == 0 && index(stacks.kstack) == 0) {
    path_.push_back(text_frame(stacks.none, FrameClass::note));
    return;
  }
  const size_t before = path_.size();
  put_stack(false, stacks.ustack);
  if (index(stacks.kstack) != 0 && !is_hidden(true, stacks.kstack)) {
    path_.push_back(text_frame("-", FrameClass::separator));
    put_stack(true, stacks.kstack);
  }
  const bool user_hidden = is_hidden(false, stacks.ustack);
  const bool kernel_hidden = is_hidden(true, stacks.kstack);
  if (path_.size() == before && (user_hidden || kernel_hidden)) {
    path_.push_back(text_frame(kAllHidden, FrameClass::note));
  }
}

void Walk::put_capture(const p::Work& work) {
  if (index(work.capture) == 0) {
    path_.push_back(text_frame(no_capture_label(work), FrameClass::note));
    return;
  }
  put_stack(false, work.capture);
  if (is_hidden(false, work.capture)) {
    path_.push_back(text_frame(kAllHidden, FrameClass::note));
  }
}

void Walk::put_stack(bool kernel, p::StackId id) {
  if (index(id) != 0) {
    const std::vector<uint32_t>& frames = stack_frames(kernel, id);
    path_.insert(path_.end(), frames.begin(), frames.end());
  }
}

// As gpu_places.cpp shows a place: lines, the instruction, the stall, the offset.
void Walk::put_place(const SampleRow& row, const p::Work& work) {
  const p::GpuPlaceId id = row.key.place;
  const auto elements = tables_.place_frames(id);
  for (const p::Element element : elements) {
    path_.push_back(element_frame(Whose::place, element, view_.place_frame(element)));
  }
  const p::GpuPlace* const place = tables_.gpu_place(id);
  if (elements.empty()) {
    const size_t before = path_.size();
    const p::GpuModule* const module = place == nullptr ? nullptr : tables_.gpu_module(place->module);
    if (module != nullptr && index(module->name) != 0) {
      path_.push_back(string_frame(module->name, FrameClass::gpu, module));
    }
    if (place != nullptr && index(place->function) != 0 && place->function != work.name) {
      path_.push_back(string_frame(place->function, FrameClass::gpu));
    }
    if (path_.size() == before && !instructions_) {
      path_.push_back(text_frame(kUnknown, FrameClass::gpu));
    }
  }
  if (instructions_) {
    path_.push_back(string_frame(tables_.instruction(id).text, FrameClass::gpu_detail));
  }
  path_.push_back(string_frame(row.key.reason, FrameClass::gpu_detail));
  if (instructions_) {
    char text[20] = "0x";
    const auto end = std::to_chars(text + 2, text + sizeof text, place == nullptr ? 0 : place->offset, 16);
    path_.push_back(text_frame({text, static_cast<size_t>(end.ptr - text)}, FrameClass::gpu_detail));
  }
}

const std::vector<uint32_t>& Walk::stack_frames(bool kernel, p::StackId id) {
  const auto [known, is_new] = stacks_[kernel ? 1 : 0].try_emplace(index(id));
  if (is_new) {
    const auto shown = view_.frames(kernel, id);
    const auto elements = view_.shown_elements();
    known->second.reserve(shown.size());
    for (size_t i = 0; i < shown.size(); ++i) {
      known->second.push_back(element_frame(kernel ? Whose::kstack : Whose::ustack, elements[i], shown[i]));
    }
  }
  return known->second;
}

bool Walk::is_hidden(bool kernel, p::StackId id) {
  return !tables_.stack(kernel, id).empty() && stack_frames(kernel, id).empty();
}

uint32_t Walk::element_frame(Whose whose, p::Element element, uint32_t shown) {
  const uint64_t key =
      (uint64_t{static_cast<uint8_t>(whose)} << 33U) | (uint64_t{element.is_label} << 32U) | element.position;
  const auto [known, is_new] = element_ids_.try_emplace(key, static_cast<uint32_t>(frames_.size()));
  if (is_new) {
    WalkFrame& frame = frames_.emplace_back();
    frame.label = view_.label(shown);
    frame.name = frame_name(tables_, element);
    frame.cls = whose == Whose::place ? FrameClass::gpu : view_.frame_class(shown);
    if (!element.is_label) {
      const p::Frame& known_frame = tables_.frame(element);
      frame.file = tables_.text(known_frame.file);
      frame.line = stack_options_.numbers ? known_frame.line : 0;
      frame.module = tables_.text(known_frame.module);
      frame.build_id = tables_.text(known_frame.build_id);
      frame.address = known_frame.address;
    }
  }
  return known->second;
}

uint32_t Walk::work_frame(const p::Work& work, FrameClass cls) {
  const uint64_t key = (uint64_t{static_cast<uint8_t>(cls)} << 40U) | (uint64_t{static_cast<uint8_t>(work.op)} << 32U) |
                       index(work.name);
  const auto [known, is_new] = work_ids_.try_emplace(key);
  if (is_new) {
    known->second = text_frame(work_label(tables_, work), cls);
  }
  return known->second;
}

// `module`: the frame stands for it.
uint32_t Walk::string_frame(p::StringId id, FrameClass cls, const p::GpuModule* module) {
  const uint64_t key = module == nullptr ? join_ids(static_cast<uint8_t>(cls), index(id)) : index(module->id);
  const auto [known, is_new] = (module == nullptr ? string_ids_ : module_ids_).try_emplace(key);
  if (is_new) {
    const std::string_view text = tables_.text(id);
    known->second = text_frame(text.empty() ? kUnknown : text, cls);
    if (module != nullptr) {  // two modules of one name are two frames that look alike
      WalkFrame frame = frames_[known->second];
      frame.module = frame.label;
      frame.build_id = tables_.text(module->hash);
      known->second = static_cast<uint32_t>(frames_.size());
      frames_.push_back(frame);
    }
  }
  return known->second;
}

uint32_t Walk::text_frame(std::string_view text, FrameClass cls) {
  std::string key(1, static_cast<char>(cls));
  key.append(text);
  const auto [known, is_new] = text_ids_.try_emplace(std::move(key), static_cast<uint32_t>(frames_.size()));
  if (is_new) {
    // The key stays where it is.
    const std::string_view kept = std::string_view(known->first).substr(1);
    frames_.push_back({.label = kept, .name = kept, .cls = cls});
  }
  return known->second;
}

}  // namespace gpuprof::analyze
