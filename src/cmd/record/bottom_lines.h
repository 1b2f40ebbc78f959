// Draws lines at the bottom of the terminal on standard error. The output of programs scrolls above them, in the
// scrolling region of the terminal, so no line overwrites it. Does not use the alternate screen.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gpuprof::cmd {

struct Screen {
  // 0 without a terminal to draw on, and while another job uses the terminal.
  size_t columns = 0;
  size_t rows = 0;
  bool operator==(const Screen&) const = default;
};

// Returns the size of the terminal on standard error. It has 0 columns if TERM is "dumb" or not set. With `in_front`,
// it also has 0 columns if gpuprof's job is in the background.
Screen screen_of_stderr(bool in_front);

// Returns escape sequences that draw the lines. The previous call drew `drawn` lines, when the screen had the size
// `before`.
std::string drawing(const std::vector<std::string>& lines, const Screen& screen, size_t drawn, const Screen& before);

std::string clearing(size_t drawn, const Screen& screen);

class BottomLines {
 public:
  BottomLines() = default;
  BottomLines(const BottomLines&) = delete;
  BottomLines& operator=(const BottomLines&) = delete;
  ~BottomLines() { hide(); }

  // Draws as many lines as fit on the screen. SGR sequences are the only control characters that the lines may
  // contain.
  void show(const std::vector<std::string>& lines, const Screen& screen);
  void hide();

 private:
  bool write(const std::string& text);

  size_t drawn_ = 0;  // number of lines on the screen
  Screen screen_;
  std::string rest_;  // text that the terminal has not accepted yet; it is written before other text
};

}  // namespace gpuprof::cmd
