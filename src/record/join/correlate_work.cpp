// GPU and host work: found its launch, interned, added up.

#include <algorithm>

#include "record/join/correlate.h"

namespace gpuprof::record {
namespace {

// Work whose launch or name has not come yet is tried again this many turns (of some milliseconds each): the BPF ring
// buffer and the wire's rings are filled by different CPUs.
constexpr unsigned kMaxTurns = 50;
constexpr size_t kMaxWaiting = 200'000;
constexpr size_t kMaxBodies = 200'000;             // in one turn
constexpr size_t kMaxEvents = 4'000'000;           // lines of the timeline that wait for a slow disk
constexpr uint64_t kClockSlackNs = 2'000'000'000;  // work that ends later than now: a clock that is not ours

constexpr profile::Op kGpuOps[GPUPROF_OPS] = {
    profile::Op::kernel,    profile::Op::copy_htod, profile::Op::copy_dtoh, profile::Op::copy_dtod,
    profile::Op::copy_htoh, profile::Op::copy_ptop, profile::Op::copy,      profile::Op::fill,
    profile::Op::other,     profile::Op::graph,
};
constexpr profile::Op kHostOps[GPUPROF_HOST_OPS] = {
    profile::Op::sync,      profile::Op::alloc,        profile::Op::free,         profile::Op::fault_gpu,
    profile::Op::fault_cpu, profile::Op::migrate_htod, profile::Op::migrate_dtoh,
};

// A graph launch has no last piece of work: it goes so long after the latest one. Of the timeline's calls, some come
// only after the work, in another ring: they want the stack, too.
constexpr uint64_t kKeepGraphNs = 10'000'000'000;
constexpr uint64_t kKeepCallNs = 500'000'000;

// CUPTI hands over what has run at least once a second: by then, what ran before and after some work is known.
constexpr uint64_t kHoldBodyNs = 1'500'000'000;
static_assert(kHoldBodyNs > GPUPROF_IDLE_FLUSH_NS);

// Every sum of a profile must fit into 64 bits, whatever a target claims: what would not is not taken.
bool add_if_it_fits(uint64_t& total, uint64_t value) {
  constexpr uint64_t kMax = uint64_t{1} << 62;
  if (value > kMax - total) {
    return false;
  }
  total += value;
  return true;
}

// Of one of the launches of a graph, which all can have caused it (see GraphLaunches).
bool is_of_any(const backend::GpuOp& op) {
  return op.exec != 0 && op.correlation == 0;
}

uint64_t thread_key(uint32_t pid, uint32_t tid) {
  return tid == 0 ? 0 : uint64_t{pid} << 32 | tid;
}

}  // namespace

void Correlator::on_gpu_op(const backend::GpuOp& op) {
  if (op.exec != 0) {
    bodies_.push_back({op, now_ns_});
    if (bodies_.size() >= kMaxBodies) {
      settle_bodies(false, nullptr);
    }
    return;
  }
  graph_launches_.ran(op);
  if (!try_gpu_op(op, waiting_.size() < kMaxWaiting ? Patience::fresh : Patience::none)) {
    waiting_.push_back({op, 0});
  }
}

void Correlator::on_host_op(const backend::HostOp& op) {
  if (!try_host_op(op, waiting_host_.size() < kMaxWaiting ? Patience::fresh : Patience::none)) {
    waiting_host_.push_back({op, 0});
  }
}

GraphLaunches::Site Correlator::site_of(backend::SourceId source, const backend::GraphLaunch& call) {
  using Kind = GraphLaunches::Site::Kind;
  if (call.outside) {
    return {.kind = Kind::outside};
  }
  if (call.unsampled) {
    return {.kind = Kind::unsampled, .tid = call.tid, .range = call.range};
  }
  const Launch* known = launches_.find(source, call.correlation);
  return known == nullptr
             ? GraphLaunches::Site{}
             : GraphLaunches::Site{
                   .kind = Kind::recorded, .tid = known->tid, .range = known->range, .stack = known->stack};
}

bool Correlator::are_of_one_site(backend::SourceId source, std::span<GraphLaunches::Launch> launches) {
  if (launches.size() == 1) {
    return true;
  }
  for (GraphLaunches::Launch& launch : launches) {
    if (launch.site.kind == GraphLaunches::Site::Kind::unknown) {
      launch.site = site_of(source, launch.call);
    }
    if (launch.site.kind == GraphLaunches::Site::Kind::unknown || launch.site != launches.front().site) {
      return false;
    }
  }
  return !launches.empty();
}

// It has GPU work, though perhaps nobody knows whether this is its own.
void Correlator::match_graph_launch(Source& source, backend::SourceId id, GraphLaunches::Launch& launch) {
  Launch* known = launches_.find(id, launch.call.correlation);
  if (!launch.matched && launch.call.unsampled) {
    source.coverage.launch_matched();
    launches_.insert(id, launch.call.correlation,
                     {.orphan = true, .matched = true, .keep_until_ns = now_ns_ + kKeepGraphNs});
  } else if (!launch.matched && known != nullptr && !known->matched) {
    source.coverage.launch_matched();
    launches_.match(id, launch.call.correlation, *known, now_ns_ + kKeepGraphNs);
  }
  launch.matched = true;
}

// Whose work it is. False: that may become known, when more has been read of what ran before and after. With `last`,
// work that several launches may have caused, which differ in what they are charged to, stays without one.
bool Correlator::find_graph_launch(Source& source, backend::GpuOp& op, bool last) {
  const auto launches = graph_launches_.candidates(op);
  GraphLaunches::Launch* found = nullptr;
  if (are_of_one_site(op.source, launches)) {
    // Any of them will do, but each should have some.
    const auto idle =
        std::find_if(launches.begin(), launches.end(), [](const auto& launch) { return !launch.matched; });
    found = idle == launches.end() ? &launches.back() : &*idle;
  } else if (last) {
    found = graph_launches_.by_order(op, launches);
  } else {
    return false;
  }
  if (found != nullptr) {
    found->matched = true;
    op.correlation = found->call.correlation;
    op.unsampled = found->call.unsampled;
    op.outside = found->call.outside;
    op.tid = op.unsampled ? found->call.tid : 0;
    op.range = op.unsampled ? found->call.range : 0;
    return true;
  }
  for (GraphLaunches::Launch& launch : launches) {
    op.outside = op.outside || launch.call.outside;  // not counted rather than counted where it may not belong
    match_graph_launch(source, op.source, launch);
  }
  return true;
}

void Correlator::settle_bodies(bool last, const Source* only) {
  const auto is_wanted = [&](const Body& body) { return only == nullptr || find_source(body.op.source) == only; };
  const auto take = [&](Body& body, bool now) {
    Source* source = find_source(body.op.source);
    if (source != nullptr && !find_graph_launch(*source, body.op, now)) {
      return false;
    }
    const bool wait = !last && waiting_.size() < kMaxWaiting;
    if (!try_gpu_op(body.op, wait ? Patience::settled : Patience::none)) {
      waiting_.push_back({body.op, 0});
    }
    return true;
  };
  for (Body& body : bodies_) {
    const bool full = held_bodies_.size() >= kMaxWaiting;
    if (!is_wanted(body) || !take(body, last || full)) {
      held_bodies_.push_back(body);
    }
  }
  bodies_.clear();
  if (last) {
    std::erase_if(held_bodies_, [&](Body& body) { return is_wanted(body) && take(body, true); });
  }
  for (; !held_bodies_.empty() && held_bodies_.front().came_ns + kHoldBodyNs <= now_ns_; held_bodies_.pop_front()) {
    take(held_bodies_.front(), true);
  }
}

// `only`: of this source, which has ended.
void Correlator::settle_work(bool last, const Source* only) {
  settle_bodies(last, only);
  const auto patience = [&](unsigned& turns) {
    return last || ++turns >= kMaxTurns ? Patience::none : Patience::settled;
  };
  std::erase_if(waiting_, [&](auto& waiting) {
    return (only == nullptr || find_source(waiting.op.source) == only) &&
           try_gpu_op(waiting.op, patience(waiting.turns));
  });
  std::erase_if(waiting_host_, [&](auto& waiting) {
    return (only == nullptr || find_source(waiting.op.source) == only) &&
           try_host_op(waiting.op, patience(waiting.turns));
  });
}

uint64_t Correlator::capture_of(const backend::GpuOp& op, const Launch* launch) const {
  return nodes_.stack(op.source, op.graph_node, launch == nullptr ? 0 : launch->time_ns);
}

// Of a graph's node as it was told when the node was made, where its work does not say.
uint32_t Correlator::name_id_of(const backend::GpuOp& op, const Launch* launch) const {
  if (op.name_id != 0 || op.graph_node == 0 || op.op != GPUPROF_OP_KERNEL) {
    return op.name_id;
  }
  return nodes_.name(op.source, op.graph_node, launch == nullptr ? 0 : launch->time_ns);
}

NameIndex Correlator::work_name(const Source& source, const backend::GpuOp& op, const Launch* launch) {
  const uint32_t id = name_id_of(op, launch);
  if (id == 0) {
    if (op.op != GPUPROF_OP_KERNEL) {
      return 0;
    }
    add_loss(source.image->process->id, "kernel_name", 1);
    return names_.intern(GPUPROF_UNKNOWN_KERNEL);
  }
  const auto named = source.names.find(id);
  if (named == source.names.end()) {
    ++late_names_;
    return names_.intern("[unnamed kernel]");
  }
  if (op.graph_node != 0 && op.name_id != 0) {
    nodes_.named(op.source, op.graph_node, op.name_id, launch == nullptr ? 0 : launch->time_ns);
  }
  return named->second;
}

// Whether everything that the work refers to is known, or need not be waited for.
bool Correlator::is_ready(Source& source, const backend::GpuOp& op, const Launch* launch, Patience patience) {
  if (patience == Patience::none) {
    return true;
  }
  const uint32_t name_id = name_id_of(op, launch);
  if ((launch == nullptr && !is_of_any(op) && !op.unsampled && have_launches_) ||
      (name_id != 0 && !source.names.contains(name_id))) {
    return false;
  }
  const bool knows_stacks = (launch == nullptr || knows_stack(*source.image, launch->stack)) &&
                            (op.graph_node == 0 || knows_stack(*source.image, capture_of(op, launch)));
  if (!knows_stacks) {
    return false;
  }
  const uint32_t range = op.unsampled ? op.range : launch != nullptr ? launch->range : 0;
  return patience == Patience::settled ||
         (source.devices.contains(op.device) && (op.graph_node == 0 || nodes_.knows(op.source, op.graph_node)) &&
          (range == 0 || knows_range(source, range)));
}

bool Correlator::is_recorded_at(uint64_t ns) const {
  return std::any_of(windows_.begin(), windows_.end(),
                     [ns](const profile::Window& window) { return ns >= window.start_ns && ns < window.end_ns; });
}

// Accounts for the work. False: it has to wait.
bool Correlator::try_gpu_op(const backend::GpuOp& op, Patience patience) {
  Source* source = find_source(op.source);
  if (source == nullptr) {
    return true;
  }
  Launch* launch = is_of_any(op) ? nullptr : launches_.find(op.source, op.correlation);
  if (!is_ready(*source, op, launch, patience)) {
    return false;
  }
  if (op.outside) {
    source->coverage.outside();
    return true;
  }
  // While recording is off a vendor's library goes on for a while; launches are not told of.
  if (launch == nullptr && !op.unsampled && !is_recorded_at(op.start_ns)) {
    ++totals_.off_records;
    return true;
  }
  if (!add_if_it_fits(sums_.bytes, op.bytes) || !add_if_it_fits(totals_.gpu_ns, op.end_ns - op.start_ns)) {
    ++sums_.refused;
    return true;
  }
  WorkKey key = work_key(*source, op, launch);
  const profile::WorkId work = intern(*source->image, key);
  count_gpu_op(*source, op, key, launch);
  add_times(op, key, work, launch == nullptr ? 0 : launch->time_ns);
  match_launch(*source, op, launch);
  return true;
}

WorkKey Correlator::work_key(Source& source, const backend::GpuOp& op, const Launch* launch) {
  WorkKey key;
  key.process = source.image->process->id;
  if (const auto device = source.devices.find(op.device); device != source.devices.end()) {
    key.device = device->second;
  }
  key.stream = op.stream;
  key.op = kGpuOps[op.op];
  key.name = work_name(source, op, launch);
  if (op.unsampled) {
    key.flags |= profile::kWorkUnsampled;
    key.tid = op.tid;
    key.thread = thread_name(source.pid, op.tid);
    key.range = range_of(source, op.range);
  } else if (launch != nullptr) {
    key.tid = launch->tid;
    key.thread = launch->thread;
    key.range = range_of(source, launch->range);
    key.stack = need_stack(*source.image, launch->stack) ? launch->stack : 0;
  }
  if (op.graph_node != 0) {
    key.flags |= profile::kWorkGraphNode | (source.pid == options_.attach_pid ? profile::kWorkAttached : 0);
    const uint64_t capture = capture_of(op, launch);
    key.capture = need_stack(*source.image, capture) ? capture : 0;
  }
  return key;
}

void Correlator::count_gpu_op(Source& source, const backend::GpuOp& op, const WorkKey& key, const Launch* launch) {
  ++totals_.gpu_records;
  if (op.unsampled) {
    ++totals_.unsampled_records;
  } else if (key.stack != 0) {
    ++totals_.with_stack;
  } else if (options_.stacks_wanted) {
    source.coverage.without_stack();
  }
  if (!op.unsampled && (launch == nullptr || launch->orphan)) {
    source.coverage.without_launch();
  }
}

// A launch of which more work may come keeps an entry, or gets one: it must be counted once.
void Correlator::match_launch(Source& source, const backend::GpuOp& op, Launch* launch) {
  if (is_of_any(op)) {
    return;
  }
  if (launch == nullptr) {
    op.unsampled ? source.coverage.launch_matched() : source.coverage.orphan_matched();
    if (op.more) {
      launches_.insert(op.source, op.correlation,
                       {.orphan = true, .matched = true, .keep_until_ns = now_ns_ + kKeepGraphNs});
    }
    return;
  }
  if (!launch->matched) {
    source.coverage.launch_matched();
  }
  const uint64_t keep_ns = op.more ? kKeepGraphNs : options_.timeline ? kKeepCallNs : 0;
  launches_.match(op.source, op.correlation, *launch, keep_ns == 0 ? 0 : now_ns_ + keep_ns);
}

// Beyond the memory budget a target must not make lines by making up times: what is new then counts for one slice.
RowValue& Correlator::row(uint64_t ns, profile::WorkId work) {
  const RowKey key{slice_of(ns), work};
  if (memory_->is_limited() && !rows_.contains(key)) {
    return rows_[{batch_slice_, work}];
  }
  return rows_[key];
}

void Correlator::add_times(const backend::GpuOp& op, const WorkKey& key, profile::WorkId work, uint64_t call_ns) {
  const uint64_t duration = op.end_ns - op.start_ns;
  RowValue& value = row(op.end_ns, work);
  ++value.count;
  value.sum_ns += duration;
  value.min_ns = std::min(value.min_ns, duration);
  value.max_ns = std::max(value.max_ns, duration);
  value.sum_squares_ns2 += profile::Uint128{duration} * duration;
  value.bytes += op.bytes;
  // A graph's nodes carry the times of an earlier launch.
  if (op.queued_ns != 0 && op.start_ns >= op.queued_ns && op.graph_node == 0 &&
      add_if_it_fits(sums_.queue_ns, op.start_ns - op.queued_ns)) {
    value.queue_ns += op.start_ns - op.queued_ns;
  }
  if (op.end_ns > now_ns_ + kClockSlackNs) {
    now_ns_ = options_.clock();  // we may have been stopped for a while
  }
  if (op.end_ns > now_ns_ + kClockSlackNs || memory_->is_full()) {
    ahead_ns_ += duration;
  } else if (profile::index(key.device) != 0) {  // a device that was never named has no idle time to charge
    const Source* source = find_source(op.source);
    occupancy_.add(profile::index(key.device), profile::index(work), thread_key(source->pid, key.tid), op.start_ns,
                   op.end_ns);
  }
  if (options_.latency && memory_->admit()) {
    latencies_.add(work, call_ns, op);
  }
  add_event(work, op);
}

void Correlator::add_event(profile::WorkId work, const backend::GpuOp& op) {
  if (!options_.timeline) {
    return;
  }
  if (batch_.events.size() >= kMaxEvents || memory_->is_limited()) {
    ++timeline_dropped_;
    return;
  }
  const bool stale = op.graph_node != 0;
  batch_.events.push_back(
      {work, op.correlation, op.start_ns, op.end_ns, stale ? 0 : op.queued_ns, stale ? 0 : op.submitted_ns, op.bytes});
}

bool Correlator::try_host_op(const backend::HostOp& op, Patience patience) {
  Source* source = find_source(op.source);
  if (source == nullptr) {
    return true;
  }
  Launch* call = op.correlation == 0 ? nullptr : host_calls_.find(op.source, op.correlation);
  const bool wants_call =
      op.correlation != 0 && have_host_calls_ && (call == nullptr || !knows_stack(*source->image, call->stack));
  const bool wants_name = op.name_id != 0 && !source->names.contains(op.name_id);
  const bool wants_device = op.device != UINT32_MAX && !source->devices.contains(op.device);
  const bool wants_range = call != nullptr && call->range != 0 && !knows_range(*source, call->range);
  if ((patience != Patience::none && (wants_call || wants_name)) ||
      (patience == Patience::fresh && (wants_device || wants_range))) {
    return false;
  }
  if (!add_if_it_fits(sums_.host_ns, op.end_ns - op.start_ns) || !add_if_it_fits(sums_.host_bytes, op.bytes) ||
      !add_if_it_fits(sums_.host_count, op.count)) {
    ++sums_.refused;
    return true;
  }
  WorkKey key;
  key.process = source->image->process->id;
  if (const auto device = source->devices.find(op.device); device != source->devices.end()) {
    key.device = device->second;
  }
  key.op = kHostOps[op.op];
  key.name = name_of(*source, op.name_id);
  key.tid = op.tid;
  if (call != nullptr) {
    key.tid = call->tid;
    key.thread = call->thread;
    key.range = range_of(*source, call->range);
    key.stack = need_stack(*source->image, call->stack) ? call->stack : 0;
    host_calls_.match(op.source, op.correlation, *call, 0);
  } else {
    key.thread = thread_name(source->pid, op.tid);
  }
  const profile::WorkId work = intern(*source->image, key);
  const uint64_t duration = op.end_ns - op.start_ns;
  RowValue& value = row(op.end_ns, work);
  value.count += op.count;
  value.sum_ns += duration;
  value.min_ns = std::min(value.min_ns, duration);
  value.max_ns = std::max(value.max_ns, duration);
  value.bytes += op.bytes;
  if (key.op == profile::Op::sync && !memory_->is_full()) {
    occupancy_.blocked(thread_key(source->pid, key.tid), profile::index(work), op.start_ns, op.end_ns);
  }
  add_event(work, {.correlation = op.correlation, .start_ns = op.start_ns, .end_ns = op.end_ns, .bytes = op.bytes});
  return true;
}

// Calls and ranges wait for the end of the turn: what they name may be in a ring further on.
void Correlator::on_call(backend::SourceId id, const backend::Call& call) {
  if (!options_.timeline) {
    return;
  }
  if (calls_.size() + batch_.calls.size() < kMaxEvents && !memory_->is_limited()) {
    calls_.emplace_back(id, call);
  } else {
    ++timeline_dropped_;
  }
}

void Correlator::on_span(backend::SourceId id, const backend::Span& span) {
  if (!options_.timeline) {
    return;
  }
  if (spans_.size() + batch_.spans.size() < kMaxEvents && !memory_->is_limited()) {
    spans_.emplace_back(id, span);
  } else {
    ++timeline_dropped_;
  }
}

void Correlator::settle_timeline() {
  for (const auto& [id, call] : calls_) {
    if (Source* source = find_source(id); source != nullptr) {
      add_call(*source, id, call);
    }
  }
  calls_.clear();
  for (const auto& [id, span] : spans_) {
    if (Source* source = find_source(id); source != nullptr) {
      batch_.spans.push_back(
          {source->image->process->id, span.tid, range_of(*source, span.range), span.start_ns, span.end_ns});
    }
  }
  spans_.clear();
}

void Correlator::add_call(Source& source, backend::SourceId id, const backend::Call& call) {
  NewCall made;
  made.call.process = source.image->process->id;
  made.call.tid = call.tid;
  made.call.correlation = call.correlation;
  made.call.start_ns = call.start_ns;
  made.call.end_ns = call.end_ns;
  made.name = name_of(source, call.name_id);
  if (const Launch* launch = launches_.find(id, call.correlation); launch != nullptr) {
    made.call.tid = launch->tid == 0 ? call.tid : launch->tid;
    made.stack = need_stack(*source.image, launch->stack) ? launch->stack : 0;
  }
  batch_.calls.push_back(made);
}

}  // namespace gpuprof::record
