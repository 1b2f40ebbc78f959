#include "analyze/paths/fold.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "analyze/names/zebin_kernels.h"
#include "analyze/paths/extrapolation.h"
#include "analyze/stalls/gpu_places.h"
#include "analyze/stalls/sample_order.h"
#include "base/hash.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

// Decides whether a path of NVTX ranges matches `--nvtx-range`.
class RangeFilter {
 public:
  RangeFilter(const p::Tables& tables, const std::string& wanted) : tables_(tables), wanted_(wanted) {}

  bool passes(p::RangeId id) {
    if (index(id) == 0 || wanted_.empty()) {
      return index(id) != 0;
    }
    const auto [known, is_new] = known_.try_emplace(index(id), false);
    if (is_new) {
      known->second = search(id);
    }
    return known->second;
  }

 private:
  [[nodiscard]] bool search(p::RangeId id) const {
    for (const p::Range* range = tables_.range(id); range != nullptr; range = tables_.range(range->parent)) {
      const std::string_view name = tables_.text(range->name);
      const std::string_view domain = tables_.text(range->domain);
      const bool with_domain = wanted_.size() == name.size() + 1 + domain.size() && wanted_.starts_with(name) &&
                               wanted_[name.size()] == '@' && wanted_.ends_with(domain);
      if (name == wanted_ || with_domain) {
        return true;
      }
    }
    return false;
  }

  const p::Tables& tables_;
  const std::string& wanted_;
  std::unordered_map<uint32_t, bool> known_;
};

bool is_of_samples(const Aggregate& rows, Measure measure) {
  return measure == Measure::samples || (measure == Measure::gpu && rows.info.kind == ProfileKind::stall_samples);
}

Leaves leaves_of(const Aggregate& rows, const FoldOptions& options) {
  if (options.leaves) {
    return *options.leaves;
  }
  if (is_of_samples(rows, options.measure)) {
    return {Leaf::line, Leaf::instruction, Leaf::stall, Leaf::offset};
  }
  return rows.info.samples_are_reliable() ? Leaves{Leaf::line, Leaf::stall} : Leaves{};
}

class TreeBuilder {
 public:
  TreeBuilder(const Aggregate& rows, const FoldOptions& options, FoldResult& result)
      : rows_(rows),
        tables_(rows.tables),
        options_(options),
        paths_(rows.tables, options.stacks, options.graph),
        view_(paths_.view()),
        result_(result),
        tree_(result.tree),
        places_(rows.tables, view_, result.tree, result.leaves),
        extrapolation_(rows),
        filter_(rows.tables, options.range),
        host_(host_of(rows.info)) {}

  void build() {
    add_all();
    result_.trimmed = view_.trimmed();
  }

 private:
  static constexpr LabelId kNoLabel{UINT32_MAX};

  void add_all() {
    if (is_of_samples(rows_, options_.measure)) {
      return add_samples();
    }
    switch (options_.measure) {
      case Measure::gpu:
      case Measure::busy:
      case Measure::exclusive:
        return add_rows();
      case Measure::samples:
        return;
      case Measure::idle:
        for (const IdleRow& row : rows_.idle) {
          add_idle(row);
        }
        return;
      default:
        return add_host_rows(host_op(options_.measure).value());
    }
  }

  void add_rows() {
    if (result_.leaves.empty()) {
      for (const Row& row : rows_.rows) {
        add_row(row, nullptr);
      }
      return;
    }
    const SampleOrder samples(rows_);
    std::vector<bool> timed(tables_.works().size());
    for (const Row& row : rows_.rows) {
      timed[row.ref] = timed[row.ref] || row.weight.ns > 0;
      add_row(row, &samples);
    }
    for (const SampleRow& row : rows_.samples) {
      result_.apportioned.untimed += timed[tables_.position(row.key.work)] ? 0 : row.count;
    }
  }

  void add_row(const Row& row, const SampleOrder* samples) {
    Weight weight = row.weight;
    if (options_.measure != Measure::gpu) {
      weight.ns = options_.measure == Measure::busy ? row.busy_ns : row.exclusive_ns;
    }
    const p::Work& work = rows_.work(row);
    const LabelId leaf = work_leaf(work, row.kind == RowKind::gpu ? FrameClass::gpu : FrameClass::note);
    if (samples != nullptr && row.kind == RowKind::gpu && weight.ns > 0 && share_out(*samples, row)) {
      add_work(work, work.device, weight, TimeEnd{leaf, *samples});
    } else {
      add_work(work, work.device, weight, leaf);
    }
  }

  // Prepares apportioning the row's time among its samples. Returns false if the row has no samples, or if the number
  // of samples times extrapolated stacks is too large.
  bool share_out(const SampleOrder& samples, const Row& row) {
    const uint32_t begin = samples.begin(row.ref);
    const uint32_t end = samples.end(row.ref);
    const p::Work& work = rows_.work(row);
    if (begin == end || (options_.ranges == RangeFrames::filter && !filter_.passes(work.range))) {
      return false;
    }
    const size_t stacks =
        is_spread(work) && p::is_unsampled(work) ? std::max<size_t>(extrapolation_.of(work).size(), 1) : 1;
    if (stacks > 1 && shared_parts_ + stacks * (end - begin) > StackExtrapolation::kMostParts) {
      return false;
    }
    shared_parts_ += stacks > 1 ? stacks * (end - begin) : 0;
    first_shared_ = begin;
    shares_.clear();
    uint64_t count = 0;
    uint64_t without_lines = 0;
    for (uint32_t i = begin; i < end; ++i) {
      const SampleRow& sample = samples.row(i);
      shares_.push_back(sample.count);
      count += sample.count;
      const p::GpuPlaceId place = sample.key.place;
      if (index(place) != 0 && tables_.place_frames(place).empty()) {
        without_lines += sample.count;
        result_.apportioned.without_in_zebins += in_zebin(tables_, place) ? sample.count : 0;
      }
    }
    result_.apportioned.samples += count;
    result_.apportioned.without_lines += without_lines;
    return count > 0;
  }

  // Adds samples in the order of work and code location: consecutive samples then share most lookups and memory.
  void add_samples() {
    // Prefetch distance in rows. The hardware cannot prefetch the rows, because `order` is not the order in memory.
    constexpr size_t kAhead = 16;
    const SampleOrder order(rows_);
    tree_.reserve(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      if (i + kAhead < order.size()) {
        __builtin_prefetch(&order.row(i + kAhead));
      }
      const SampleRow& row = order.row(i);
      const p::Work& work = rows_.work(row);
      add_work(work, work.device, {.count = row.count}, sample_end(row));
    }
    while (waiting_.added != waiting_.queued) {
      add_oldest_leaf();
    }
  }

  void add_host_rows(p::Op op) {
    for (const Row& row : rows_.host) {
      const p::Work& work = rows_.work(row);
      if (work.op == op) {
        add_work(work, work.device, row.weight, work_leaf(work, FrameClass::event));
      }
    }
  }

  void add_idle(const IdleRow& row) {
    const Weight weight{.ns = row.ns};
    const p::Work* work = tables_.work(row.work);
    if (work != nullptr) {
      add_work(*work, row.device, weight, idle_leaf(*work));
    } else if (options_.ranges != RangeFrames::filter) {
      const p::Work none;
      tree_.add(tree_.child(dimensions(none, row.device), kNothingLaunched, FrameClass::event), weight);
    }
  }

  // Caches leaves: many work items share few operations and names, and a name may be long.
  LabelId idle_leaf(const p::Work& work) {
    const uint64_t key = (uint64_t{static_cast<uint8_t>(work.op)} << 32U) | index(work.name);
    const auto [known, is_new] = idle_leaves_.try_emplace(key, kNoLabel);
    if (is_new) {
      known->second = tree_.label(tree_.intern(idle_label(tables_, work)), FrameClass::event);
    }
    return known->second;
  }
  LabelId work_leaf(const p::Work& work, FrameClass cls) { return label_of(paths_.work(work, cls)); }

  // Adds the path of the work. `end` adds the frames that follow the launch's stack.
  template <typename End>
  void add_work(const p::Work& work, p::DeviceId device, const Weight& weight, const End& end) {
    if (options_.ranges == RangeFrames::filter && !filter_.passes(work.range)) {
      return;
    }
    const auto add = [&](const LaunchSite& site, const Weight& part) {
      if (p::is_unsampled(work) && !is_shown_by_capture(work)) {
        (site.has_stack() ? result_.spread : result_.not_sampled) += part;
      }
      add_end(work_path(work, device, site), end, part);
    };
    is_spread(work) ? extrapolation_.each_part(work, weight, add) : add(site_of(work), weight);
  }

  // True for graph nodes that are shown only under the call that captured them. Their launch's stack is not needed.
  [[nodiscard]] bool is_shown_by_capture(const p::Work& work) const {
    return options_.graph == GraphStacks::capture && site_of(work).is_graph_node();
  }
  [[nodiscard]] bool is_spread(const p::Work& work) const { return options_.spread && !is_shown_by_capture(work); }

  // Returns the tree node of the work's --by frames, below which the work's path begins.
  NodeId dimensions(const p::Work& work, p::DeviceId device) {
    NodeId node = FlameTree::kRoot;
    for (const Dimension dimension : options_.by) {
      node = tree_.child(node, dimension_label(tables_, dimension, work, device, host_), FrameClass::process);
    }
    return node;
  }

  NodeId work_path(const p::Work& work, p::DeviceId device, const LaunchSite& site) {
    const bool own = site.ustack == work.ustack && site.kstack == work.kstack;
    if (!own || &work != last_work_ || device != last_device_) {
      last_path_ = make_work_path(work, device, site);
      last_work_ = own ? &work : nullptr;
      last_device_ = device;
    }
    return last_path_;
  }

  NodeId make_work_path(const p::Work& work, p::DeviceId device, const LaunchSite& site) {
    NodeId node = tree_.descend(dimensions(work, device), run_of(paths_.process(work)));
    if (options_.ranges == RangeFrames::frames) {
      node = tree_.descend(node, run_of(paths_.ranges(work.range)));
    }
    for (const WorkPaths::PathSegment part : paths_.launch(site)) {
      node = tree_.descend(node, run_of(part));
    }
    for (const WorkPaths::PathSegment part : paths_.waker(work)) {
      node = tree_.descend(node, run_of(part));
    }
    return node;
  }

  // Returns the labels of a path segment's frames. Converts each segment only once, because many rows share it.
  FlameTree::Run run_of(WorkPaths::PathSegment part) {
    while (runs_.size() <= part) {
      path_.clear();
      for (const uint32_t frame : paths_.frames(static_cast<WorkPaths::PathSegment>(runs_.size()))) {
        path_.push_back(label_of(frame));
      }
      runs_.push_back(tree_.keep(path_));
    }
    return runs_[part];
  }

  void add_end(NodeId path, LabelId leaf, const Weight& weight) { tree_.add(tree_.child(path, leaf), weight); }

  // Apportions a kernel's time among the samples in shares_. The launch count goes to the kernel's frame.
  struct TimeEnd {
    LabelId kernel{};
    const SampleOrder& samples;
  };

  void add_end(NodeId path, const TimeEnd& end, const Weight& weight) {
    const NodeId kernel = tree_.child(path, end.kernel);
    tree_.add(kernel, {.count = weight.count, .bytes = weight.bytes});
    const std::vector<uint64_t> parts = apportion(weight.ns, shares_);
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i] == 0) {
        continue;
      }
      const SampleEnd sample = sample_end(end.samples.row(first_shared_ + i));
      const NodeId place = tree_.descend(kernel, sample.above);
      tree_.add(tree_.descend(tree_.descend(place, sample.reason), sample.below), {.ns = parts[i]});
    }
  }

  // A sample's frames, outermost first. `above` and `below` are the code location's frames around the stall reason.
  struct SampleEnd {
    LabelId kernel{};
    FlameTree::Run above;
    FlameTree::Run reason;
    FlameTree::Run below;
  };
  // A queued leaf. While it waits in the queue, its memory is prefetched.
  struct Waiting {
    NodeId parent = FlameTree::kRoot;
    FlameTree::Run run;
    Weight weight;
  };
  static constexpr size_t kWaiting = 16;

  void add_end(NodeId path, const SampleEnd& end, const Weight& weight) {
    if (path != last_end_.path || end.kernel != last_end_.kernel || end.above.begin != last_end_.above.begin ||
        end.above.size != last_end_.above.size) {
      last_end_ = {.path = path, .kernel = end.kernel, .above = end.above};
      last_end_.node = tree_.descend(tree_.child(path, end.kernel), end.above);
    }
    if (waiting_.queued - waiting_.added == kWaiting) {
      add_oldest_leaf();
    }
    const Waiting leaf = end.below.size == 0 ? Waiting{last_end_.node, end.reason, weight}
                                             : Waiting{tree_.descend(last_end_.node, end.reason), end.below, weight};
    if (leaf.run.size > 0) {
      tree_.prefetch(leaf.parent, leaf.run);
    }
    waiting_.leaves[waiting_.queued++ % kWaiting] = leaf;
  }

  void add_oldest_leaf() {
    const Waiting& leaf = waiting_.leaves[waiting_.added++ % kWaiting];
    tree_.add(tree_.descend(leaf.parent, leaf.run), leaf.weight);
  }

  SampleEnd sample_end(const SampleRow& row) {
    const p::Work& work = rows_.work(row);
    if (last_place_ == nullptr || row.key.place != last_place_id_ || work.name != last_place_kernel_) {
      last_place_ = &places_.shown(row.key.place, work.name);
      last_place_id_ = row.key.place;
      last_place_kernel_ = work.name;
    }
    if (&work != last_sampled_) {
      last_sampled_ = &work;
      last_kernel_ = work_leaf(work, FrameClass::gpu);
    }
    const GpuPlaces::Shown& place = *last_place_;
    SampleEnd end{.kernel = last_kernel_, .above = place.above, .below = place.below};
    if (places_.shows_stall()) {
      end.reason = tree_.run(places_.text_label(row.key.reason, FrameClass::gpu_detail));
    }
    return end;
  }

  LabelId label_of(uint32_t frame) {
    if (frame >= labels_.size()) {
      labels_.resize(std::max<size_t>(frame + size_t{1}, 2 * labels_.size()), kNoLabel);
    }
    LabelId& label = labels_[frame];
    if (label == kNoLabel) {
      label = tree_.label(tree_.intern(view_.label(frame)), view_.frame_class(frame));
    }
    return label;
  }

  const Aggregate& rows_;
  const p::Tables& tables_;
  const FoldOptions& options_;
  WorkPaths paths_;
  StackView& view_;
  std::vector<LabelId> labels_;  // indexed by frame of view_; kNoLabel until the frame is converted
  FoldResult& result_;
  FlameTree& tree_;
  GpuPlaces places_;
  StackExtrapolation extrapolation_;
  RangeFilter filter_;
  std::string_view host_;
  size_t shared_parts_ = 0;  // sum over all extrapolated rows of samples * stacks; must not exceed kMostParts
  uint32_t first_shared_ = 0;
  std::vector<uint64_t> shares_;  // sample counts, starting at first_shared_
  // Results of the last lookups, because consecutive rows are often alike. Node ids stay valid after split().
  const p::Work* last_work_ = nullptr;  // last work shown under its own, not extrapolated, stacks
  p::DeviceId last_device_{};
  NodeId last_path_ = FlameTree::kRoot;
  const p::Work* last_sampled_ = nullptr;
  LabelId last_kernel_{};
  const GpuPlaces::Shown* last_place_ = nullptr;
  p::GpuPlaceId last_place_id_{};
  p::StringId last_place_kernel_{};
  struct {
    NodeId path = FlameTree::kRoot;  // kRoot: the cache is empty
    LabelId kernel{};
    FlameTree::Run above;
    NodeId node = FlameTree::kRoot;  // node of the last frame of `above`
  } last_end_;
  struct {
    std::array<Waiting, kWaiting> leaves;
    size_t queued = 0;  // number of leaves queued so far, including those that have left the queue
    size_t added = 0;
  } waiting_;
  std::vector<LabelId> path_;
  std::vector<FlameTree::Run> runs_;                   // indexed by PathSegment
  std::unordered_map<uint64_t, LabelId> idle_leaves_;  // key: operation and name
};

}  // namespace

FoldResult fold(const Aggregate& rows, const FoldOptions& options) {
  FoldResult result;
  static_cast<ProfileInfo&>(result) = rows.info;
  result.has_shares = rows.has_shares;
  result.leaves = leaves_of(rows, options);
  TreeBuilder(rows, options, result).build();
  return result;
}

AggregateOptions needed_for(Measure measure) {
  AggregateOptions needed;
  needed.idle = measure == Measure::idle;
  needed.host = needed.idle || host_op(measure);
  return needed;
}

Result<FoldResult> fold(profile::Reader& reader, const FoldOptions& options) {
  auto rows = aggregate(reader, needed_for(options.measure));
  if (!rows) {
    return std::move(rows).error();
  }
  return fold(*rows, options);
}

}  // namespace gpuprof::analyze
