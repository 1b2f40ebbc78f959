#include "analyze/paths/source_lines.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyze/names/frame_origin.h"
#include "analyze/names/labels.h"
#include "base/process/start_up.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

class SourceLineBuilder {
 public:
  explicit SourceLineBuilder(const p::Tables& tables) : tables_(tables) {}

  // Adds the work of one stack. Returns false if no frame has a known line.
  bool add(p::StackId stack, const Weight& weight, const Uncertainty& uncertainty) {
    ++round_;
    Line* innermost = nullptr;
    for (const p::Element element : tables_.stack(false, stack)) {
      if (element.is_label) {
        continue;
      }
      const p::Frame& frame = tables_.frame(element);
      if (index(frame.file) == 0 || frame.line == 0 || is_start_up(frame)) {
        continue;
      }
      File& file = files_[tables_.text(frame.file)];
      if (file.origin != Origin::own) {
        const Origin origin = origin_of(tables_, element, false);  // none: called like start-up code of libc
        file.origin = std::min(file.origin, origin == Origin::none ? Origin::own : origin);
      }
      if (std::exchange(file.round, round_) != round_) {
        file.total += weight;
      }
      Line& line = file.lines[frame.line];
      if (std::exchange(line.round, round_) != round_) {
        line.values.total += weight;
        line.values.uncertainty += uncertainty;
      }
      line.values.line = frame.line;
      Function& function = line.functions[tables_.text(frame.name)];
      if (std::exchange(function.round, round_) != round_) {
        function.total += weight;
      }
      innermost = &line;
      innermost_file_ = &file;
    }
    if (innermost != nullptr) {
      innermost->values.self += weight;
      innermost_file_->self += weight;
    }
    return innermost != nullptr;
  }

  std::vector<LaunchingFile> finish(bool timed) {
    const auto value = [timed](const Weight& weight) { return timed ? weight.ns : weight.count; };
    const auto key = [&](const auto& file) {
      const bool generated = file.first.starts_with('<');
      return std::tuple(generated, file.second.origin, ~value(file.second.self), ~value(file.second.total));
    };
    std::vector<std::pair<std::string_view, File>> sorted(files_.begin(), files_.end());
    std::stable_sort(sorted.begin(), sorted.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
    std::vector<LaunchingFile> files;
    for (const auto& [name, file] : sorted) {
      LaunchingFile& to = files.emplace_back(LaunchingFile{.file = name, .self = file.self, .total = file.total});
      for (const auto& [number, line] : file.lines) {
        std::vector<std::pair<std::string_view, Function>> functions(line.functions.begin(), line.functions.end());
        std::stable_sort(functions.begin(), functions.end(),
                         [&](const auto& a, const auto& b) { return value(a.second.total) > value(b.second.total); });
        LaunchingLine& added = to.lines.emplace_back(line.values);
        for (const auto& [function, sum] : functions) {
          added.functions.push_back(function);
        }
      }
    }
    return files;
  }

 private:
  // `round` is the number of the last stack that was added, so that a recursion counts once.
  struct Function {
    Weight total;
    uint64_t round = 0;
  };
  struct Line {
    LaunchingLine values;  // without `functions`
    std::map<std::string_view, Function> functions;
    uint64_t round = 0;
  };
  struct File {
    std::map<uint32_t, Line> lines;
    Weight self;
    Weight total;
    Origin origin = Origin::none;
    uint64_t round = 0;
  };

  // True for start-up code of libc. A program's own function may have the same name.
  [[nodiscard]] bool is_start_up(const p::Frame& frame) const {
    const std::string_view module = tables_.text(frame.module);
    const std::string_view file = module.substr(module.rfind('/') + 1);
    return frame.kind == p::FrameKind::native && is_start_up_function(tables_.text(frame.name)) &&
           (file.starts_with("libc.so") || file.starts_with("libpthread") || file.starts_with("ld-linux"));
  }

  const p::Tables& tables_;
  std::map<std::string_view, File> files_;
  File* innermost_file_ = nullptr;
  uint64_t round_ = 0;
};

}  // namespace

LaunchingLines launching_lines(const Aggregate& rows, const std::function<bool(std::string_view)>& wanted) {
  LaunchingLines result;
  struct Launched {
    Weight weight;
    Uncertainty uncertainty;
  };
  std::map<uint32_t, Launched> stacks;
  const RowKind kind = rows.info.gpu_records > 0 ? RowKind::gpu : RowKind::launch;
  for (const Row& row : rows.rows) {
    const p::Work& work = rows.work(row);
    if (row.kind != kind || (wanted && !wanted(work_label(rows.tables, work)))) {
      continue;
    }
    Launched& launched = stacks[index(work.ustack)];
    launched.weight += row.weight;
    launched.uncertainty.add(rows.estimates, static_cast<size_t>(&row - rows.rows.data()));
    result.all += row.weight;
  }
  result.timed = result.all.ns > 0;
  result.estimated = rows.info.is_estimate();
  SourceLineBuilder builder(rows.tables);
  for (const auto& [id, launched] : stacks) {
    if (id == 0) {
      result.without_stack += launched.weight;
    } else if (!builder.add(p::StackId{id}, launched.weight, launched.uncertainty)) {
      result.without_lines += launched.weight;
    }
  }
  result.files = builder.finish(result.timed);
  return result;
}

}  // namespace gpuprof::analyze
