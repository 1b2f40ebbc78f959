// Compares each output of small, constructed verdicts with the files of test/golden/check. GPUPROF_UPDATE_GOLDEN=1
// rewrites them; review the difference before you commit it.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/text/text_stream.h"
#include "catch.h"
#include "output/compare/check.h"

using namespace gpuprof;
using namespace gpuprof::compare;

namespace {

constexpr size_t kWidth = 80;
constexpr double kInfinite = std::numeric_limits<double>::infinity();

class Made {
 public:
  explicit Made(size_t runs_a_side) {
    facts_.resize(2 * runs_a_side);
    comparison.old_runs = runs_a_side;
    comparison.stall_reasons = {"long_scoreboard", "barrier", "selected", "wait", "mio_throttle"};
    for (size_t run = 0; run < facts_.size(); ++run) {
      const bool old_side = run < runs_a_side;
      facts_[run].file = (old_side ? "old" : "new") + std::to_string(run % runs_a_side) + ".txt";
      facts_[run].devices = {"NVIDIA H200"};
      facts_[run].driver = "570.86";
      facts_[run].commit = old_side ? "1111111" : "2222222";
      comparison.runs.push_back(&facts_[run]);
      comparison.totals.push_back({.ns = old_side ? 10'000'000U : 10'310'000U, .count = 1000});
    }
  }

  void kernel(std::string name, Verdict verdict, double old_ns, double new_ns) {
    comparison.kernels.emplace_back().name = std::move(name);
    Finding& finding = add(Finding::What::kernel, verdict, old_ns, new_ns);
    finding.line = static_cast<uint32_t>(comparison.kernels.size() - 1);
  }

  void path(const std::vector<std::string>& functions, Verdict verdict, double old_ns, double new_ns) {
    PathLine line;
    line.kernel = static_cast<uint32_t>(comparison.kernels.size() - 1);
    for (const std::string& function : functions) {
      line.functions.push_back(static_cast<uint32_t>(comparison.functions.size()));
      comparison.functions.emplace_back().name = function;
    }
    comparison.paths.push_back(std::move(line));
    add(Finding::What::path, verdict, old_ns, new_ns).line = static_cast<uint32_t>(comparison.paths.size() - 1);
  }

  struct Samples {
    uint64_t all = 0;
    std::map<uint32_t, uint64_t> by_reason;
  };

  void stalls(const Samples& before, const Samples& after) {
    for (const Samples* samples : {&before, &after}) {
      StallSums& sums = comparison.kernels.back().stalls[samples == &before ? 0 : 1];
      sums.samples = samples->all;
      for (const auto& [reason, count] : samples->by_reason) {
        sums.reasons[reason].samples = count;
      }
    }
  }

  Finding& add(Finding::What what, Verdict verdict, double old_ns, double new_ns) {
    Finding& finding = judgement.findings.emplace_back();
    finding.what = what;
    finding.verdict = verdict;
    finding.old_ns = old_ns;
    finding.new_ns = new_ns;
    finding.change_percent = old_ns > 0 ? 100 * (new_ns / old_ns - 1) : kInfinite;
    finding.low_percent = finding.change_percent - 1.5;
    finding.high_percent = finding.change_percent + 1.5;
    finding.p = verdict == Verdict::slower ? 0.000012 : 0.4;
    finding.adjusted_p = verdict == Verdict::slower ? 0.00036 : 0.8;
    finding.duration_percent = finding.change_percent;
    finding.minimum_detectable_percent = 3.2;
    return finding;
  }

  Made(Made&&) = default;  // A move keeps the addresses of the facts. A copy would point to the original's facts.
  Made& operator=(Made&&) = default;
  ~Made() = default;

  Comparison comparison;
  Judgement judgement;

 private:
  std::vector<RunFacts> facts_;
};

Made regression() {
  Made made(8);
  Judgement& judgement = made.judgement;
  judgement.outcome = Outcome::regression;
  judgement.moderated = judgement.factor_removed = true;
  judgement.factor_percent = 2.13;
  judgement.noise_percent = 0.84;
  judgement.minimum_detectable_percent = 1.9;
  judgement.notes = {"old3.txt and new3.txt are an hour apart"};
  made.add(Finding::What::total, Verdict::slower, 10e6, 10.31e6).cycles_percent = 3.05;
  made.add(Finding::What::unmatched, Verdict::same, 10e6, 10.1e6);
  made.kernel("void gemm<float, 128, 64>(float const*, float const*, float*)", Verdict::slower, 1.2e6, 1.32e6);
  judgement.findings.back().launches_percent = 5;
  judgement.findings.back().duration_percent = 4.76;
  judgement.findings.back().permutation_p = 1.0 / 12870;
  made.stalls({1000, {{0, 120}, {1, 600}, {2, 200}, {3, 80}}}, {2000, {{0, 768}, {1, 600}, {2, 402}, {4, 230}}});
  made.path({"main", "train", "Model.forward", "Linear.forward", "at::native::linear"}, Verdict::slower, 0.6e6, 0.72e6);
  made.path({"main", "evaluate", "Model.forward"}, Verdict::appeared, 0, 0.02e6);
  made.kernel("softmax_kernel", Verdict::excused, 0.5e6, 0.52e6);
  judgement.findings.back().note = "gate.txt:3: up to 5% until 2027-01-31: new mask, see #41";
  made.stalls({100, {{0, 60}, {2, 40}}}, {100, {{0, 63}, {2, 37}}});
  made.kernel("layer_norm", Verdict::moved, 0.4e6, 0.4e6);
  made.path({"main", "train", "fused"}, Verdict::moved, 0, 0.4e6);
  made.path({"main", "train", "apart"}, Verdict::moved, 0.4e6, 0);
  made.kernel("rope_kernel", Verdict::appeared, 0, 0.3e6);
  made.kernel("old_rope_kernel", Verdict::gone, 0.3e6, 0);
  made.kernel("adam_step", Verdict::faster, 0.9e6, 0.8e6);
  made.stalls({100, {{0, 90}, {2, 10}}},
              {100, {{0, 10}, {2, 90}}});  // not reported, as this kernel's verdict is `same`
  made.kernel("[copy HtoD]", Verdict::same, 0.2e6, 0.2e6);
  return made;
}

Made pass() {
  Made made(5);
  made.judgement.outcome = Outcome::pass;
  made.judgement.noise_percent = 0.5;
  made.judgement.minimum_detectable_percent = 1.4;
  made.judgement.notes = {"1 kernel is too few"};
  made.add(Finding::What::total, Verdict::same, 10e6, 10.01e6);
  made.kernel("gemm", Verdict::same, 10e6, 10.01e6);
  return made;
}

Made inconclusive() {
  Made made(2);
  made.judgement.outcome = Outcome::inconclusive;
  made.judgement.reasons = {"2 old and 2 new runs are too few: at least 3 each, better 5 or 8",
                            "not the same device: NVIDIA H200 (old0.txt) and NVIDIA H100 (new1.txt)"};
  made.judgement.minimum_detectable_percent = kInfinite;
  made.add(Finding::What::total, Verdict::same, 10e6, 10.31e6).high_percent = kInfinite;
  made.kernel("gemm", Verdict::slower, 10e6, 12e6);
  return made;
}

Made hostile() {
  const std::string name =
      "\x1b[31m<script>alert(1)</script>]]>&amp;|@team `x` ![a](b)\n::error::%0A\xff\xe2\x80\xae\xef\xbf\xbf\"'";
  Made made(3);
  made.judgement.outcome = Outcome::regression;
  made.judgement.notes = {"a note"};
  made.add(Finding::What::total, Verdict::same, 10e6, 10e6);
  made.kernel(name, Verdict::slower, 1e6, 2e6);
  made.comparison.stall_reasons = {name, std::string(1000, 'y')};
  made.stalls({100, {{0, 90}, {1, 10}}}, {100, {{0, 10}, {1, 90}}});
  made.path({name, std::string(1000, 'x')}, Verdict::slower, 1e6, 2e6);
  made.kernel("", Verdict::slower, 1, 1e30);
  made.judgement.noise_percent = made.judgement.minimum_detectable_percent = 1e9;
  return made;
}

Made alone() {
  Made made(4);
  made.judgement.one_side = true;
  made.judgement.outcome = Outcome::pass;
  made.judgement.noise_percent = 1.25;
  made.judgement.minimum_detectable_percent = 4.4;
  made.add(Finding::What::total, Verdict::same, 10e6, 10.02e6);
  made.kernel("gemm", Verdict::same, 10e6, 10.02e6);
  return made;
}

void check_file(const std::string& name, const std::string& text) {
  const std::filesystem::path file =
      (std::filesystem::path(GPUPROF_TEST_DATA) / "../../../golden/check" / name).lexically_normal();
  if (std::getenv("GPUPROF_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(file, std::ios::binary) << text;
  }
  std::ifstream stream(file, std::ios::binary);
  const std::string expected{std::istreambuf_iterator<char>(stream), {}};
  INFO(name);
  CHECK(text == expected);
}

}  // namespace

TEST_CASE("the outputs of check are those of the golden files") {
  const std::vector<std::pair<std::string, Made (*)()>> cases{{"regression", regression},
                                                              {"pass", pass},
                                                              {"inconclusive", inconclusive},
                                                              {"hostile", hostile},
                                                              {"alone", alone}};
  for (const auto& [name, make] : cases) {
    const Made made = make();
    const Comparison& runs = made.comparison;
    const Judgement& found = made.judgement;
    check_file(name + ".text", collect_text([&](TextStream& out) { output::check_text(runs, found, kWidth, out); }));
    check_file(name + ".markdown", collect_text([&](TextStream& out) { output::check_markdown(runs, found, out); }));
    check_file(name + ".json", collect_text([&](TextStream& out) { output::check_json(runs, found, out); }));
    check_file(name + ".junit", collect_text([&](TextStream& out) { output::check_junit(runs, found, out); }));
    check_file(name + ".annotations",
               collect_text([&](TextStream& out) { output::check_annotations(runs, found, out); }));
  }
}

TEST_CASE("the text output escapes foreign control bytes and fits the width") {
  for (const size_t width : {1, 40, 80, 200}) {
    const Made made = hostile();
    const std::string text =
        collect_text([&](TextStream& out) { output::check_text(made.comparison, made.judgement, width, out); });
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find("\xe2\x80\xae") == std::string::npos);
  }
  const Made made = regression();
  const std::string text =
      collect_text([&](TextStream& out) { output::check_text(made.comparison, made.judgement, kWidth, out); });
  size_t lines = 0;
  for (size_t begin = 0; begin < text.size(); ++lines) {
    const size_t end = text.find('\n', begin);
    CHECK(end - begin <= kWidth);
    begin = end + 1;
  }
  CHECK(lines <= 52);
}

TEST_CASE("empty comparisons have outputs, too") {
  const Comparison runs;
  const Judgement found;
  for (const auto put : {output::check_markdown, output::check_json, output::check_junit, output::check_annotations}) {
    CHECK_FALSE(collect_text([&](TextStream& out) { put(runs, found, out); }).empty());
  }
  CHECK(collect_text([&](TextStream& out) {
          output::check_text(runs, found, kWidth, out);
        }).starts_with("INCONCLUSIVE: nothing was compared\n"));
}
