#include "output/compare/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "output/json_stream.h"
#include "output/text.h"
#include "output/weight.h"

namespace gpuprof::output {
namespace {

using compare::Budget;
using compare::BudgetResult;
using compare::Outcome;
using compare::RunBudget;

constexpr size_t kMostNames = 3;

std::string_view budget_name(Outcome outcome) {
  return outcome == Outcome::pass ? "pass" : outcome == Outcome::regression ? "regression" : "inconclusive";
}

}  // namespace

void budget_text(const Budget& budget, const BudgetResult& result, TextStream& out) {
  const auto worst = std::max_element(result.runs.begin(), result.runs.end(),
                                      [](const RunBudget& a, const RunBudget& b) { return a.ns < b.ns; });
  const char* verdict = result.outcome == Outcome::pass         ? "PASS"
                        : result.outcome == Outcome::regression ? "OVER BUDGET"
                                                                : "INCONCLUSIVE";
  const bool of_gpu = budget.measure == analyze::Measure::gpu;
  out.append(fmt::format("{}: {} '{}' {} {} of {}", verdict,
                         budget.of_function ? "functions"
                         : of_gpu           ? "kernels"
                                            : "reasons",
                         escaped(budget.regex),
                         !of_gpu              ? "have"
                         : budget.of_function ? "cause"
                                              : "take",
                         worst == result.runs.end() ? "no" : duration_text(worst->ns), measured_text(budget.measure)));
  out.append(fmt::format("{}, of {} allowed\n", result.runs.size() > 1 ? " in the worst run" : "",
                         duration_text(budget.max_ns)));
  for (const RunBudget& run : result.runs) {
    std::string names;
    for (size_t i = 0; i < std::min(run.matched.size(), kMostNames); ++i) {
      names += (i == 0 ? "" : ", ") + shown_name(shown_ends(run.matched[i]));
    }
    if (run.matched.size() > kMostNames) {
      names += ", " + std::to_string(run.matched.size() - kMostNames) + " more";
    }
    const uint64_t most = std::max<uint64_t>(budget.max_ns, 1);
    out.append(fmt::format("  {:>9}, {} of the budget  {}  ({})\n", duration_text(run.ns),
                           run.ns > most ? percent_text_up(run.ns, most) : percent_text_down(run.ns, most),
                           shown_name(run.file), names));
  }
  for (const std::string& reason : result.reasons) {
    out.append("  " + shown_name(reason) + "\n");
  }
}

void budget_json(const Budget& budget, const BudgetResult& result, TextStream& out) {
  {
    JsonObject root(out.text());
    root.number("schema_version", 1);
    root.word("outcome", budget_name(result.outcome));
    root.text(budget.of_function ? "function" : "kernel", budget.regex);
    root.word("weight", weight_of(budget.measure).word);
    root.number("max_ns", budget.max_ns);
    json_array(result.runs, root.key("runs"), [&](const RunBudget& run) {
      JsonObject one(out.text());
      one.text("file", run.file);
      one.number("ns", run.ns);
      one.flag("whole", run.gap.empty());
    });
    json_array(result.reasons, root.key("reasons"),
               [&](const std::string& reason) { out.text() += json_string(reason); });
  }
  out.append("\n");
}

}  // namespace gpuprof::output
