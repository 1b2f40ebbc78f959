#include <algorithm>
#include <string>

#include "base/text/utf8.h"
#include "catch.h"
#include "cmd/manual/page.h"
#include "cmd/record/bottom_lines.h"
#include "cmd/record/top_text.h"

namespace gpuprof::cmd {
namespace {

record::LiveState some_state() {
  record::LiveState state;
  state.kernels = {{"fast\x1b[31m\nkernel", 750, 75, 3}, {"other", 250, 25, 1}};
  state.paths = {{"step\x07", "fast\x1b[31m\nkernel", 750, 3}, {"check", "other", 250, 1}};
  state.devices = {{"GPU \x9b", 0.5}};
  state.gpu_ns = 1000;
  state.recent_gpu_ns = 100;
  state.count = 4;
  state.elapsed_ns = 4'000'000'000;
  state.launches = 4;
  return state;
}

std::string all(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += line + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("the lines of record --top fit the screen and escape control characters") {
  for (const size_t width : {1U, 10U, 40U, 80U, 300U}) {
    for (const size_t height : {1U, 4U, 9U, 20U}) {
      const auto lines = top_lines(some_state(), {}, {width, height, false});
      CHECK(lines.size() <= height);
      for (const std::string& line : lines) {
        CHECK(utf8_length(line) <= width);
        CHECK(std::none_of(line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }));
      }
    }
  }
  const std::string text = all(top_lines(some_state(), {}, {100, 20, false}));
  CHECK(text.find("75.00%  75.00%") != std::string::npos);
  CHECK(text.find("25.00%  25.00%") != std::string::npos);
  CHECK(text.find("check -> other") != std::string::npos);
  CHECK(text.find("1 launch/s  nothing lost") != std::string::npos);
  CHECK(text.find("busy 50.00% GPU") != std::string::npos);
}

TEST_CASE("record --top shows no busy time before it is known") {
  record::LiveState state = some_state();
  state.devices = {{"GPU", std::nullopt}};
  CHECK(top_line(state, {}).find("busy -") != std::string::npos);
}

TEST_CASE("record --top reports losses, and uses launch counts without times") {
  record::LiveState state = some_state();
  state.lost = 1234;
  state.recording = false;
  CHECK(top_line(state, {}).find("1,234 lost, recording is off") != std::string::npos);
  state.gpu_ns = 0;
  CHECK(top_line(state, {}).find("75.00% fast") != std::string::npos);
  CHECK(top_line({}, {}) == "0 s: 0 launches/s, no GPU work received yet, nothing lost");
}

TEST_CASE("record --top marks the estimates of --max-overhead, and counts launches between windows") {
  record::LiveState state = some_state();
  state.launches = 400;
  state.between_windows = 380;
  state.scale = 20;
  const std::string mark = "GPU time 20.0 us (estimated from 5.00% of the launches)";
  CHECK(top_line(state, {}).find("4 s: 100 launches/s, " + mark) != std::string::npos);
  CHECK(top_lines(state, {}, {100, 20, false}).front() == "gpuprof 4 s  100 launches/s  nothing lost  " + mark);
  CHECK(top_lines(state, {}, {60, 20, false}).front() == "gpuprof 4 s  100 launches/s  nothing lost  estimates");
  CHECK(all(top_lines(state, {}, {100, 20, false})).find("15.0 us        60  fast") != std::string::npos);
}

TEST_CASE("lines at the bottom of the screen are drawn without scrolling other output, and removed") {
  const Screen screen{80, 24};
  const std::string first = drawing({"a", "b"}, screen, 0, {});
  CHECK(first.find("\x1b[1;22r") != std::string::npos);  // rows 1 to 22 scroll; lines "a" and "b" are in rows 23 and 24
  CHECK(first.find("\x1b[23;1H") != std::string::npos);
  const std::string again = drawing({"a", "c"}, screen, 2, screen);
  CHECK(again.find('r') == std::string::npos);
  CHECK(again.substr(0, 2) ==
        "\x1b"
        "7");
  CHECK(again.substr(again.size() - 2) ==
        "\x1b"
        "8");
  CHECK(drawing({"a"}, screen, 2, screen).find("\x1b[1;23r") != std::string::npos);
  CHECK(clearing(2, screen) ==
        "\x1b"
        "7\x1b[r\x1b[23;1H\x1b[m\x1b[J\x1b"
        "8");
  CHECK(clearing(9, {80, 4}).find("\x1b[1;1H") != std::string::npos);
}

TEST_CASE("sections of a manual page are found by their names") {
  const std::string text = ".\\\" x\n.\\\" part a end\none\n.\\\" part b end\ntwo\n";
  CHECK(manual_part(text, "a end") == "one\n");
  CHECK(manual_part(text, "b end") == "two\n");
  CHECK(manual_part(text, "c end").empty());
  CommandDescription command{.name = "x", .summary = "-.\\", .usage = {"gpuprof x"}, .footer = "'a' `b`"};
  const std::string page = command_page(command, "");
  CHECK(page.find("\\-.\\e") != std::string::npos);
  CHECK(page.find("\\(aqa\\(aq \\(gab\\(ga") != std::string::npos);
}

}  // namespace gpuprof::cmd
