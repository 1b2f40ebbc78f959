#include <string>
#include <string_view>

#include "base/text/utf8.h"
#include "output/compare/check.h"
#include "output/compare/check_texts.h"
#include "output/text.h"

namespace gpuprof::output {
namespace {

using compare::Comparison;
using compare::Finding;
using compare::Judgement;
using compare::Outcome;
using compare::Verdict;

constexpr size_t kMostAnnotations = 10;  // GitHub shows at most 10 annotations per step
constexpr size_t kNameWidth = 100;
constexpr size_t kPathWidth = 400;

// Escapes text for a workflow command, which ends at a newline. In a property, a comma and a colon end the value.
std::string data(std::string_view text, bool property) {
  std::string out;
  for (const char c : text) {
    if (c == '%') {
      out += "%25";
    } else if (c == '\r') {
      out += "%0D";
    } else if (c == '\n') {
      out += "%0A";
    } else if (property && c == ':') {
      out += "%3A";
    } else if (property && c == ',') {
      out += "%2C";
    } else {
      out += c;
    }
  }
  return out;
}

void put(std::string_view level, std::string_view title, std::string_view message, std::string& out) {
  out.append("::").append(level).append(" title=").append(data(title, true));
  out.append("::").append(data(message, false)).append("\n");
}

std::string message_of(const Comparison& runs, const Judgement& judgement, size_t at) {
  const Finding& finding = judgement.findings[at];
  std::string text = change_text(finding) + "; " + cost_text(finding);
  if (const std::string stalls = stall_text(runs, finding); !stalls.empty()) {
    text += "\n" + stalls;
  }
  if (at + 1 < judgement.findings.size() && judgement.findings[at + 1].what == Finding::What::path) {
    const Finding& path = judgement.findings[at + 1];
    text += "\n" + change_text(path) + ": " + callers_text("", finding_callers(runs, path), kPathWidth);
  }
  return text;
}

}  // namespace

void check_annotations(const Comparison& runs, const Judgement& judgement, TextStream& stream) {
  std::string& out = stream.text();
  if (judgement.outcome != Outcome::regression) {
    std::string message = headline(judgement);
    for (size_t i = 1; i < judgement.reasons.size(); ++i) {
      message += "\n" + judgement.reasons[i];
    }
    put(judgement.outcome == Outcome::pass ? "notice" : "warning", "gpuprof check", message, out);
    return;
  }
  size_t count = 0;
  for (size_t at = 0; at < judgement.findings.size() && count < kMostAnnotations; ++at) {
    const Finding& finding = judgement.findings[at];
    if (finding.what != Finding::What::path && finding.verdict == Verdict::slower) {
      const std::string name = short_finding_name(runs, finding, kNameWidth);
      put("error", "gpuprof: " + name + " is slower", message_of(runs, judgement, at), out);
      ++count;
      stream.checkpoint();
    }
  }
}

}  // namespace gpuprof::output
