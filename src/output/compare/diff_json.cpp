#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "output/compare/diff.h"
#include "output/compare/stall_texts.h"
#include "output/json_stream.h"
#include "output/text.h"
#include "output/weight.h"

namespace gpuprof::output {
namespace {

using compare::Difference;
using compare::RunFacts;

constexpr int kDiffSchemaVersion = 1;

class JsonWriter {
 public:
  JsonWriter(const DiffLines& lines, TextStream& stream)
      : lines_(lines), all_(lines.all), stream_(stream), out_(stream.text()) {}

  void write() {
    {
      JsonObject object(out_);
      object.number("schema_version", kDiffSchemaVersion);
      object.word("weight", weight_of(lines_.measure()).word);
      object.word("unit", lines_.timed ? "ns" : lines_.counted());
      object.key("old");
      runs(side_of(all_, true), 0);
      object.key("new");
      runs(side_of(all_, false), all_.old_runs);
      object.flag("filtered", lines_.filtered);
      object.flag("nothing_differs", lines_.nothing_differs());
      object.key("total");
      {
        JsonObject total(out_);
        put(lines_.total, total);
      }
      json_array(lines_.kernels, object.key("kernels"), [this](const DiffLine& line) { kernel(line); });
      json_array(lines_.functions, object.key("functions"), [this](const DiffLine& line) { function(line); });
      json_array(lines_.paths, object.key("call_paths"), [this](const DiffLine& line) { path(line); });
    }
    out_ += "\n";
  }

 private:
  // Writes the value of each run, so that programs can compute their own statistics.
  void runs(std::span<const RunFacts* const> side, size_t first) {
    size_t at = first;
    json_array(side, out_, [&](const RunFacts* run) {
      JsonObject object(out_);
      object.text("file", run->file);
      object.text("command", shown_text(run->command));
      object.text("host", shown_text(run->host));
      json_array(run->devices, object.key("devices"),
                 [this](const std::string& device) { out_ += json_string(shown_text(device)); });
      object.text("driver", shown_text(run->driver));
      object.text("commit", shown_text(run->commit));
      object.text("exit_status", shown_text(run->exit_status));
      object.flag("complete", run->info.complete);
      object.value("lost_percent", run->lost_percent());
      if (run->info.is_estimate()) {
        object.flag("estimate", true);
      }
      object.number("ns", all_.totals[at].ns);
      object.number("count", all_.totals[at].count);
      ++at;
    });
  }

  void put(const Difference& line, JsonObject& object) const {
    object.number("old", line.before.value);
    object.number("new", line.after.value);
    object.value("change", line.change);
    if (lines_.measure() == analyze::Measure::gpu) {
      object.value("by_launches", line.by_launches);
      object.value("by_duration", line.by_duration);
    }
    if (line.before.value == 0) {
      object.value("percent", nullptr);
    } else {
      object.value("percent", line.percent());
    }
    object.value("old_count", line.before.count);
    object.value("new_count", line.after.count);
    object.number("old_min", line.before.least);
    object.number("old_max", line.before.most);
    object.number("new_min", line.after.least);
    object.number("new_max", line.after.most);
  }

  template <typename Line>
  static void put_match(const Line& line, JsonObject& object) {
    object.word("status", change_name(line.change));
    object.word("match", match_name(line.match));
  }

  void kernel(const DiffLine& line) {
    const compare::KernelLine& kernel = all_.kernels[line.line];
    stream_.checkpoint();
    JsonObject object(out_);
    object.text("name", shown_text(kernel.name));
    if (!kernel.old_name.empty()) {
      object.text("old_name", shown_text(kernel.old_name));
    }
    put_match(kernel, object);
    put(line.difference, object);
    for (size_t side = 0; side < 2; ++side) {
      for (const auto& [name, ns] : compare::percentiles_of(all_, kernel, side).named()) {
        if (ns) {
          object.number(std::string(side == 0 ? "old_" : "new_") + name + "_ns", *ns);
        }
      }
    }
    if (lines_.stalls) {
      put_stall_shares(all_, kernel, object, stream_);
    }
  }

  void function(const DiffLine& line) {
    const compare::FunctionLine& function = all_.functions[line.line];
    stream_.checkpoint();
    JsonObject object(out_);
    object.text("name", shown_text(function.name));
    object.text("file", shown_text(function.file));
    if (!function.old_name.empty()) {
      object.text("old_name", shown_text(function.old_name));
    }
    put_match(function, object);
    put(line.difference, object);
  }

  void frames(const std::vector<uint32_t>& functions, std::string& out) {
    std::vector<std::string_view> names;
    names.reserve(functions.size());
    for (const uint32_t function : functions) {
      names.emplace_back(all_.functions[function].name);
    }
    json_path(names, out, stream_);
  }

  void path(const DiffLine& line) {
    const compare::PathLine& path = all_.paths[line.line];
    stream_.checkpoint();
    JsonObject object(out_);
    object.text("kernel", shown_text(all_.kernels[path.kernel].name));
    frames(path.functions, object.key("path"));
    if (!path.old_functions.empty()) {
      frames(path.old_functions, object.key("old_path"));
    }
    put_match(path, object);
    put(line.difference, object);
  }

  const DiffLines& lines_;
  const compare::Comparison& all_;
  TextStream& stream_;
  std::string& out_;
};

}  // namespace

void diff_json(const DiffLines& lines, TextStream& out) {
  JsonWriter(lines, out).write();
}

}  // namespace gpuprof::output
