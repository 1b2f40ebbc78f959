#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "output/compare/check.h"
#include "output/compare/check_texts.h"
#include "output/compare/stall_texts.h"
#include "output/json_stream.h"
#include "output/text.h"

namespace gpuprof::output {
namespace {

using compare::Comparison;
using compare::Finding;
using compare::Judgement;

constexpr int kCheckSchemaVersion = 1;

const char* what_word(Finding::What what) {
  static constexpr std::array<const char*, 4> kWords = {"total", "unmatched", "kernel", "path"};
  static_assert(static_cast<size_t>(Finding::What::path) + 1 == kWords.size());
  return kWords.at(static_cast<size_t>(what));
}

// Writes null for values that are unknown or infinite, because JSON cannot represent infinity.
void put_real(JsonObject& object, std::string_view name, double value) {
  char text[32] = "null";
  if (std::isfinite(value)) {
    static_cast<void>(std::snprintf(text, sizeof(text), "%.6g", value));
  }
  object.key(name) += text;
}

void put_finding(const Comparison& runs, const Finding& finding, TextStream& stream) {
  stream.checkpoint();
  JsonObject object(stream.text());
  object.word("what", what_word(finding.what));
  object.word("verdict", verdict_name(finding.verdict));
  object.text("name", shown_text(finding_name(runs, finding)));
  if (finding.what == Finding::What::kernel && !runs.kernels[finding.line].old_name.empty()) {
    object.text("old_name", shown_text(runs.kernels[finding.line].old_name));
  }
  if (finding.what == Finding::What::path) {
    json_path(finding_path(runs, finding), object.key("path"), stream);
  }
  put_real(object, "old_ns", finding.old_ns);
  put_real(object, "new_ns", finding.new_ns);
  put_real(object, "change_percent", finding.change_percent);
  put_real(object, "low_percent", finding.low_percent);
  put_real(object, "high_percent", finding.high_percent);
  put_real(object, "p", finding.p);
  put_real(object, "adjusted_p", finding.adjusted_p);
  if (finding.permutation_p) {
    put_real(object, "permutation_p", *finding.permutation_p);
  }
  put_real(object, "launches_percent", finding.launches_percent);
  put_real(object, "duration_percent", finding.duration_percent);
  if (finding.cycles_percent) {
    put_real(object, "cycles_percent", *finding.cycles_percent);
  }
  if (finding.what != Finding::What::path) {
    put_real(object, "minimum_detectable_percent", finding.minimum_detectable_percent);
  }
  if (!finding.note.empty()) {
    object.text("note", finding.note);
  }
  if (finding.what == Finding::What::kernel) {
    put_stall_shares(runs, runs.kernels[finding.line], object, stream);
  }
}

void put_run(const Comparison& runs, size_t run, TextStream& stream) {
  stream.checkpoint();
  const compare::RunFacts& facts = *runs.runs[run];
  std::string& out = stream.text();
  JsonObject object(out);
  object.word("side", run < runs.old_runs ? "old" : "new");
  object.text("file", shown_text(facts.file));
  object.number("ns", runs.totals[run].ns);
  object.number("count", runs.totals[run].count);
  json_array(facts.devices, object.key("devices"), [&out](const std::string& name) { out += json_string(name); });
  object.text("driver", facts.driver);
  object.text("commit", facts.commit);
  put_real(object, "lost_percent", facts.lost_percent());
  if (facts.info.is_estimate()) {
    object.flag("estimate", true);
  }
}

}  // namespace

void check_json(const Comparison& runs, const Judgement& judgement, TextStream& stream) {
  std::string& out = stream.text();
  const auto put_text = [&out](const std::string& text) { out += json_string(text); };
  {
    JsonObject object(out);
    object.number("schema_version", kCheckSchemaVersion);
    object.word("outcome", outcome_word(judgement.outcome));
    object.number("exit_status", static_cast<uint64_t>(judgement.outcome));
    object.text("headline", headline(judgement));
    json_array(judgement.reasons, object.key("reasons"), put_text);
    json_array(judgement.notes, object.key("notes"), put_text);
    object.flag("one_side", judgement.one_side);
    object.flag("moderated", judgement.moderated);
    object.flag("factor_removed", judgement.factor_removed);
    put_real(object, "factor_percent", judgement.factor_percent);
    put_real(object, "noise_percent", judgement.noise_percent);
    put_real(object, "minimum_detectable_percent", judgement.minimum_detectable_percent);
    out.append(",\"runs\":[");
    for (size_t run = 0; run < runs.runs.size(); ++run) {
      out.append(run == 0 ? "" : ",");
      put_run(runs, run, stream);
    }
    out += "]";
    json_array(judgement.findings, object.key("findings"),
               [&](const Finding& finding) { put_finding(runs, finding, stream); });
  }
  out += "\n";
}

}  // namespace gpuprof::output
