#include <string>
#include <string_view>
#include <vector>

#include "base/text/utf8.h"
#include "output/compare/check.h"
#include "output/compare/check_texts.h"
#include "output/text.h"

namespace gpuprof::output {
namespace {

using compare::Comparison;
using compare::Finding;
using compare::Judgement;
using compare::Verdict;

constexpr size_t kMostRows = 20;
constexpr size_t kMarkdownNameWidth = 100;

// Escapes text from a profile, so that it can contain no markup, and no @mention that notifies somebody.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : escaped(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '@':
        out += "&#64;";
        break;
      case '|':
      case '*':
      case '_':
      case '`':
      case '[':
      case ']':
      case '\\':
      case '#':
      case '~':
      case '!':
        out.append("\\").append(1, c);
        break;
      default:
        out += c;
    }
  }
  return out;
}

// Uses the <code> tag, because a bar within backticks cannot be escaped and would end the table cell.
std::string check_code(std::string_view text) {
  return "<code>" + plain(cut_middle(shown_ends(text), kMarkdownNameWidth)) + "</code>";
}

bool is_told(const Finding& finding) {
  return finding.what != Finding::What::kernel ||
         (finding.verdict != Verdict::same && finding.verdict != Verdict::too_small);
}

std::string path_cell(const Comparison& runs, const Finding& finding) {
  return "&nbsp;&nbsp;" + check_code(callers_text("", finding_callers(runs, finding), kMarkdownNameWidth));
}

void put_row(const Comparison& runs, const Finding& finding, std::string& out) {
  const bool path = finding.what == Finding::What::path;
  out.append("| ").append(path ? path_cell(runs, finding)
                               : check_code(short_finding_name(runs, finding, kMarkdownNameWidth)));
  out.append(" | ").append(mean_duration_text(finding.old_ns));
  out.append(" | ").append(mean_duration_text(finding.new_ns));
  out.append(" | ").append(change_text(finding));
  out.append(" | ").append(plain(verdict_name(finding.verdict)));
  out.append(finding.note.empty() ? "" : ": " + plain(finding.note));
  const std::string stalls = stall_text(runs, finding);
  out.append(stalls.empty() ? "" : "; " + plain(stalls)).append(" |\n");
}

}  // namespace

void check_markdown(const Comparison& runs, const Judgement& judgement, TextStream& stream) {
  std::string& out = stream.text();
  out.append("### gpuprof: ").append(plain(headline(judgement))).append("\n\n");
  for (size_t i = 1; i < judgement.reasons.size(); ++i) {
    out.append("- ").append(plain(judgement.reasons[i])).append("\n");
    stream.checkpoint();
  }
  out.append(judgement.reasons.size() > 1 ? "\n" : "").append(plain(what_was_compared(runs, judgement))).append("\n\n");
  if (!judgement.findings.empty()) {
    out += "| mean GPU time of a run | old | new | change (95% interval) | verdict |\n|---|---:|---:|---:|---|\n";
  }
  size_t rows = 0;
  size_t left_out = 0;
  for (const Finding& finding : judgement.findings) {
    if (is_told(finding)) {
      rows < kMostRows ? put_row(runs, finding, out) : static_cast<void>(++left_out);
      ++rows;
      stream.checkpoint();
    }
  }
  if (left_out > 0) {
    out.append("\n... and ").append(std::to_string(left_out)).append(" more\n");
  }
  out += "\n";
  for (const std::string& line : basis_lines(judgement)) {
    out.append("- ").append(plain(line)).append("\n");
  }
}

}  // namespace gpuprof::output
