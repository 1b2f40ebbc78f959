#include "analyze/paths/annotate.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

#include "analyze/names/labels.h"
#include "analyze/names/zebin_kernels.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

constexpr size_t kRoot = SIZE_MAX;

// Maximum lines of all kernels together. Each kernel has its own copies, so a small profile could need much memory.
constexpr size_t kMostLines = 1'000'000;

class AnnotationBuilder {
 public:
  AnnotationBuilder(const p::Tables& tables, KernelStalls stalls) : tables_(tables) {
    result_.stalls = std::move(stalls);
  }

  void add(const SampleRow& row) {
    Counts& counts = places_[index(row.key.place)];
    counts.samples += row.count;
    if (const size_t column = column_of(row.key.reason); column < kAnnotatedReasons) {
      counts.reasons[column] += row.count;
    }
  }

  // Builds the result. Subtracts the added lines from `lines_left`.
  AnnotatedKernel finish(size_t& lines_left) {
    for (const auto& [id, counts] : places_) {
      add_place(p::GpuPlaceId{id}, counts, lines_left);
    }
    for (const auto& [key, samples] : instructions_) {
      const auto& [line, offset, text] = key;
      (line == kRoot ? result_.without_lines : result_.lines[line].instructions).push_back({offset, text, samples});
    }
    std::vector<AnnotatedLine>& lines = result_.lines;
    std::sort(result_.roots.begin(), result_.roots.end(), [&lines](size_t a, size_t b) {
      return std::tie(lines[a].file, lines[a].line, lines[a].function) <
             std::tie(lines[b].file, lines[b].line, lines[b].function);
    });
    for (AnnotatedLine& line : lines) {
      std::stable_sort(line.inlined.begin(), line.inlined.end(),
                       [&lines](size_t a, size_t b) { return lines[a].samples > lines[b].samples; });
    }
    return std::move(result_);
  }

 private:
  // Elements: parent, file, line, function.
  using LineKey = std::tuple<size_t, std::string_view, uint32_t, std::string_view>;
  using InstructionKey = std::tuple<size_t, uint64_t, std::string_view>;  // elements: line, offset, text

  struct Counts {
    uint64_t samples = 0;
    std::array<uint64_t, kAnnotatedReasons> reasons{};
  };

  void add_place(p::GpuPlaceId id, const Counts& counts, size_t& lines_left) {
    const p::GpuPlace* const place = tables_.gpu_place(id);
    if (place == nullptr) {
      result_.without_place += counts.samples;
      return;
    }
    const auto frames = tables_.place_frames(id);
    size_t line = kRoot;
    if (frames.size() <= lines_left) {
      const size_t before = result_.lines.size();
      for (const p::Element frame : frames) {
        line = child(line, tables_.frame(frame));
        AnnotatedLine& to = result_.lines[line];
        to.samples += counts.samples;
        for (size_t i = 0; i < kAnnotatedReasons; ++i) {
          to.reasons[i] += counts.reasons[i];
        }
      }
      lines_left -= result_.lines.size() - before;
    }
    instructions_[{line, place->offset, tables_.text(tables_.instruction(id).text)}] += counts.samples;
  }

  size_t child(size_t parent, const p::Frame& frame) {
    const std::string_view file = tables_.text(frame.file);
    const std::string_view function = tables_.text(frame.name);
    const auto [known, is_new] = positions_.try_emplace({parent, file, frame.line, function}, result_.lines.size());
    if (is_new) {
      result_.lines.push_back({.function = function, .file = file, .line = frame.line});
      (parent == kRoot ? result_.roots : result_.lines[parent].inlined).push_back(known->second);
    }
    return known->second;
  }

  size_t column_of(p::StringId reason) {
    const auto [known, is_new] = columns_.try_emplace(index(reason), kAnnotatedReasons);
    if (is_new) {
      const std::string_view text = index(reason) == 0 ? kUnknown : tables_.text(reason);
      const std::vector<StallLine>& reasons = result_.stalls.reasons;
      const auto found =
          std::find_if(reasons.begin(), reasons.end(), [text](const StallLine& line) { return line.reason == text; });
      known->second = static_cast<size_t>(found - reasons.begin());
      known->second = found == reasons.end() ? kAnnotatedReasons : known->second;
    }
    return known->second;
  }

  const p::Tables& tables_;
  AnnotatedKernel result_;
  std::map<LineKey, size_t> positions_;
  std::map<InstructionKey, uint64_t> instructions_;
  std::map<uint32_t, Counts> places_;
  std::unordered_map<uint32_t, size_t> columns_;  // key: STRING id of the stall reason
};

}  // namespace

std::vector<AnnotatedKernel> annotate(const Aggregate& rows, const AnnotateOptions& options) {
  std::map<std::string, std::vector<const SampleRow*>, std::less<>> kernels;
  std::unordered_map<uint32_t, std::vector<const SampleRow*>*> by_work;  // null: the kernel is not selected
  StallTable table(rows);
  for (const SampleRow& row : rows.samples) {
    if (const std::string_view kernel = zebin_kernel(rows.tables, row.key.place); !kernel.empty()) {
      if (!options.wanted || options.wanted(kernel)) {
        kernels[std::string(kernel)].push_back(&row);
      }
      continue;
    }
    const p::Work& work = rows.work(row);
    const auto [known, is_new] = by_work.try_emplace(index(work.id), nullptr);
    if (is_new) {
      const std::string label = work_label(rows.tables, work);
      known->second = !options.wanted || options.wanted(label) ? &kernels[label] : nullptr;
    }
    if (known->second != nullptr) {
      known->second->push_back(&row);
    }
  }
  for (const auto& [label, samples] : kernels) {
    for (const SampleRow* const row : samples) {
      table.add(*row, label);
    }
  }
  const size_t reasons = rows.info.samples_are_reliable() ? kAnnotatedReasons : 0;
  size_t lines_left = kMostLines;
  std::vector<AnnotatedKernel> annotated;
  for (KernelStalls& stalls : table.heaviest({.kernels = options.kernels, .reasons = kAnnotatedReasons, .lines = 1},
                                             [](std::string_view) { return uint64_t{0}; })) {
    const auto samples = kernels.find(stalls.kernel);
    stalls.reasons.resize(std::min(stalls.reasons.size(), reasons));
    AnnotationBuilder builder(rows.tables, std::move(stalls));
    for (const SampleRow* const row : samples->second) {
      builder.add(*row);
    }
    annotated.push_back(builder.finish(lines_left));
    // stalls.kernel would dangle, because its text belongs to the local variable `kernels`.
    annotated.back().stalls.kernel = {};
    annotated.back().name = samples->first;
    annotated.back().can_have_lines = rows.info.kind != ProfileKind::stall_samples || !annotated.back().lines.empty();
  }
  return annotated;
}

}  // namespace gpuprof::analyze
