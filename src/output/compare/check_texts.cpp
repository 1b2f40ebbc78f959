#include "output/compare/check_texts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "compare/judge/judge_text.h"
#include "output/compare/stall_texts.h"
#include "output/text.h"

namespace gpuprof::output {

using compare::Comparison;
using compare::Finding;
using compare::Judgement;
using compare::Outcome;
using compare::plain_percent;
using compare::signed_percent;
using compare::Verdict;

const char* outcome_word(Outcome outcome) {
  switch (outcome) {
    case Outcome::pass:
      return "pass";
    case Outcome::regression:
      return "regression";
    case Outcome::inconclusive:
      return "inconclusive";
  }
  return "";
}

const char* verdict_name(Verdict verdict) {
  static constexpr std::array<const char*, 9> kWords = {"same", "slower",    "faster",  "moved",  "appeared",
                                                        "gone", "too_small", "excused", "unclear"};
  static_assert(static_cast<size_t>(Verdict::unclear) + 1 == kWords.size());
  return kWords.at(static_cast<size_t>(verdict));
}

namespace {

size_t count_of(const Judgement& judgement, Finding::What what, Verdict verdict) {
  return static_cast<size_t>(
      std::count_if(judgement.findings.begin(), judgement.findings.end(),
                    [=](const Finding& finding) { return finding.what == what && finding.verdict == verdict; }));
}

std::string kernels(size_t count) {
  return counted_text(count, "kernel");
}

std::string slower_text(const Judgement& judgement) {
  std::string text;
  if (const size_t slower = count_of(judgement, Finding::What::kernel, Verdict::slower); slower > 0) {
    text = kernels(slower) + (slower == 1 ? " is slower" : " are slower");
  }
  for (const Finding& finding : judgement.findings) {
    const bool total = finding.what == Finding::What::total || finding.what == Finding::What::unmatched;
    if (total && finding.verdict == Verdict::slower) {
      text.append(text.empty() ? "" : ", ");
      text += finding.what == Finding::What::total ? "all GPU work took " : "new and gone kernels change the total by ";
      text += signed_percent(finding.change_percent);
    }
  }
  return text;
}

}  // namespace

std::string headline(const Judgement& judgement) {
  switch (judgement.outcome) {
    case Outcome::regression:
      return "REGRESSION: " + slower_text(judgement);
    case Outcome::inconclusive:
      return "INCONCLUSIVE: " + (judgement.reasons.empty() ? "nothing was compared" : judgement.reasons.front());
    case Outcome::pass:
      break;
  }
  if (judgement.one_side) {
    return "MEASURED: differences between runs of one program";
  }
  const size_t faster = count_of(judgement, Finding::What::kernel, Verdict::faster);
  const size_t excused = count_of(judgement, Finding::What::kernel, Verdict::excused);
  return std::string("PASS: nothing is proven slower") + (faster > 0 ? ", " + kernels(faster) + " faster" : "") +
         (excused > 0 ? ", " + kernels(excused) + " excused" : "");
}

std::string what_was_compared(const Comparison& runs, const Judgement& judgement) {
  const size_t all = runs.runs.size();
  std::string text = judgement.one_side
                         ? counted_text(all, "run")
                         : std::to_string(runs.old_runs) + " old and " + counted_text(all - runs.old_runs, "new run");
  if (all > 0 && !runs.runs.front()->devices.empty()) {
    text += " on ";
    for (const std::string& device : runs.runs.front()->devices) {
      text.append(&device == &runs.runs.front()->devices.front() ? "" : ", ").append(escaped(device));
    }
  }
  return text;
}

std::string finding_name(const Comparison& runs, const Finding& finding) {
  switch (finding.what) {
    case Finding::What::total:
      return "total";
    case Finding::What::unmatched:
      return "total without the change common to most kernels";
    case Finding::What::kernel:
      return runs.kernels[finding.line].name;
    case Finding::What::path:
      return runs.kernels[runs.paths[finding.line].kernel].name;
  }
  return "";
}

std::string short_finding_name(const Comparison& runs, const Finding& finding, size_t width) {
  const std::string name = finding_name(runs, finding);
  const bool kernel = finding.what == Finding::What::kernel || finding.what == Finding::What::path;
  return kernel ? shown_kernel(name, width) : cut_middle(name, width);
}

std::vector<std::string_view> finding_path(const Comparison& runs, const Finding& finding) {
  std::vector<std::string_view> path;
  for (const Caller& frame : finding_callers(runs, finding)) {
    path.push_back(frame.label);
  }
  return path;
}

std::vector<Caller> finding_callers(const Comparison& runs, const Finding& finding) {
  return finding.what == Finding::What::path ? callers_of(runs, runs.paths[finding.line].functions)
                                             : std::vector<Caller>();
}

std::vector<Caller> callers_of(const Comparison& runs, std::span<const uint32_t> functions) {
  std::vector<Caller> path;
  path.reserve(functions.size());
  for (const uint32_t function : functions) {
    path.push_back({runs.functions[function].name, runs.functions[function].origin});
  }
  return path;
}

std::string change_text(const Finding& finding) {
  if (finding.verdict == Verdict::appeared || finding.verdict == Verdict::gone) {
    return verdict_name(finding.verdict);
  }
  if (finding.verdict == Verdict::moved && finding.what == Finding::What::path) {
    const double gained = finding.launches_percent != 0 ? finding.launches_percent : finding.new_ns - finding.old_ns;
    return std::string(gained > 0 ? "moved here, " : "moved away, ") + mean_duration_text(finding.old_ns) + " -> " +
           mean_duration_text(finding.new_ns);
  }
  std::string text = signed_percent(finding.change_percent);
  if (std::isfinite(finding.high_percent)) {
    text += " (" + signed_percent(finding.low_percent) + " to " + signed_percent(finding.high_percent) + ")";
  }
  return text;
}

std::string mean_duration_text(double ns) {
  constexpr double kMost = 1e18;
  return duration_text(static_cast<uint64_t>(std::llround(std::clamp(ns, 0.0, kMost))));
}

std::string cost_text(const Finding& finding) {
  std::string text =
      "mean " + mean_duration_text(finding.old_ns) + " -> " + mean_duration_text(finding.new_ns) + " a run";
  if (finding.launches_percent != 0) {
    text +=
        "; launches " + signed_percent(finding.launches_percent) + ", each " + signed_percent(finding.duration_percent);
  }
  if (finding.permutation_p) {
    char p[32];
    static_cast<void>(std::snprintf(p, sizeof(p), "%.2g", *finding.permutation_p));
    text.append(finding.permutations_drawn ? "; permutation test with random permutations: p about "
                                           : "; permutation test: p = ")
        .append(p);
  }
  if (finding.cycles_percent) {
    text += "; in GPU cycles " + signed_percent(*finding.cycles_percent);
  }
  return text;
}

std::string stall_text(const Comparison& runs, const Finding& finding) {
  const bool told = finding.what == Finding::What::kernel &&
                    (finding.verdict == Verdict::slower || finding.verdict == Verdict::excused);
  return told ? stall_evidence(runs, runs.kernels[finding.line]) : "";
}

std::vector<std::string> basis_lines(const Judgement& judgement) {
  std::vector<std::string> lines;
  if (!judgement.findings.empty() && std::isfinite(judgement.minimum_detectable_percent)) {
    const Finding& total = judgement.findings.front();
    const double least = std::min(judgement.minimum_detectable_percent, total.minimum_detectable_percent);
    lines.push_back(
        "Noise: a kernel's time differs by " + plain_percent(judgement.noise_percent) +
        " between runs (median). Slowdowns that show with a probability of 80%: " +
        plain_percent(judgement.minimum_detectable_percent) + " of a kernel, " +
        plain_percent(total.minimum_detectable_percent) + " of the total." +
        (least < judgement.material_percent
             ? " Slowdowns up to " + plain_percent(judgement.material_percent) + " are ignored (--material)."
             : ""));
  }
  if (judgement.factor_removed) {
    lines.push_back("Common to most kernels: " + signed_percent(judgement.factor_percent) +
                    (std::abs(judgement.factor_percent) >= 1 ? " (clocks?)" : "") +
                    "; it counts in the total and in all times, and is removed from each kernel's percentage.");
  }
  for (const std::string& note : judgement.notes) {
    lines.push_back("Note: " + note + ".");
  }
  return lines;
}

std::vector<std::string> advice_lines(const Judgement& judgement) {
  switch (judgement.outcome) {
    case Outcome::regression:
      return {"`gpuprof diff` on the same profiles shows what changed; add intended slowdowns to --thresholds."};
    case Outcome::inconclusive:
      return {"No verdict: fix the problems named above, or record more runs (--runs)."};
    case Outcome::pass:
      break;
  }
  return {};
}

}  // namespace gpuprof::output
