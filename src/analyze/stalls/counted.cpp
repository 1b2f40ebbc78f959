#include "analyze/stalls/counted.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

constexpr std::string_view kIdeal = "_ideal";
constexpr std::string_view kDivergent = "smsp__sass_branch_targets_threads_divergent";
constexpr std::string_view kUniform = "smsp__sass_branch_targets_threads_uniform";
constexpr std::string_view kThreads = "smsp__sass_thread_inst_executed";
constexpr std::string_view kWarps = "smsp__sass_inst_executed";
constexpr uint64_t kWarpThreads = 32;

using Place = std::tuple<std::string_view, std::string_view, uint32_t>;  // elements: function, file, line
using CountedLines = std::map<Place, uint64_t>;
using Metrics = std::map<std::string_view, CountedLines>;

uint64_t sum(uint64_t a, uint64_t b) {
  uint64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? UINT64_MAX : result;
}

uint64_t all_lanes(uint64_t warps) {
  uint64_t result = 0;
  return __builtin_mul_overflow(warps, kWarpThreads, &result) ? UINT64_MAX : result;
}

Place place_of(const p::Tables& tables, p::GpuPlaceId id) {
  const p::GpuPlace* const place = tables.gpu_place(id);
  const std::string_view function = place == nullptr ? std::string_view() : tables.text(place->function);
  const auto frames = tables.place_frames(id);
  if (frames.empty()) {
    return {function, {}, 0};
  }
  const p::Frame& frame = tables.frame(frames.back());
  return {function, tables.text(frame.file), frame.line};
}

uint64_t at(const CountedLines* lines, const Place& place) {
  if (lines == nullptr) {
    return 0;
  }
  const auto found = lines->find(place);
  return found == lines->end() ? 0 : found->second;
}

const CountedLines* find(const Metrics& metrics, std::string_view name) {
  const auto found = metrics.find(name);
  return found == metrics.end() ? nullptr : &found->second;
}

// Returns how far the value is from the best possible one.
uint64_t badness(CountedKind kind, const CountedRow& row) {
  switch (kind) {
    case CountedKind::excess:
      return row.value - std::min(row.value, row.reference);
    case CountedKind::threads:
      return row.reference - std::min(row.value, row.reference);
    default:
      return row.value;
  }
}

class Maker {
 public:
  Maker(const Metrics& metrics, size_t most) : metrics_(metrics), most_(most) {}

  std::vector<CountedTable> make() {
    for (const auto& [name, lines] : metrics_) {
      const std::string ideal = std::string(name) + std::string(kIdeal);
      const bool is_reference =
          (name.ends_with(kIdeal) && find(metrics_, name.substr(0, name.size() - kIdeal.size())) != nullptr) ||
          (name == kUniform && find(metrics_, kDivergent) != nullptr) ||
          (name == kWarps && find(metrics_, kThreads) != nullptr);
      if (is_reference) {
        continue;
      }
      if (const CountedLines* const best = find(metrics_, ideal); best != nullptr) {
        add(CountedKind::excess, name, lines, [best](const Place& place, uint64_t) { return at(best, place); });
      } else if (const CountedLines* const uniform = find(metrics_, kUniform);
                 name == kDivergent && uniform != nullptr) {
        add_divergence(lines, *uniform);
      } else if (const CountedLines* const warps = find(metrics_, kWarps); name == kThreads && warps != nullptr) {
        add(CountedKind::threads, name, lines,
            [warps](const Place& place, uint64_t) { return all_lanes(at(warps, place)); });
      } else {
        add(CountedKind::plain, name, lines, [](const Place&, uint64_t) { return uint64_t{0}; });
      }
    }
    return std::move(tables_);
  }

 private:
  void add_divergence(const CountedLines& divergent, const CountedLines& uniform) {
    add(CountedKind::divergence, kDivergent, divergent,
        [&uniform](const Place& place, uint64_t value) { return sum(value, at(&uniform, place)); });
  }

  template <typename Reference>
  void add(CountedKind kind, std::string_view metric, const CountedLines& lines, Reference reference) {
    CountedTable& table = tables_.emplace_back();
    table.kind = kind;
    table.metric = metric;
    for (const auto& [place, value] : lines) {
      const auto& [function, file, line] = place;
      table.rows.push_back({function, file, line, value, reference(place, value)});
    }
    std::stable_sort(table.rows.begin(), table.rows.end(), [kind](const CountedRow& a, const CountedRow& b) {
      return std::tuple(badness(kind, b), b.value) < std::tuple(badness(kind, a), a.value);
    });
    table.found = table.rows.size();
    if (most_ != 0 && table.rows.size() > most_) {
      table.rows.resize(most_);
    }
  }

  const Metrics& metrics_;
  size_t most_;
  std::vector<CountedTable> tables_;
};

}  // namespace

std::vector<CountedTable> counted_tables(const p::Tables& tables, const Pattern* kernel, size_t most) {
  Metrics metrics;
  for (const auto& [key, value] : tables.gpu_counts()) {
    const Place place = place_of(tables, key.first);
    if (kernel == nullptr || kernel->matches(std::string(std::get<0>(place)))) {
      uint64_t& of_line = metrics[tables.text(key.second)][place];
      of_line = sum(of_line, value);
    }
  }
  return Maker(metrics, most).make();
}

}  // namespace gpuprof::analyze
