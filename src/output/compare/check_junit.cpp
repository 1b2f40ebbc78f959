#include <algorithm>
#include <string>
#include <string_view>

#include "base/text/utf8.h"
#include "output/compare/check.h"
#include "output/compare/check_texts.h"
#include "output/picture/svg_text.h"
#include "output/text.h"

namespace gpuprof::output {
namespace {

using compare::Comparison;
using compare::Finding;
using compare::Judgement;
using compare::Outcome;
using compare::Verdict;

constexpr size_t kJunitNameWidth = 400;
constexpr size_t kJunitPathWidth = 1000;
constexpr size_t kMostJunitPaths = 3;

std::string xml(std::string_view text) {
  return xml_escaped(printable(shown_name(text)));
}

bool is_case(const Finding& finding) {
  return finding.what != Finding::What::path;
}

bool is_failure(const Judgement& judgement, const Finding& finding) {
  return judgement.outcome == Outcome::regression && is_case(finding) && finding.verdict == Verdict::slower;
}

// True if the finding is slower but the check is inconclusive. Such a test case has neither passed nor failed.
bool is_undecided(const Judgement& judgement, const Finding& finding) {
  return judgement.outcome == Outcome::inconclusive && finding.verdict == Verdict::slower;
}

void put_message(std::string_view element, std::string_view message, std::string_view body, std::string& out) {
  out.append("    <").append(element).append(" message=\"").append(xml(message)).append("\">");
  out.append(body).append("</").append(element).append(">\n");
}

void put_case(const Comparison& runs, const Judgement& judgement, size_t at, std::string& out) {
  const Finding& finding = judgement.findings[at];
  const std::string name = cut_middle(shown_ends(finding_name(runs, finding)), kJunitNameWidth);
  const bool total = finding.what != Finding::What::kernel;
  out.append("  <testcase classname=\"gpuprof.").append(total ? "total" : "kernel");
  out.append("\" name=\"").append(xml(name)).append("\">\n");
  const std::string change = change_text(finding) + "; " + cost_text(finding);
  if (is_failure(judgement, finding)) {
    const std::string stalls = stall_text(runs, finding);
    std::string body = xml(change) + (stalls.empty() ? "" : "\n" + xml(stalls));
    size_t paths = 0;
    for (size_t below = at + 1; below < judgement.findings.size() && !is_case(judgement.findings[below]); ++below) {
      if (++paths <= kMostJunitPaths) {
        const Finding& path = judgement.findings[below];
        body += "\n" + xml(change_text(path) + ": " + callers_text("", finding_callers(runs, path), kJunitPathWidth));
      }
    }
    put_message("failure", name + " is slower: " + change, body, out);
  } else if (is_undecided(judgement, finding)) {
    out.append("    <skipped message=\"").append(xml(std::string(verdict_name(finding.verdict)) + ": " + change));
    out.append("; the check is inconclusive\"/>\n");
  } else {
    out.append("    <system-out>").append(xml(std::string(verdict_name(finding.verdict)) + ": " + change));
    out.append("</system-out>\n");
  }
  out += "  </testcase>\n";
}

// Writes the verdict as a test case, so that a check that did not pass has a test case that did not pass.
void put_verdict(const Judgement& judgement, std::string& out) {
  out += "  <testcase classname=\"gpuprof\" name=\"verdict\">\n";
  if (judgement.outcome == Outcome::inconclusive) {
    std::string body;
    for (const std::string& reason : judgement.reasons) {
      body.append(body.empty() ? "" : "\n").append(xml(reason));
    }
    put_message("error", headline(judgement), body, out);
  } else if (judgement.outcome == Outcome::regression) {
    put_message("failure", headline(judgement), "", out);
  } else {
    out.append("    <system-out>").append(xml(headline(judgement))).append("</system-out>\n");
  }
  out += "  </testcase>\n";
}

constexpr std::string_view kSuite =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"gpuprof check\" tests=\"";
constexpr std::string_view kSuiteEnd = "</testsuite>\n</testsuites>\n";

}  // namespace

void check_junit_error(const Error& error, TextStream& stream) {
  std::string& out = stream.text();
  out.append(kSuite).append("1\" failures=\"0\" errors=\"1\" skipped=\"0\" time=\"0\">\n");
  out += "  <testcase classname=\"gpuprof\" name=\"verdict\">\n";
  put_message("error", error.message, xml(error.hint), out);
  out.append("  </testcase>\n").append(kSuiteEnd);
}

void check_junit(const Comparison& runs, const Judgement& judgement, TextStream& stream) {
  const auto& findings = judgement.findings;
  const auto cases = std::count_if(findings.begin(), findings.end(), is_case);
  const auto failures = std::count_if(findings.begin(), findings.end(),
                                      [&](const Finding& finding) { return is_failure(judgement, finding); }) +
                        (judgement.outcome == Outcome::regression ? 1 : 0);  // + 1 for the verdict
  const auto skipped = std::count_if(findings.begin(), findings.end(), [&](const Finding& finding) {
    return is_case(finding) && is_undecided(judgement, finding);
  });
  std::string& out = stream.text();
  out.append(kSuite).append(std::to_string(cases + 1));
  out.append("\" failures=\"").append(std::to_string(failures));
  out.append("\" errors=\"").append(judgement.outcome == Outcome::inconclusive ? "1" : "0");
  out.append("\" skipped=\"").append(std::to_string(skipped)).append("\" time=\"0\">\n");
  put_verdict(judgement, out);
  for (size_t at = 0; at < findings.size(); ++at) {
    if (is_case(findings[at])) {
      put_case(runs, judgement, at, out);
      stream.checkpoint();
    }
  }
  out += kSuiteEnd;
}

}  // namespace gpuprof::output
