#include "analyze/paths/walk.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "analyze/names/labels.h"
#include "analyze/stalls/sample_order.h"
#include "base/hash.h"

namespace gpuprof::analyze {
namespace p = gpuprof::profile;

Walk::Walk(const Aggregate& rows, const StackOptions& stacks)
    : rows_(rows),
      tables_(rows.tables),
      stack_options_(stacks),
      instructions_(rows.info.kind == ProfileKind::stall_samples),
      frames_(rows.tables, stacks),
      extrapolation_(rows),
      total_{.ns = rows.total.ns,
             .launches = rows.total.count,
             .queue_ns = rows.queue_total_ns,
             .bytes = rows.total.bytes,
             .samples = rows.sample_count} {}

Status Walk::run(const Visit& visit) {
  extrapolation_.restart();
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
    path_.push_back(frames_.text(paths_.work(work, cls)));
    return visit({.work = work,
                  .frames = path_,
                  .ustack = site_.ustack,
                  .kstack = site_.kstack,
                  .outer = outer_,
                  .weight = part});
  });
}

Status Walk::visit_sample(const SampleRow& row, const Visit& visit) {
  const p::Work& work = rows_.work(row);
  return each_part(work, {.samples = row.count}, [&](const WalkWeight& part) {
    path_.push_back(frames_.text(paths_.work(work, FrameClass::gpu)));
    put_place(row, work);
    return visit({.work = work,
                  .frames = path_,
                  .ustack = site_.ustack,
                  .kstack = site_.kstack,
                  .outer = outer_,
                  .stall = row.key.reason,
                  .weight = part});
  });
}

template <typename Emit>
Status Walk::each_part(const p::Work& work, const WalkWeight& weight, Emit emit) {
  Status done;
  if (!is_zero(weight)) {
    extrapolation_.each_part(work, weight, [&](const LaunchSite& site, const WalkWeight& part) {
      if (done) {
        put_path(work, site);
        done = emit(part);
      }
    });
  }
  return done;
}

void Walk::put_path(const p::Work& work, const LaunchSite& site) {
  path_.clear();
  site_ = site;
  put(paths_.process(work));
  put(paths_.ranges(work.range));
  outer_ = path_.size();
  for (const WorkPaths::PathSegment part : paths_.launch(site)) {
    put(part);
  }
}

void Walk::put(WorkPaths::PathSegment part) {
  const std::span<const uint32_t> frames = frames_.of(part);
  path_.insert(path_.end(), frames.begin(), frames.end());
}

// Appends a code location in the same order as gpu_places.cpp: lines, instruction, stall, offset.
void Walk::put_place(const SampleRow& row, const p::Work& work) {
  const p::GpuPlaceId id = row.key.place;
  const auto elements = tables_.place_frames(id);
  for (const p::Element element : elements) {
    path_.push_back(frames_.of_place(element));
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
      path_.push_back(frames_.text(kUnknown, FrameClass::gpu));
    }
  }
  if (instructions_) {
    path_.push_back(string_frame(tables_.instruction(id).text, FrameClass::gpu_detail));
  }
  path_.push_back(string_frame(row.key.reason, FrameClass::gpu_detail));
  if (instructions_) {
    char text[20] = "0x";
    const auto end = std::to_chars(text + 2, text + sizeof text, place == nullptr ? 0 : place->offset, 16);
    path_.push_back(frames_.text({text, static_cast<size_t>(end.ptr - text)}, FrameClass::gpu_detail));
  }
}

// Returns the frame for a text, or for a module's name if `module` is not null. Each module gets its own frame, even if
// modules have equal names.
uint32_t Walk::string_frame(p::StringId id, FrameClass cls, const p::GpuModule* module) {
  const uint64_t key = module == nullptr ? join_ids(static_cast<uint8_t>(cls), index(id)) : index(module->id);
  const auto [known, is_new] = (module == nullptr ? string_ids_ : module_ids_).try_emplace(key);
  if (is_new) {
    const std::string_view text = tables_.text(id);
    known->second = frames_.text(text.empty() ? kUnknown : text, cls);
    if (module != nullptr) {
      WalkFrame frame = frames_.frame(known->second);
      frame.module = frame.label;
      frame.build_id = tables_.text(module->hash);
      known->second = frames_.add(frame);
    }
  }
  return known->second;
}

}  // namespace gpuprof::analyze
