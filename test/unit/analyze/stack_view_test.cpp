// Tests which frames of a stack are shown: Python frames, hiding, trimming, recursion. No option may lose time.
#include "analyze/paths/stack_view.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "analyze/names/labels.h"
#include "analyze/paths/fold.h"
#include "analyze/paths/work_paths.h"
#include "analyze/rows/latency.h"
#include "analyze/rows/summarize.h"
#include "catch.h"
#include "folding.h"
#include "profile/random_profile.h"
#include "profile/writer.h"

using namespace gpuprof;
using namespace gpuprof::analyze;
using profile::FrameKind;
using test::lines_of;

namespace {

Pattern pattern(const std::string& text) {
  auto compiled = Pattern::compile("--hide", text);
  REQUIRE(compiled);
  return std::move(compiled).value();
}

std::vector<Pattern> patterns(const std::vector<std::string>& texts) {
  std::vector<Pattern> all;
  for (const std::string& text : texts) {
    all.push_back(pattern(text));
  }
  return all;
}

// Builds a profile of stacks, each with one kernel; the kernel of stack n takes 2^n ns.
class Stacks {
 public:
  struct SubsetWriter {
    FrameKind kind = FrameKind::native;
    std::string name;
    std::string file = {};
    uint32_t line = 0;
  };

  Stacks() {
    profile::format_header(text_);
    process_ = string("app");
    kernel_ = string("k");
    add(profile::Process{.id = profile::ProcessId{1}, .pid = 1, .name = process_});
  }

  // Adds a stack; each word is one frame. "p:name" is a Python frame, "i:" an interpreter frame, "l:" an inlined frame,
  // "x:" a marker. "name@7" is on line 7 of f.py.
  Stacks& stack(const std::vector<std::string>& words, const std::vector<std::string>& kernel = {}) {
    const uint32_t id = ++stacks_;
    add_stack(false, id, words);
    add_stack(true, id, kernel);
    const profile::WorkId work{id};
    add(profile::Work{.id = work,
                      .process = profile::ProcessId{1},
                      .ustack = words.empty() ? profile::StackId{} : profile::StackId{id},
                      .kstack = kernel.empty() ? profile::StackId{} : profile::StackId{id},
                      .name = kernel_});
    const uint64_t ns = uint64_t{1} << (id - 1);
    add(profile::Gpu{.work = work, .count = 1, .sum_ns = ns, .min_ns = ns, .max_ns = ns});
    return *this;
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  template <typename Record>
  void add(const Record& record) {
    profile::format_line(record, text_);
  }
  profile::StringId string(const std::string& value) {
    if (value.empty()) {
      return {};
    }
    add(profile::String{profile::StringId{++strings_}, value});
    return profile::StringId{strings_};
  }
  profile::FrameId frame(std::string word, bool kernel) {
    FrameKind kind = kernel ? FrameKind::kernel : FrameKind::native;
    if (word.size() > 2 && word[1] == ':') {
      kind = word[0] == 'p'   ? FrameKind::python
             : word[0] == 'i' ? FrameKind::interpreter
             : word[0] == 'l' ? FrameKind::inlined
                              : FrameKind::unknown;
      word = word.substr(2);
    }
    kind = word == "[truncated]" ? FrameKind::truncated : kind;
    const size_t at = word.find('@');
    const uint32_t line = at == std::string::npos ? 0 : static_cast<uint32_t>(std::stoul(word.substr(at + 1)));
    const profile::StringId name = string(word.substr(0, at));
    const profile::StringId file = line == 0 ? profile::StringId{} : string("f.py");
    const size_t plus = word.find("+0x");  // "[libfoo.so+0x12]" is in /usr/lib/libfoo.so, "[app+0x12]" in /home/me/app
    const std::string module = word.substr(1, plus - 1);
    const profile::StringId path = plus == std::string::npos
                                       ? profile::StringId{}
                                       : string((module.starts_with("lib") ? "/usr/lib/" : "/home/me/") + module);
    add(profile::Frame{
        .id = profile::FrameId{++frames_}, .kind = kind, .name = name, .file = file, .line = line, .module = path});
    return profile::FrameId{frames_};
  }
  void add_stack(bool kernel, uint32_t id, const std::vector<std::string>& words) {
    std::vector<profile::StackElement> elements;
    for (const std::string& word : words) {
      elements.push_back({.frame = frame(word, kernel)});
    }
    if (!words.empty()) {
      add(profile::Stack{kernel, profile::StackId{id}, elements});
    }
  }

  std::string text_;
  uint32_t strings_ = 0;
  uint32_t frames_ = 0;
  uint32_t stacks_ = 0;
  profile::StringId process_{};
  profile::StringId kernel_{};
};

std::string shown_frames(const std::vector<std::string>& words, const StackOptions& options) {
  const Aggregate rows = test::read_all(Stacks().stack(words).text());
  StackView view(rows.tables, options);
  std::string text;
  for (const uint32_t frame : view.frames(false, profile::StackId{1})) {
    text += (text.empty() ? "" : " ") + view.label(frame);
  }
  return text;
}

// Returns whether work with this stack is shown only as the marker for hidden frames.
bool says_hidden(WorkPaths& paths, profile::StackId stack) {
  const auto frames = paths.frames(paths.launch({.ustack = stack}).front());
  return !frames.empty() && paths.view().label(frames.front()) == kAllHidden;
}

}  // namespace

TEST_CASE("a Python file is shown relative to its package directory") {
  CHECK(short_python_file("/opt/v/lib/python3.12/site-packages/torch/nn/a.py") == "torch/nn/a.py");
  CHECK(short_python_file("/usr/lib/python3/dist-packages/numpy/core.py") == "numpy/core.py");
  CHECK(short_python_file("/a/site-packages/b/site-packages/c.py") == "c.py");
  CHECK(short_python_file("/usr/lib/python3.12/asyncio/events.py") == "asyncio/events.py");
  CHECK(short_python_file("/usr/lib/python3.12t/os.py") == "/usr/lib/python3.12t/os.py");
  CHECK(short_python_file("/usr/lib/python3./os.py") == "/usr/lib/python3./os.py");
  CHECK(short_python_file("/usr/lib/python3.9/") == "/usr/lib/python3.9/");
  CHECK(short_python_file("/x/site-packages/") == "/x/site-packages/");
  CHECK(short_python_file("/my-site-packages/a.py") == "/my-site-packages/a.py");
  CHECK(short_python_file("/home/me/train.py") == "/home/me/train.py");
  CHECK(short_python_file("<string>") == "<string>");
  CHECK(short_python_file("").empty());
}

TEST_CASE("interpreter frames are hidden below Python frames, unless they are requested") {
  const std::vector<std::string> words = {"i:_start", "libc_start", "i:eval", "p:main@3",
                                          "i:call",   "l:inl",      "ext",    "launch"};
  CHECK(shown_frames(words, {.from_start = true}) == "libc_start main (f.py:3) ext launch");
  CHECK(shown_frames(words, {.from_start = true, .python = PythonFrames::native}) ==
        "_start libc_start eval main (f.py:3) call inl ext launch");
  CHECK(shown_frames(words, {.from_start = true, .python = PythonFrames::off}) ==
        "_start libc_start eval call inl ext launch");
  CHECK(shown_frames({"i:_start", "i:run", "ext"}, {.from_start = true}) == "_start run ext");
  CHECK(shown_frames({"p:f@1", "ext", "l:inl"}, {}) == "f (f.py:1) ext inl");
  CHECK(shown_frames({"x:[no Python frames]", "cloned", "ext"}, {}) == "[no Python frames] cloned ext");
  CHECK(shown_frames({"x:[no Python frames]", "cloned", "ext"}, {.python = PythonFrames::off}) == "cloned ext");
  CHECK(shown_frames({"p:f", "a"}, {}) == "f a");
}

TEST_CASE("stacks begin at main, unless complete stacks are requested") {
  const std::vector<std::string> words = {"_start", "__libc_start_main_impl", "main", "f"};
  CHECK(shown_frames(words, {}) == "main f");
  CHECK(shown_frames(words, {.from_start = true}) == "_start __libc_start_main_impl main f");
  CHECK(shown_frames({"_start", "[app+0x77]", "main(int, char**)", "main", "f"}, {}) == "main(int, char**) main f");
  CHECK(shown_frames({"_start", "f", "ns::main", "domain"}, {}) == "f ns::main domain");
  CHECK(shown_frames(words, {.trim_to = "f"}) == "f");
  CHECK(shown_frames(words, {.trim_to = "_start"}) == "_start __libc_start_main_impl main f");
  CHECK(shown_frames(words, {.trim_to = "none"}) == "main f");
  CHECK(shown_frames({"f", "p:main@1"}, {}) == "f main (f.py:1)");
}

TEST_CASE("Python stacks begin at the program's module, not at the interpreter's frames") {
  const std::vector<std::string> words = {"_start", "i:main", "i:Py_RunMain", "p:<module>@9", "p:g@2", "p:<module>@1"};
  CHECK(shown_frames(words, {}) == "<module> (f.py:9) g (f.py:2) <module> (f.py:1)");
  CHECK(shown_frames(words, {.python = PythonFrames::native}) ==
        "main Py_RunMain <module> (f.py:9) g (f.py:2) <module> (f.py:1)");
  CHECK(shown_frames(words, {.python = PythonFrames::off}) == "main Py_RunMain");
  // A program that embeds Python keeps its own main.
  CHECK(shown_frames({"_start", "main", "i:PyRun", "p:<module>@9", "g"}, {}) == "main <module> (f.py:9) g");
  // If a thread imports a module, its stack still begins at the thread's first Python function, not at the module.
  CHECK(shown_frames({"clone3", "start_thread", "i:boot", "p:run@1", "p:<module>@2", "g"}, {}) ==
        "run (f.py:1) <module> (f.py:2) g");
}

TEST_CASE("stacks of threads begin after the thread start functions") {
  CHECK(shown_frames({"clone3", "start_thread", "worker", "clone", "g"}, {}) == "worker clone g");
  CHECK(shown_frames({"[libc.so.6+0x89134]", "[libc.so.6+0x10a7dc]", "worker"}, {}) == "worker");
  CHECK(shown_frames({"x:[no Python frames]", "clone3", "worker"}, {}) == "[no Python frames] worker");
  CHECK(shown_frames({"[truncated]", "[libc.so.6+0x41c93]", "my_compare"}, {}) ==
        "[truncated] [libc.so.6+0x41c93] my_compare");  // a call back from libc, in a stack whose beginning is unknown
  // If a stack has only thread start functions, they are shown.
  CHECK(shown_frames({"clone3", "start_thread"}, {}) == "clone3 start_thread");
  CHECK(shown_frames({"worker", "main_loop"}, {}) == "worker main_loop");
}

TEST_CASE("Python frames without line numbers are equal if a file has changed above them") {
  CHECK(shown_frames({"p:a@1", "p:b@2", "c@3"}, {.numbers = false}) == "a (f.py) b (f.py) c");
  CHECK(shown_frames({"p:a@7", "p:b@8", "c@9"}, {.numbers = false}) == "a (f.py) b (f.py) c");
}

TEST_CASE("native frames show lines on request, Python frames always") {
  CHECK(shown_frames({"a@1", "p:b@2"}, {}) == "a b (f.py:2)");
  CHECK(shown_frames({"a@1", "p:b@2"}, {.lines = true}) == "a (f.py:1) b (f.py:2)");
}

TEST_CASE("frames are hidden or selected by a pattern on their name or label") {
  const std::vector<std::string> words = {"p:main@3", "at::mm(int)", "p:forward@9", "launch"};
  CHECK(shown_frames(words, {.hide = patterns({"^at::"})}) == "main (f.py:3) forward (f.py:9) launch");
  CHECK(shown_frames(words, {.hide = patterns({"^forward$", "^launch$"})}) == "main (f.py:3) at::mm(int)");
  CHECK(shown_frames(words, {.hide = patterns({"py:9"})}) == "main (f.py:3) at::mm(int) launch");
  CHECK(shown_frames(words, {.only = patterns({"f[.]py", "mm"})}) == "main (f.py:3) at::mm(int) forward (f.py:9)");
  CHECK(shown_frames(words, {.only = patterns({"py"}), .hide = patterns({"main"})}) == "forward (f.py:9)");
  CHECK(shown_frames(words, {.hide = patterns({"."})}).empty());
  CHECK(shown_frames({"x:[unknown]", "a"}, {.hide = patterns({"unknown"})}) == "a");
}

TEST_CASE("consecutive frames without a symbol in an installed library are one frame, unless all are requested") {
  const std::vector<std::string> words = {"main",
                                          "gemm",
                                          "[libcublasLt.so.13+0x12ab]",
                                          "[libcublasLt.so.13+0x34]",
                                          "[libcublas.so.13+0x5]",
                                          "[libcublasLt.so.13+0x12ab]",
                                          "[app+0x10]",
                                          "[app+0x20]",
                                          "cudaLaunchKernel"};
  CHECK(shown_frames(words, {}) ==
        "main gemm [libcublasLt.so.13] [libcublas.so.13] [libcublasLt.so.13] [app+0x10] [app+0x20] cudaLaunchKernel");
  StackOptions all;
  all.addresses = true;
  CHECK(shown_frames(words, all) ==
        "main gemm [libcublasLt.so.13+0x12ab] [libcublasLt.so.13+0x34] [libcublas.so.13+0x5] "
        "[libcublasLt.so.13+0x12ab] [app+0x10] [app+0x20] cudaLaunchKernel");
}

TEST_CASE("markers of incomplete stacks cannot be hidden") {
  const std::vector<std::string> words = {"x:[no Python frames]", "[truncated]", "a", "b"};
  CHECK(shown_frames(words, {.hide = patterns({"."})}) == "[no Python frames] [truncated]");
  CHECK(shown_frames(words, {.only = patterns({"b"})}) == "[no Python frames] [truncated] b");
  CHECK(shown_frames(words, {.python = PythonFrames::off}) == "[truncated] a b");
  CHECK(shown_frames(words, {.trim_to = "b"}) == "b");
}

TEST_CASE("--trim-to makes stacks begin at the outermost frame of a function") {
  CHECK(shown_frames({"a", "b", "c", "b", "d"}, {.trim_to = "b"}) == "b c b d");
  CHECK(shown_frames({"a", "b", "c"}, {.trim_to = "x"}) == "a b c");
  CHECK(shown_frames({"a", "ns::f<int>(int, char)", "c"}, {.trim_to = "ns::f<int>"}) == "ns::f<int>(int, char) c");
  CHECK(shown_frames({"a", "p:T.fit@3", "c"}, {.trim_to = "T.fit"}) == "T.fit (f.py:3) c");
  CHECK(shown_frames({"a", "p:T.fit@3", "p:T.fit@4"}, {.trim_to = "T.fit (f.py:4)"}) == "T.fit (f.py:4)");
  CHECK(shown_frames({"a", "b", "c"}, {.trim_to = "b", .hide = patterns({"b"})}) == "c");
  const Aggregate rows = test::read_all(Stacks().stack({"a", "b"}).stack({"a"}).stack({"c"}).stack({}).text());
  const FoldResult result = fold(rows, {.stacks = {.trim_to = "b"}});
  CHECK(result.trimmed.stacks == 3);
  CHECK(result.trimmed.without == 2);
  CHECK(lines_of(result) == "app;[no CPU stack];k_[G] 8\napp;a;k_[G] 2\napp;b;k_[G] 1\napp;c;k_[G] 4\n");
}

TEST_CASE("collapsed recursion keeps only its innermost cycle") {
  const StackOptions collapse{.collapse_recursion = true};
  CHECK(shown_frames({"m", "f", "f", "f", "g"}, collapse) == "m f g");
  CHECK(shown_frames({"a", "b", "a", "b", "c"}, collapse) == "a b c");
  CHECK(shown_frames({"a", "b", "a", "c"}, collapse) == "a b a c");
  CHECK(shown_frames({"a", "b", "c", "a", "b", "c", "a", "b", "c"}, collapse) == "a b c");
  CHECK(shown_frames({"a", "b", "b", "a", "b", "c"}, collapse) == "a b c");
  CHECK(shown_frames({"m", "p:f@1", "p:f@2", "p:f@9", "g"}, collapse) == "m f (f.py:9) g");
  CHECK(shown_frames({"p:a@1", "p:b@2", "p:a@3", "p:b@4"}, collapse) == "a (f.py:3) b (f.py:4)");
  CHECK(shown_frames({"p:f@1", "f", "p:f@1", "f"}, collapse) ==
        "f (f.py:1) f");  // the first f is a Python function, the second a C function
  CHECK(shown_frames({"f", "l:f", "f"}, collapse) == "f");
  CHECK(shown_frames({"p:f@1", "i:eval", "p:f@1", "i:eval", "x"}, collapse) == "f (f.py:1) x");
  CHECK(shown_frames({"f", "x", "f", "x"}, {.hide = patterns({"x"}), .collapse_recursion = true}) == "f");
  std::vector<std::string> longest;
  for (size_t i = 0; i < 2 * kLongestCycle; ++i) {
    longest.push_back("f" + std::to_string(i % kLongestCycle));
  }
  CHECK(shown_frames(longest, collapse).starts_with("f0 f1 "));
  CHECK(shown_frames(longest, collapse).find("f0", 1) == std::string::npos);
  longest.insert(longest.begin() + static_cast<std::ptrdiff_t>(kLongestCycle), "g");
  longest.emplace_back("g");
  CHECK(shown_frames(longest, collapse).find("f0", 1) != std::string::npos);  // this cycle is too long to be collapsed
}

TEST_CASE("a stack with all frames hidden shows a marker") {
  const std::string text = Stacks().stack({"a"}, {"sys"}).stack({"b"}).stack({}).stack({"a"}).text();
  const auto hide = [&](const std::vector<std::string>& texts) {
    return lines_of(text, {.stacks = {.hide = patterns(texts)}});
  };
  CHECK(hide({"."}) == "app;[all frames hidden];k_[G] 11\napp;[no CPU stack];k_[G] 4\n");
  CHECK(hide({"sys"}) == "app;[no CPU stack];k_[G] 4\napp;a;k_[G] 9\napp;b;k_[G] 2\n");
  CHECK(hide({"a"}) ==
        "app;-;sys_[k];k_[G] 1\napp;[all frames hidden];k_[G] 8\napp;[no CPU stack];k_[G] 4\napp;b;k_[G] 2\n");
}

TEST_CASE("a sample's stack with all frames hidden shows a marker") {
  const std::string text =
      "STRING;1;app\nPROC_NAME;1;7\nUSTACK;1;a\nKSTACK;2;sys\nEUSTALL;1;7;1;2;0;0;0;0;0x8;1\nEUSTALL;1;7;1;0;0;0;0;0;"
      "0x8;2\n";
  const auto hide = [&](const std::vector<std::string>& texts) {
    return lines_of(text, {.stacks = {.hide = patterns(texts)}}, output::WeightKind::count);
  };
  const std::string gpu = "[unknown]_[G];[unknown]_[g];[unknown]_[g];0x8_[g] ";
  CHECK(hide({"^a$"}) == "app;-;sys_[k];" + gpu + "1\napp;[all frames hidden];" + gpu + "2\n");
  CHECK(hide({"."}) == "app;[all frames hidden];" + gpu + "3\n");
}

TEST_CASE("a report merges stacks that are shown alike") {
  const Aggregate rows = test::read_all(
      Stacks().stack({"p:m@1", "p:f@2", "p:f@5"}).stack({"p:m@1", "p:f@5"}).stack({"p:m@1", "p:f@4"}).text());
  CHECK(summarize(rows).call_paths.size() == 3);
  const Summary joined = summarize(rows, {.stacks = {.collapse_recursion = true}});
  REQUIRE(joined.call_paths.size() == 2);
  CHECK(joined.call_paths[0].weight.ns == 4);
  CHECK(joined.call_paths[1].weight.ns == 3);
  CHECK(joined.call_paths[1].path.frames() == std::vector<std::string_view>{"m (f.py:1)", "f (f.py:5)"});
  const Summary hidden = summarize(rows, {.stacks = {.hide = patterns({"."})}});
  REQUIRE(hidden.call_paths.size() == 1);
  CHECK(hidden.call_paths[0].weight.ns == 7);
  CHECK(hidden.call_paths[0].path.frames() == std::vector<std::string_view>{"[all frames hidden]"});
}

TEST_CASE("a bad regular expression is an error with a hint") {
  for (const char* text : {"", "(", "[b-a]", "a{2,1}", "*a(", "a(?=b)", "(a)\\1"}) {
    INFO(text);
    const auto compiled = Pattern::compile("--only", text);
    REQUIRE_FALSE(compiled);
    CHECK(compiled.error().message.starts_with("--only: "));
    CHECK(compiled.error().message.find('\n') == std::string::npos);
    CHECK_FALSE(compiled.error().hint.empty());
    CHECK(compiled.error().exit_code == 2);
  }
  CHECK(pattern("b+$").matches("abb"));
  CHECK_FALSE(pattern("^b").matches("ab"));
  CHECK_FALSE(
      pattern("(a|b)*c$")
          .matches(std::string(1 << 20, 'a')));  // RE2 does not recurse, so a long name cannot exhaust the stack
}

namespace {

StackOptions random_options(std::mt19937& random) {
  static const std::vector<std::vector<std::string>> kExpressions = {{},    {},           {"[ab]"},
                                                                     {"."}, {"^f", "c$"}, {"py:[12]"}};
  StackOptions options;
  options.python = static_cast<PythonFrames>(random() % 3);
  options.hide = patterns(kExpressions[random() % kExpressions.size()]);
  options.only = patterns(kExpressions[random() % kExpressions.size()]);
  options.collapse_recursion = random() % 2 == 0;
  options.lines = random() % 2 == 0;
  options.trim_to = random() % 3 == 0 ? "b" : "";
  options.from_start = random() % 2 == 0;
  options.numbers = random() % 4 != 0;
  return options;
}

std::vector<std::string> random_words(std::mt19937& random) {
  static const std::vector<std::string> kWords = {"a",      "b",   "c@1",          "p:a@1",        "p:a@2", "p:f@3",
                                                  "i:eval", "l:c", "x:[libx+0x1]", "p:<module>@4", "main",  "clone3"};
  std::vector<std::string> words;
  if (random() % 4 == 0) {
    words.emplace_back("[truncated]");
  }
  for (size_t n = random() % 24; n > 0; --n) {
    words.push_back(kWords[random() % kWords.size()]);
  }
  return words;
}

// Returns whether a cycle of at most kLongestCycle functions is directly followed by the same cycle.
bool has_repetition(const std::vector<std::string>& functions) {
  for (size_t length = 1; length <= kLongestCycle; ++length) {
    for (size_t at = 0; at + 2 * length <= functions.size(); ++at) {
      const auto begin = functions.begin() + static_cast<std::ptrdiff_t>(at);
      const auto middle = begin + static_cast<std::ptrdiff_t>(length);
      if (std::equal(begin, middle, middle)) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

TEST_CASE("stack options keep the sums and the frame order of random stacks") {
  std::mt19937 random(4);  // NOLINT(cert-msc51-cpp): the same on every run
  for (int round = 0; round < 300; ++round) {
    INFO("round " << round);
    Stacks stacks;
    std::vector<std::vector<std::string>> all(1 + random() % 20);
    for (auto& words : all) {
      words = random_words(random);
      stacks.stack(words, random() % 3 == 0 ? random_words(random) : std::vector<std::string>());
    }
    const Aggregate rows = test::read_all(stacks.text());
    const StackOptions options = random_options(random);
    FoldOptions folding;
    folding.stacks = options;
    const FoldResult folded = fold(rows, folding);
    CHECK(folded.tree.total().ns == (uint64_t{1} << all.size()) - 1);
    CHECK(folded.tree.total().count == all.size());
    uint64_t reported = 0;
    for (const SummaryLine& line : summarize(rows, {.stacks = options}).call_paths) {
      reported += line.weight.ns;
      CHECK_FALSE(line.path.empty());
    }
    CHECK(reported == rows.total.ns);
    StackOptions everything;
    everything.from_start = true;
    everything.lines = options.lines;
    everything.numbers = options.numbers;
    everything.python = PythonFrames::native;
    StackView whole(rows.tables, everything);
    StackView view(rows.tables, options);
    WorkPaths paths(rows.tables, options);
    for (uint32_t id = 1; id <= all.size(); ++id) {
      const profile::StackId stack{id};
      std::vector<std::string> before;
      for (const uint32_t frame : whole.frames(false, stack)) {
        before.push_back(whole.label(frame));
      }
      std::vector<std::string> after;
      std::vector<std::string> functions;
      for (const uint32_t frame : view.frames(false, stack)) {
        after.push_back(view.label(frame));
        functions.push_back(view.frame_class(frame) == FrameClass::python ? "p" : "n");
        functions.back() += view.label(frame).substr(0, view.label(frame).find(" ("));
      }
      // The shown labels are a subsequence of the complete stack.
      size_t at = 0;
      for (const std::string& label : before) {
        at += at < after.size() && after[at] == label ? 1 : 0;
      }
      CHECK(at == after.size());
      CHECK((!options.collapse_recursion || !has_repetition(functions)));
      CHECK(says_hidden(paths, stack) == (!before.empty() && after.empty()));
      const profile::StackId other = view.representative(false, stack);
      std::vector<std::string> alike;
      for (const uint32_t frame : view.frames(false, other)) {
        alike.push_back(view.label(frame));
      }
      CHECK(alike == after);
    }
  }
}

TEST_CASE("stack options keep the sums of random profiles with all kinds of records") {
  std::mt19937 random(5);  // NOLINT(cert-msc51-cpp): the same on every run
  for (unsigned seed = 0; seed < 150; ++seed) {
    INFO("seed " << seed);
    const test::RandomProfile profile(seed);
    const Aggregate rows = test::read_all(profile.text);
    FoldOptions options;
    options.stacks = random_options(random);
    options.graph = static_cast<GraphStacks>(seed % 3);
    const auto total = [&](Measure measure) {
      options.measure = measure;
      return fold(rows, options).tree.total();
    };
    CHECK(total(Measure::gpu).ns == profile.gpu_ns);
    CHECK(total(Measure::gpu).bytes == rows.total.bytes);
    CHECK(total(Measure::busy).ns == profile.busy_ns);
    CHECK(total(Measure::idle).ns == profile.idle_ns);
    uint64_t launches = 0;
    for (const LatencyLine& line : latency_lines(rows, {.paths = true, .stacks = options.stacks})) {
      for (const LatencyStats& phase : line.phases) {
        launches += phase.count;
      }
    }
    CHECK(launches == profile.latencies);
  }
}
