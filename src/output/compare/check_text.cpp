#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "output/compare/check.h"
#include "output/compare/check_texts.h"
#include "output/text.h"

namespace gpuprof::output {
namespace {

using compare::Comparison;
using compare::Finding;
using compare::Judgement;
using compare::Verdict;

constexpr size_t kMostKernels = 8;  // kernels shown per verdict, so that the list fits on a screen
constexpr size_t kMostPaths = 3;
constexpr size_t kMinWidth = 40;

void put_path(const Comparison& runs, const Finding& finding, size_t width, std::string& out) {
  const bool worded = finding.verdict != Verdict::slower && finding.verdict != Verdict::unclear;
  out.append("    ").append(worded ? "" : finding.verdict == Verdict::slower ? "slower " : "grew most ");
  out.append(change_text(finding)).append(":\n");
  out.append(callers_text(std::string(5, ' '), finding_callers(runs, finding), width)).append("\n");
}

void put_kernel(const Comparison& runs, const Finding& finding, size_t width, std::string& out) {
  out.append("  ").append(short_finding_name(runs, finding, width - 2)).append("\n");
  append_wrapped("    " + change_text(finding) + "; " + cost_text(finding), width, "    ", out);
  if (const std::string stalls = stall_text(runs, finding); !stalls.empty()) {
    append_wrapped("    " + stalls, width, "      ", out);
  }
  if (!finding.note.empty()) {
    append_wrapped("    " + finding.note, width, "    ", out);
  }
}

void put_kernels(const Comparison& runs, const Judgement& judgement, Verdict verdict, std::string_view title,
                 size_t width, TextStream& stream) {
  std::string& out = stream.text();
  size_t kernels = 0;
  size_t paths = 0;
  bool below = false;
  for (const Finding& finding : judgement.findings) {
    if (finding.what == Finding::What::kernel) {
      below = finding.verdict == verdict;
      paths = 0;
      kernels += below ? 1 : 0;
      if (below && kernels == 1) {
        out.append("\n").append(title).append("\n");
      }
      if (below && kernels <= kMostKernels) {
        put_kernel(runs, finding, width, out);
      }
    } else if (finding.what == Finding::What::path && below && kernels <= kMostKernels && ++paths <= kMostPaths) {
      put_path(runs, finding, width, out);
    }
    stream.checkpoint();
  }
  if (kernels > kMostKernels) {
    out.append("  ... and ").append(std::to_string(kernels - kMostKernels)).append(" more\n");
  }
}

}  // namespace

void check_text(const Comparison& runs, const Judgement& judgement, size_t width, TextStream& stream) {
  width = std::max(width, kMinWidth);
  std::string& out = stream.text();
  append_wrapped(headline(judgement), width, "  ", out);
  for (size_t i = 1; i < judgement.reasons.size(); ++i) {
    append_wrapped("  " + judgement.reasons[i], width, "    ", out);
  }
  for (const std::string& line : advice_lines(judgement)) {
    append_wrapped(line, width, "  ", out);
  }
  out.append("\nCompared: ").append(what_was_compared(runs, judgement)).append("\n");
  for (const Finding& finding : judgement.findings) {
    if (finding.what == Finding::What::total || finding.what == Finding::What::unmatched) {
      const std::string name = judgement.one_side ? "Total, second half against first: "
                               : finding.what == Finding::What::total
                                   ? "Total: "
                                   : "Total without the change common to most kernels: ";
      append_wrapped(name + change_text(finding) + "; " + cost_text(finding), width, "  ", out);
      if (!finding.note.empty()) {
        append_wrapped("  " + finding.note, width, "  ", out);
      }
    }
  }
  put_kernels(runs, judgement, Verdict::slower, "Slower kernels:", width, stream);
  put_kernels(runs, judgement, Verdict::unclear, "Unclear:", width, stream);
  put_kernels(runs, judgement, Verdict::excused, "Slower, but allowed by --thresholds:", width, stream);
  put_kernels(runs, judgement, Verdict::moved, "Moved to other callers:", width, stream);
  put_kernels(runs, judgement, Verdict::appeared, "New kernels:", width, stream);
  put_kernels(runs, judgement, Verdict::gone, "Kernels that are gone:", width, stream);
  put_kernels(runs, judgement, Verdict::faster, "Faster kernels:", width, stream);
  out += "\n";
  for (const std::string& line : basis_lines(judgement)) {
    append_wrapped(line, width, "  ", out);
  }
}

}  // namespace gpuprof::output
