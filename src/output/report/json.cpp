#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "output/json_stream.h"
#include "output/report/advice.h"
#include "output/report/blocks.h"
#include "output/report/counted.h"
#include "output/report/report.h"
#include "output/report/stalls.h"
#include "output/text.h"
#include "output/trust.h"
#include "output/weight.h"

namespace gpuprof::output {
namespace {

using analyze::DeviceLine;
using analyze::FunctionLine;
using analyze::GroupLine;
using analyze::ProfileInfo;
using analyze::ProfileKind;
using analyze::Summary;
using analyze::SummaryLine;

constexpr int kReportSchemaVersion = 2;

// In the order of the enumerators of ProfileKind.
constexpr std::array<const char*, 5> kKinds = {"empty", "durations", "launch_counts", "stall_samples", "mixed"};
static_assert(static_cast<size_t>(ProfileKind::mixed) + 1 == kKinds.size());
constexpr std::array<const char*, 4> kOrigins = {"own", "library", "vendor", "none"};
static_assert(static_cast<size_t>(analyze::Origin::none) + 1 == kOrigins.size());

void put_margin(const std::optional<analyze::Margin>& margin, JsonObject& object) {
  if (margin && margin->is_known) {
    object.number("margin_ns", margin->ns);
    object.number("margin_count", margin->count);
  }
  if (margin) {
    object.flag("rare", margin->is_rare);
  }
}

template <typename Line>
void put_numbers(const Line& line, bool timed, JsonObject& object) {
  object.number("count", line.weight.count);
  if (timed) {
    object.number("ns", line.weight.ns);
    object.number("avg_ns", line.average_ns);
    object.number("min_ns", line.min_ns);
    object.number("max_ns", line.max_ns);
    if (line.deviation_ns) {
      object.number("stddev_ns", *line.deviation_ns);
    }
    for (const auto& [name, ns] : line.percentiles.named()) {
      if (ns) {
        object.number(std::string(name) + "_ns", *ns);
      }
    }
    put_margin(line.margin, object);
    if (line.untimed > 0) {
      object.number("untimed", line.untimed);
    }
    object.number("bytes", line.weight.bytes);
  }
}

void put_line(const SummaryLine& line, bool timed, TextStream& stream) {
  stream.checkpoint();
  JsonObject object(stream.text());
  object.text("name", shown_text(line.work));
  if (!line.process.empty()) {
    object.text("process", shown_text(line.process));
    json_path(line.path.frames(), object.key("path"), stream);
  }
  put_numbers(line, timed, object);
}

void put_group(const GroupLine& line, const Summary& summary, TextStream& stream) {
  stream.checkpoint();
  JsonObject object(stream.text());
  object.text("name", shown_text(line.name));
  put_numbers(line, summary.timed, object);
  if (line.busy_ns > 0) {
    object.number("busy_ns", line.busy_ns);
  }
}

void put_function(const FunctionLine& line, bool timed, TextStream& stream) {
  stream.checkpoint();
  JsonObject object(stream.text());
  object.text("name", shown_text(line.name));
  if (!line.file.empty()) {
    object.text("file", shown_text(line.file));
  }
  object.word("origin", kOrigins.at(static_cast<size_t>(line.origin)));
  object.number("total_count", line.total.count);
  object.number("direct_count", line.direct.count);
  if (timed) {
    object.number("total_ns", line.total.ns);
    object.number("direct_ns", line.direct.ns);
    put_margin(line.uncertainty.margin(), object);
  }
}

void put_place(const analyze::PlaceLine& place, TextStream& stream) {
  stream.checkpoint();
  JsonObject object(stream.text());
  object.number("samples", place.samples);
  object.text("function", shown_text(place.function));
  object.number("offset", place.offset);
  object.text("instruction", shown_text(place.instruction));
  object.text("source_function", shown_text(place.source_function));
  object.text("file", shown_text(place.file));
  object.number("line", place.line);
}

void put_weight(const analyze::Weight& weight, const std::optional<analyze::Margin>& margin, std::string& out) {
  JsonObject object(out);
  object.number("ns", weight.ns);
  object.number("count", weight.count);
  object.number("bytes", weight.bytes);
  put_margin(margin, object);
}

Json device_json(const DeviceLine& device) {
  Json json = {{"name", escaped(shown_text(device.name))},
               {"busy_ns", device.busy_ns},
               {"idle_ns", device.idle_ns},
               {"wall_ns", device.wall_ns},
               {"ns", device.weight.ns},
               {"count", device.weight.count},
               {"bytes", device.weight.bytes}};
  if (device.overlap) {
    json["overlap"] = true;
  }
  if (device.partial) {
    json["partial"] = true;
  }
  if (device.lacks_work) {
    json["lacks_work"] = true;
  }
  return json;
}

Json graphs_json(const analyze::GraphSummary& graphs) {
  return {{"ns", graphs.weight.ns}, {"count", graphs.weight.count}, {"with_capture_stack", graphs.captured}};
}

// Writes the lengths that the arrays would have without --top.
void put_found(const Summary::Found& found, JsonObject& object) {
  Json json = Json::object();
  for (const auto& [name, count] : {std::pair("work", found.work),
                                    {"functions", found.functions},
                                    {"call_paths", found.call_paths},
                                    {"groups", found.groups},
                                    {"ranks", found.ranks},
                                    {"sampled_work", found.sampled_work},
                                    {"sample_reasons", found.sample_reasons},
                                    {"sample_places", found.sample_places},
                                    {"stalls", found.stalls},
                                    {"blocks", found.blocks},
                                    {"host_work", found.host_work},
                                    {"calls", found.calls},
                                    {"waits", found.waits},
                                    {"allocations", found.allocations},
                                    {"failed_calls", found.failures},
                                    {"launches_without_work", found.without_work}}) {
    if (count > 0) {
      json[name] = count;
    }
  }
  object.value("found", json);
}

// Writes the members that most profiles do not have.
void put_optional(const Summary& summary, JsonObject& object, TextStream& stream) {
  std::string& out = stream.text();
  if (summary.window) {
    json_window(*summary.window, object.key("window"));
  }
  if (!summary.devices.empty()) {
    json_array(summary.devices, object.key("devices"), [&](const DeviceLine& device) {
      out += json_text(device_json(device));
      stream.checkpoint();
    });
  }
  if (!summary.idle_causes.empty()) {
    json_array(summary.idle_causes, object.key("idle_causes"), [&stream](const analyze::IdleCause& cause) {
      stream.checkpoint();
      JsonObject one(stream.text());
      one.text("what", shown_text(cause.what));
      one.number("ns", cause.ns);
      if (const Advice* const advice = advice_for(cause.what)) {
        one.text("advice", advice->text);
      }
    });
  }
  if (summary.graphs.weight.count > 0) {
    object.value("graphs", graphs_json(summary.graphs));
  }
  const auto put_group_of = [&](const GroupLine& line) { put_group(line, summary, stream); };
  if (!summary.groups.empty()) {
    json_array(summary.groups, object.key("groups"), put_group_of);
  }
  if (!summary.ranks.empty()) {
    json_array(summary.ranks, object.key("ranks"), put_group_of);
  }
  if (summary.recorded_samples > 0) {
    const auto put_count = [&stream](const SummaryLine& line) { put_line(line, false, stream); };
    json_array(summary.sampled_work, object.key("sampled_work"), put_count);
    json_array(summary.sample_reasons, object.key("sample_reasons"), put_count);
    json_array(summary.sample_places, object.key("sample_places"),
               [&stream](const analyze::PlaceLine& place) { put_place(place, stream); });
    json_array(summary.stalls, object.key("stalls"),
               [&stream](const analyze::KernelStalls& stalls) { put_stalls(stalls, stream); });
  }
  if (!summary.blocks.empty()) {
    json_array(summary.blocks, object.key("blocks"),
               [&stream](const analyze::BlockLine& line) { put_blocks(line, stream); });
  }
  if (!summary.counted.empty()) {
    json_array(summary.counted, object.key("counted"),
               [&stream](const analyze::CountedTable& table) { put_counted(table, stream); });
  }
  const auto put_timed = [&stream](const SummaryLine& line) { put_line(line, true, stream); };
  if (!summary.host_work.empty()) {
    json_array(summary.host_work, object.key("host_work"), put_timed);
    json_array(summary.waits, object.key("waits"), put_timed);
    json_array(summary.allocations, object.key("allocations"), put_timed);
  }
  if (!summary.calls.empty()) {
    json_array(summary.calls, object.key("calls"), put_timed);
  }
  const auto put_counted_path = [&stream](const SummaryLine& line) { put_line(line, false, stream); };
  if (!summary.failures.empty()) {
    json_array(summary.failures, object.key("failed_calls"), put_counted_path);
  }
  if (!summary.without_work.empty()) {
    json_array(summary.without_work, object.key("launches_without_work"), put_counted_path);
  }
  if (!summary.info.coverage.empty() || summary.info.kind == ProfileKind::launch_counts) {
    const profile::WorkCoverage& covered = summary.info.covered;
    object.key("coverage_percent") += percent_digits_down(covered.with_stack, covered.all(), 4);
    json_counts(summary.info.coverage, object.key("coverage"));
    object.number("unsampled", summary.info.unsampled);
    object.number("lost_gpu_work", covered.lost);
  }
}

}  // namespace

void report_json(const Summary& summary, TextStream& stream) {
  const ProfileInfo& info = summary.info;
  std::string& out = stream.text();
  {
    JsonObject object(out);
    object.number("schema_version", kReportSchemaVersion);
    object.word("kind", kKinds.at(static_cast<size_t>(info.kind)));
    object.flag("complete", info.complete);
    object.number("gpu_ns", summary.all.ns);
    object.number("gpu_records", summary.gpu_records);
    object.number("with_stack", summary.with_stack_records);
    object.number("launches", info.launches);
    object.number("count", summary.all.count);
    object.number("bytes", summary.all.bytes);
    object.number("samples", summary.recorded_samples);
    put_weight(summary.total, summary.margin, object.key("shown"));
    put_weight(summary.with_stack, std::nullopt, object.key("shown_with_stack"));
    object.number("skipped_bad", info.skipped_bad);
    object.number("skipped_unknown", info.skipped_unknown);
    json_counts(info.losses, object.key("losses"));
    json_texts(info.warnings, object.key("warnings"));
    json_texts(notice_lines(info), object.key("missing"));
    json_meta(info.meta, object.key("meta"), stream);
    const auto put = [&](const SummaryLine& line) { put_line(line, summary.timed, stream); };
    json_array(summary.work, object.key("work"), put);
    json_array(summary.functions, object.key("functions"),
               [&](const FunctionLine& line) { put_function(line, summary.timed, stream); });
    json_array(summary.call_paths, object.key("call_paths"), put);
    put_found(summary.found, object);
    put_optional(summary, object, stream);
  }
  out += "\n";
}

}  // namespace gpuprof::output
