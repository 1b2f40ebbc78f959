#include "symbolize/gpu/sass_slice.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <unordered_map>

namespace gpuprof::symbolize {
namespace {

constexpr uint64_t kInstructionSize = 16;
// Results of instructions that are farther back than this are available, whatever the latency of the instruction.
constexpr size_t kNear = 16;
constexpr size_t kMaxReconvergencePoints = 64;  // per barrier, because compilers reuse barriers
constexpr std::string_view kNotIssued = "_not_issued";

bool falls_through(const SassInstruction& instruction) {
  switch (instruction.flow) {
    case SassFlow::branch:
    case SassFlow::end:
    case SassFlow::ret:
    case SassFlow::indirect:
      return instruction.conditional;
    default:
      return true;
  }
}

enum class Reason : uint8_t { none, memory, unit, latency };

Reason reason_of(std::string_view word) {
  if (word.ends_with(kNotIssued)) {
    word.remove_suffix(kNotIssued.size());
  }
  return word == "long_scoreboard"    ? Reason::memory
         : word == "short_scoreboard" ? Reason::unit
         : word == "wait"             ? Reason::latency
                                      : Reason::none;
}

bool is_waited_for(SassKind kind, Reason reason) {
  switch (kind) {
    case SassKind::load:
    case SassKind::local_load:
    case SassKind::texture_load:
    case SassKind::atomic:
    case SassKind::async_copy:
      return reason == Reason::memory;
    case SassKind::shared_load:
    case SassKind::shared_atomic:
    case SassKind::constant_load:
    case SassKind::special_function:
    case SassKind::shuffle:
    case SassKind::special_register:
      return reason == Reason::unit;
    case SassKind::tensor:
    case SassKind::arithmetic:
      return reason == Reason::latency;
    case SassKind::unknown:
    case SassKind::none:
      break;
  }
  return false;
}

}  // namespace

SassSlice::SassSlice(std::span<const GpuInstruction> instructions) {
  const bool sorted = std::is_sorted(instructions.begin(), instructions.end(),
                                     [](const auto& a, const auto& b) { return a.offset < b.offset; });
  if (!sorted || instructions.size() > kMostInstructions) {
    return;
  }
  nodes_.reserve(instructions.size());
  for (const GpuInstruction& each : instructions) {
    Node& node = nodes_.emplace_back();
    node.offset = each.offset;
    node.instruction = parse_sass(each.text);
    jumps_ = jumps_ || node.instruction.flow == SassFlow::indirect;
    returns_ = returns_ || node.instruction.flow == SassFlow::ret;
  }
  Edges edges;
  add_edges(instructions, edges);
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  mark_open(edges);
  for (uint32_t at = 0; at < nodes_.size(); ++at) {
    nodes_[at].first_source = static_cast<uint32_t>(sources_.size());
    for (size_t edge = sources_.size(); edge < edges.size() && edges[edge].first == at; ++edge) {
      sources_.push_back(edges[edge].second);
    }
  }
}

size_t SassSlice::find(uint64_t offset) const {
  const auto node = std::lower_bound(nodes_.begin(), nodes_.end(), offset,
                                     [](const Node& each, uint64_t wanted) { return each.offset < wanted; });
  return node != nodes_.end() && node->offset == offset ? static_cast<size_t>(node - nodes_.begin()) : nodes_.size();
}

void SassSlice::add_edges(std::span<const GpuInstruction> instructions, Edges& edges) {
  // Maps a barrier to the indices of the instructions at which threads continue after its BSYNC.
  std::unordered_map<uint8_t, std::vector<uint32_t>> meetings;
  for (uint32_t at = 0; at < nodes_.size(); ++at) {
    const auto& target = instructions[at].target;
    const size_t to = target ? find(*target) : nodes_.size();
    const SassFlow flow = nodes_[at].instruction.flow;
    if (to < nodes_.size() && flow == SassFlow::barrier) {
      meetings[nodes_[at].instruction.barrier].push_back(static_cast<uint32_t>(to));
    } else if (to < nodes_.size() && flow != SassFlow::call) {
      edges.emplace_back(to, at);
    }
    jumps_ = jumps_ || (flow == SassFlow::branch && to == nodes_.size());
  }
  for (uint32_t at = 0; at < nodes_.size(); ++at) {
    const SassInstruction& instruction = nodes_[at].instruction;
    std::vector<uint32_t> meeting;
    if (instruction.flow == SassFlow::sync) {
      meeting = meetings[instruction.barrier];
      jumps_ = jumps_ || meeting.empty() || meeting.size() > kMaxReconvergencePoints;
      meeting.resize(std::min(meeting.size(), kMaxReconvergencePoints));
    }
    // Threads usually continue at the instruction after the BSYNC. Then an edge to that instruction is enough.
    const bool goes_on = meeting.empty() || std::find(meeting.begin(), meeting.end(), at + 1) != meeting.end();
    if (at + 1 < nodes_.size() && (goes_on || instruction.conditional) && falls_through(instruction) &&
        nodes_[at + 1].offset - nodes_[at].offset == kInstructionSize) {
      edges.emplace_back(at + 1, at);
    }
    for (size_t i = 0; !goes_on && i < meeting.size(); ++i) {
      edges.emplace_back(meeting[i], at);
    }
  }
}

// Sets `open` for instructions that have no known predecessor, and for possible targets of indirect jumps.
void SassSlice::mark_open(const Edges& edges) {
  std::vector<bool> reached(nodes_.size());
  std::vector<bool> jumped_to(nodes_.size());
  for (const auto& [to, from] : edges) {
    reached[to] = true;
    jumped_to[to] = jumped_to[to] || from + 1 != to;
  }
  for (size_t at = 0; at < nodes_.size(); ++at) {
    const bool begins = at == 0 || nodes_[at].offset - nodes_[at - 1].offset != kInstructionSize ||
                        !falls_through(nodes_[at - 1].instruction);
    nodes_[at].open =
        at == 0 ? returns_ || nodes_[0].offset != 0 : !reached[at] || (jumps_ && (begins || jumped_to[at]));
  }
}

SassWaits SassSlice::waits_for(uint64_t offset, std::string_view word) const {
  SassWaits found;
  const Reason reason = reason_of(word);
  const size_t start = find(offset);
  if (reason == Reason::none || start == nodes_.size()) {
    return found;
  }
  if (!nodes_[start].instruction.understood) {
    found.complete = false;
    return found;
  }
  struct Step {
    size_t at = 0;  // index of an instruction that may have written a wanted register
    size_t distance = 0;
    SassRegisterSet wanted;
  };
  std::deque<Step> ahead;
  std::unordered_map<size_t, SassRegisterSet> seen;
  const auto go_back = [&](size_t at, size_t distance, const SassRegisterSet& wanted) {
    found.complete = found.complete && !nodes_[at].open;
    const size_t end = at + 1 < nodes_.size() ? nodes_[at + 1].first_source : sources_.size();
    for (size_t edge = nodes_[at].first_source; edge < end; ++edge) {
      SassRegisterSet& known = seen[sources_[edge]];
      const SassRegisterSet fresh = wanted & ~known;
      if (fresh.any()) {
        known |= fresh;
        ahead.push_back({sources_[edge], distance + 1, fresh});
      }
    }
  };
  const size_t furthest = reason == Reason::latency ? kNear : std::numeric_limits<size_t>::max();
  if (nodes_[start].instruction.reads.any()) {
    go_back(start, 0, nodes_[start].instruction.reads);
  }
  for (size_t steps = 0; !ahead.empty() && ahead.front().distance <= furthest; ++steps) {
    if (steps == kMostSteps) {
      found.complete = false;
      break;
    }
    const Step step = ahead.front();
    ahead.pop_front();
    const SassInstruction& instruction = nodes_[step.at].instruction;
    const bool is_call = instruction.flow == SassFlow::call;
    const SassRegisterSet lost = is_call ? step.wanted : step.wanted & instruction.may_write;
    found.complete = found.complete && lost.none();
    if ((step.wanted & instruction.writes).any() && is_waited_for(instruction.kind, reason)) {
      const auto same = [&](const SassProducer& each) { return each.offset == nodes_[step.at].offset; };
      if (std::none_of(found.producers.begin(), found.producers.end(), same)) {
        if (found.producers.size() == kMostProducers) {
          found.complete = false;
          break;
        }
        found.producers.push_back({nodes_[step.at].offset, instruction.kind});
      }
    }
    const SassRegisterSet ended = instruction.guarded ? SassRegisterSet() : instruction.writes;
    if (const SassRegisterSet left = step.wanted & ~lost & ~ended; left.any()) {
      go_back(step.at, step.distance, left);
    }
  }
  return found;
}

}  // namespace gpuprof::symbolize
