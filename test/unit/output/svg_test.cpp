#include "output/picture/svg.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "catch.h"
#include "output/picture/html.h"
#include "output/picture/svg_layout.h"
#include "output/picture/svg_palette.h"
#include "output/picture/svg_text.h"

namespace {

using namespace gpuprof::output;
using gpuprof::analyze::FlameTree;
using gpuprof::analyze::FrameClass;
using gpuprof::analyze::NodeId;

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

// Removes the script and the style sheet, which are tested in a browser.
std::string without_bodies(std::string text) {
  for (const auto& [open, close] :
       std::map<std::string, std::string>{{"<style>", "</style>"}, {"<script>", "</script>"}}) {
    const size_t begin = text.find(open) + open.size();
    text.replace(begin, text.find(close, begin) - begin, "...");
  }
  return text;
}

FlameTree tiny_tree(bool other_order = false) {
  FlameTree tree;
  const NodeId app = tree.child(FlameTree::kRoot, "app", FrameClass::process);
  const auto add_copy = [&] {
    const NodeId load = tree.child(app, "load<a&b>()", FrameClass::python);
    tree.add(tree.child(load, "memcpy HtoD", FrameClass::gpu), {250'000, 2, 4'096});
  };
  const auto add_kernel = [&] {
    const NodeId main = tree.child(app, "main", FrameClass::native);
    tree.add(tree.child(main, "saxpy(float*, float const*, int)", FrameClass::gpu), {750'000, 3, 0});
  };
  if (other_order) {
    add_kernel();
    add_copy();
  } else {
    add_copy();
    add_kernel();
  }
  return tree;
}

SvgOptions tiny_options() {
  SvgOptions options;
  options.subtitle = "./app --size 3";
  options.notice = "1 launch was lost";
  return options;
}

struct Box {
  double x = 0;
  double y = 0;
  double width = 0;
};

std::vector<Box> boxes(const std::string& text) {
  static const std::regex kRect(R"re(<rect x="([0-9.]+)" y="([0-9]+)" width="([0-9.]+)" height="16")re");
  std::vector<Box> found;
  for (std::sregex_iterator at(text.begin(), text.end(), kRect), end; at != end; ++at) {
    found.push_back({std::stod((*at)[1]), std::stod((*at)[2]), std::stod((*at)[3])});
  }
  return found;
}

}  // namespace

TEST_CASE("svg: a small graph is equal to the golden file") {
  const auto path = (std::filesystem::path(GPUPROF_TEST_DATA) / "../../../golden/svg/tiny.svg").lexically_normal();
  const std::string got = without_bodies(svg(tiny_tree(), tiny_options()));
  if (std::getenv("GPUPROF_UPDATE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << got;
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  std::ostringstream expected;
  expected << file.rdbuf();
  CHECK(got == expected.str());
}

TEST_CASE("svg: the order of insertion into the tree does not matter") {
  CHECK(svg(tiny_tree(), tiny_options()) == svg(tiny_tree(true), tiny_options()));
}

TEST_CASE("svg: the picture refers to no external resource") {
  const std::string text = svg(tiny_tree(), tiny_options());
  CHECK(count_of(text, "http") == 3);  // the namespace of SVG (twice) and of XHTML, which are never fetched
  CHECK(count_of(text, "@import") == 0);
  CHECK(count_of(text, "url(") == 0);
  // Each "href" is the "href: address" that the script sets on the link by which the user saves a file.
  CHECK(count_of(text, "href") == count_of(text, "href: address"));
}

TEST_CASE("svg: the widths of siblings add up to their parent's width") {
  FlameTree tree;
  const NodeId app = tree.child(FlameTree::kRoot, "app", FrameClass::process);
  for (int i = 0; i < 97; ++i) {
    tree.add(tree.child(app, "kernel" + std::to_string(i), FrameClass::gpu),
             {static_cast<uint64_t>(1000 + 7 * i), 1, 0});
  }
  std::map<double, double> by_row;
  for (const Box& box : boxes(svg(tree, {}))) by_row[box.y] += box.width;
  REQUIRE(by_row.size() == 3);
  for (const auto& [y, width] : by_row) CHECK(std::abs(width - 1180) < 0.001);
}

TEST_CASE("svg: narrow frames are not drawn, but their data and weight are kept") {
  FlameTree tree;
  tree.add(tree.child(FlameTree::kRoot, "wide", FrameClass::gpu), {1'000'000, 1, 0});
  tree.add(tree.child(FlameTree::kRoot, "narrow", FrameClass::gpu), {10, 1, 0});
  const std::string text = svg(tree, {});
  CHECK(boxes(text).size() == 2);
  CHECK(text.find("1,000,010 ns") != std::string::npos);
  CHECK(text.find("\"narrow\",\"g") != std::string::npos);
  SvgOptions all;
  all.min_width_px = 0;
  CHECK(boxes(svg(tree, all)).size() == 3);
}

TEST_CASE("svg: the weight decides the widths and the first number") {
  SvgOptions options;
  options.weight.kind = WeightKind::count;
  options.names.count = "sample";
  const std::string text = svg(tiny_tree(), options);
  CHECK(text.find("Total: 5 samples, 1.00 ms (1,000,000 ns), 4.00 KiB (4,096 bytes) copied or filled") !=
        std::string::npos);
  CHECK(text.find("2 samples, 40.00% of total") != std::string::npos);
  CHECK(text.find("Width: samples.") != std::string::npos);
  options.weight.kind = WeightKind::bytes;
  const std::string bytes = svg(tiny_tree(), options);
  CHECK(bytes.find("saxpy") == std::string::npos);  // the kernel moved no bytes
  CHECK(bytes.find("4.00 KiB (4,096 bytes) copied or filled, 100.00% of total") != std::string::npos);
  CHECK(bytes.find("Width: bytes copied or filled. Callers below") != std::string::npos);
}

TEST_CASE("svg: hostile names and options stay text") {
  const std::string attack = "</text></script>]]><script>alert(1)</script>\"'&\x01\xff";
  FlameTree tree;
  tree.add(tree.child(FlameTree::kRoot, attack, FrameClass::native), {5, 1, 0});
  SvgOptions options;
  options.title = options.subtitle = options.notice = options.names.count = attack;
  const std::string text = svg(tree, options);
  CHECK(count_of(text, "<script") == 1);
  CHECK(count_of(text, "]]>") == 2);
  CHECK(text.find('\x01') == std::string::npos);
  CHECK(text.find('\xff') == std::string::npos);
  CHECK(text.find("&lt;script&gt;alert(1)&lt;/script&gt;") != std::string::npos);
  CHECK(text.find("\\u003cscript\\u003ealert(1)") != std::string::npos);
}

TEST_CASE("svg: frames with omitted children are marked") {
  FlameTree tree;
  const NodeId whole = tree.child(FlameTree::kRoot, "whole", FrameClass::native);
  tree.add(tree.child(whole, "callee", FrameClass::gpu), {600, 1, 0});
  tree.add(whole, {100, 1, 0});
  const NodeId cut = tree.child(FlameTree::kRoot, "cut", FrameClass::native);
  tree.add(tree.child(cut, "light", FrameClass::gpu), {200, 1, 0});
  SvgOptions options;
  CHECK(svg(tree, options).find("\"cut\":[") == std::string::npos);
  options.limits.data_frames = 4;  // all frames but `light`: all, cut, whole, callee
  CHECK(svg(tree, options).find("\"cut\":[1],") != std::string::npos);
}

TEST_CASE("html: only gpuprof's own scripts may run, and names stay text") {
  const std::string attack = "</td></script>]]><script>alert(1)</script>\"'&\x01\xff<style><![CDATA[x]]></style>";
  gpuprof::analyze::Summary summary;
  summary.timed = true;
  summary.work.push_back({.work = attack, .weight = {5, 1, 0}});
  summary.info.losses[attack] = 3;
  FlameTree tree;
  tree.add(tree.child(FlameTree::kRoot, attack, FrameClass::native), {5, 1, 0});
  SvgOptions options;
  options.title = options.subtitle = options.facts = options.notice = options.names.count = attack;
  const std::string text = html(tree, summary, options);
  CHECK(count_of(text, "<script") == 2);
  CHECK(count_of(text, "<style") == 2);
  CHECK(count_of(text, "'sha256-") == 4);
  CHECK(text.find('\x01') == std::string::npos);
  CHECK(text.find('\xff') == std::string::npos);
  CHECK(text.find("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ") != std::string::npos);
  std::string bare = text;  // Apart from the SVG namespace, the page has no address.
  for (size_t at = bare.find("http://www.w3.org/"); at != std::string::npos; at = bare.find("http://www.w3.org/")) {
    bare.erase(at, 7);
  }
  CHECK(bare.find("://") == std::string::npos);
}

TEST_CASE("html: a row has a histogram of its durations, whose highest bar is as high as the picture") {
  gpuprof::analyze::Summary summary;
  summary.timed = summary.has_percentiles = true;
  gpuprof::analyze::Durations durations;
  durations.add({{600, 4}, {629, 1}});
  summary.work.push_back({.work = "one", .weight = {5, 5, 0}, .min_ns = 1000, .max_ns = 2000, .durations = durations});
  summary.work.push_back({.work = "unknown", .weight = {5, 1, 0}});
  const std::string text = html({}, summary, {});
  CHECK(count_of(text, "<svg class=\"bars\"") == 1);
  CHECK(text.find("durations of 5 GPU operations") != std::string::npos);
  CHECK(text.find("<path d=\"M0 20v-20h2v20zM87 20v-5h2v5z\"/>") != std::string::npos);
  CHECK(text.find("1.00 us - 2.00 us") != std::string::npos);
  summary.has_percentiles = false;
  CHECK(html({}, summary, {}).find("class=\"bars\"") == std::string::npos);
}

TEST_CASE("html: tables report cut rows and missing data") {
  gpuprof::analyze::Summary summary;
  summary.timed = true;
  summary.work.push_back({.work = "one", .weight = {5, 1, 0}});
  summary.found.work = 300;
  summary.info.complete = true;
  SvgOptions options;
  const std::string whole = html({}, summary, options);
  CHECK(whole.find("Kernels and copies (1 of 300)") != std::string::npos);
  CHECK(whole.find("Nothing was lost.") != std::string::npos);
  options.notice = "bad lines skipped: 1";
  const std::string lossy = html({}, summary, options, "of everything");
  CHECK(lossy.find("Nothing was lost.") == std::string::npos);
  CHECK(lossy.find("<p>of everything</p>") != std::string::npos);
  CHECK(lossy.find("<p>bad lines skipped: 1</p>") != std::string::npos);
}

TEST_CASE("svg: an empty tree shows a note") {
  const std::string text = svg(FlameTree(), {});
  CHECK(text.find("Nothing to show") != std::string::npos);
  CHECK(boxes(text).size() == 1);
}

TEST_CASE("svg: limits are applied and reported") {
  FlameTree tree;
  NodeId at = FlameTree::kRoot;
  for (int level = 0; level < 50; ++level) {
    at = tree.child(at, std::string(3'000, 'a') + std::to_string(level), FrameClass::native);
  }
  tree.add(at, {100, 1, 0});
  SvgOptions options;
  options.limits.depth = 20;
  options.notice = "lost 3";
  std::string text = svg(tree, options);
  CHECK(boxes(text).size() == 21);
  CHECK(text.find("lost 3; 30 light or very deep frames are left out of this picture") != std::string::npos);
  CHECK(text.find(std::string(2'045, 'a') + "\xE2\x80\xA6") != std::string::npos);
  CHECK(text.find(std::string(2'046, 'a')) == std::string::npos);
  options.limits.all_name_bytes = 4'000;
  text = svg(tree, options);
  CHECK(text.find(std::string(129, 'a')) == std::string::npos);
  CHECK(text.find(std::string(125, 'a') + "\xE2\x80\xA6") != std::string::npos);
}

TEST_CASE("svg: limits keep the heaviest frames and their parents") {
  FlameTree tree;
  for (uint64_t i = 1; i <= 100; ++i) {
    const NodeId caller = tree.child(FlameTree::kRoot, "caller" + std::to_string(i), FrameClass::native);
    tree.add(tree.child(caller, "kernel", FrameClass::gpu), {i, 1, 0});
  }
  const FlameLayout layout = lay_out(tree, WeightKind::time, 42, 1'000);
  REQUIRE(layout.frames.size() == 42);
  CHECK(layout.left_out == 159);
  CHECK(layout.frames[0].width == 5'050);
  uint64_t callers = 0;
  for (size_t i = 1; i < layout.frames.size(); ++i) {
    CHECK(layout.frames[i].width >= 80);
    if (layout.frames[i].depth == 1) callers += layout.frames[i].width;
    if (layout.frames[i].depth == 2) CHECK(layout.frames[i - 1].depth == 1);
  }
  CHECK(callers <= 5'050);
  SvgOptions options;
  options.limits.drawn_frames = 10;
  CHECK(boxes(svg(tree, options)).size() <= 10);
}

TEST_CASE("svg: sums that overflow are capped at the maximum") {
  FlameTree tree;
  for (const char* name : {"a", "b", "c"}) {
    tree.add(tree.child(FlameTree::kRoot, name, FrameClass::gpu), {UINT64_MAX - 1, UINT64_MAX, UINT64_MAX});
  }
  const FlameLayout layout = lay_out(tree, WeightKind::time, 100, 100);
  CHECK(layout.frames[0].width == UINT64_MAX);
  for (const LaidFrame& frame : layout.frames) CHECK(frame.width <= UINT64_MAX - frame.start);
  for (const Box& box : boxes(svg(tree, {}))) CHECK(box.x + box.width <= 1190.001);
}

TEST_CASE("svg text: control characters and malformed UTF-8 are replaced") {
  CHECK(printable("a\tb\nc\x07 d\x7f") == "a b c d");
  CHECK(printable("\xC3\xA9\xE6\x97\xA5\xF0\x9F\x94\xA5") == "\xC3\xA9\xE6\x97\xA5\xF0\x9F\x94\xA5");
  const std::string bad = "\xEF\xBF\xBD";
  CHECK(printable("x\xFFy") == "x" + bad + "y");
  CHECK(printable("\xC3") == bad);              // cut short
  CHECK(printable("\xC0\xAF") == bad);          // overlong '/'
  CHECK(printable("\xED\xA0\x80") == bad);      // a surrogate
  CHECK(printable("\xF5\x80\x80\x80") == bad);  // above U+10FFFF
  CHECK(printable("\xEF\xBF\xBF") == bad);      // U+FFFF, which XML forbids
  CHECK(printable("\xE2\x80\xAE"
                  "evil") == "evil");  // right-to-left override
  CHECK(printable(std::string("\0x", 2)) == "x");
}

TEST_CASE("svg text: special characters of XML and JSON are escaped") {
  CHECK(xml_escaped("<a href=\"b\">&'") == "&lt;a href=&quot;b&quot;&gt;&amp;&#39;");
  CHECK(json_quoted("<\"\\>&") == R"("\u003c\"\\\u003e\u0026")");
}

TEST_CASE("svg text: a long text is cut to a number of columns") {
  CHECK(cut_to_columns("kernel", 6) == "kernel");
  CHECK(cut_to_columns("kernels", 6) == "kerne\xE2\x80\xA6");
  CHECK(cut_to_columns("kernels", 4).empty());
  CHECK(cut_to_columns("ab", 2) == "ab");
  CHECK(cut_to_columns("\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E", 6) == "\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E");
  CHECK(cut_to_columns("\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E", 5) == "\xE6\x97\xA5\xE6\x9C\xAC\xE2\x80\xA6");
  CHECK(cut_to_bytes("abcdef", 6) == "abcdef");
  CHECK(cut_to_bytes("abcdefg", 6) == "abc\xE2\x80\xA6");
  CHECK(cut_to_bytes("ab\xE6\x97\xA5xyz", 7) == "ab\xE2\x80\xA6");
}

TEST_CASE("svg: the legend and the tooltips name the marks and events that the picture has") {
  const auto picture = [](const std::string& mark, const std::string& event) {
    FlameTree tree;
    const NodeId range = tree.child(FlameTree::kRoot, mark, FrameClass::mark);
    tree.add(tree.child(range, "[sync clFinish]", FrameClass::event), {10, 1, 0});
    SvgOptions options;
    options.names.event = event;
    return svg(tree, options);
  };
  const std::string wait = picture("epoch", "wait");
  CHECK(count_of(wait, ">wait</text>") == 1);
  CHECK(count_of(wait, ">range</text>") == 1);
  CHECK(count_of(wait, "<title>[sync clFinish]\nwait\n") == 1);
  CHECK(count_of(wait, "<title>epoch\nrange\n") == 1);
  CHECK(wait.find("\"v\":\"wait\",\"m\":\"range\"") != std::string::npos);
  CHECK(wait.find("capture") == std::string::npos);
  CHECK(wait.find("idle") == std::string::npos);
  CHECK(count_of(picture("[captured at]", "failed call"), ">failed call</text>") == 1);
  CHECK(count_of(picture("[captured at]", "failed call"), ">capture</text>") == 1);
  CHECK(count_of(picture("[no Python frames]", "wait"), ">no Python</text>") == 1);
}

TEST_CASE("svg: a count of one has the singular") {
  FlameTree tree;
  tree.add(tree.child(FlameTree::kRoot, "gemm", FrameClass::gpu), {1'000, 1, 0});
  const std::string text = svg(tree, {});
  CHECK(text.find(", 1 launch<") != std::string::npos);
  CHECK(text.find("1 launches") == std::string::npos);
  CHECK(text.find("\"countName\":\"launch\",\n\"countNames\":\"launches\"") != std::string::npos);
  SvgOptions options;
  options.limits.data_frames = 1;
  CHECK(svg(tree, options).find("1 light or very deep frame is left out") != std::string::npos);
}

TEST_CASE("svg palette: labels are readable on every colour") {
  const auto luminance = [](const Rgb& colour) {
    const auto linear = [](uint8_t channel) {
      const double value = channel / 255.0;
      return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) + 0.0722 * linear(colour.blue);
  };
  for (const bool dark : {false, true}) {
    for (const FrameClass cls : kLegendOrder) {
      for (size_t shade = 0; shade < kShades; ++shade) {
        const double fill = luminance(fill_colour(cls, shade, dark));
        const double label = luminance(label_colour(dark));
        const double contrast = (std::max(fill, label) + 0.05) / (std::min(fill, label) + 0.05);
        INFO(class_label(cls) << " shade " << shade << (dark ? " dark" : " light"));
        CHECK(contrast >= 4.5);
      }
    }
  }
  CHECK(shade_of("saxpy") == shade_of("saxpy"));
  CHECK(shade_of("saxpy") < kShades);
}
