// Draws lines at the bottom of the terminal on standard error. Programs' output scrolls above them in the terminal's
// scrolling region, so no output is overwritten. Does not use the alternate screen.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gpuprof::cmd {

struct Screen {
  size_t columns = 0;  // 0: no terminal to draw on, or our job does not own the terminal at the moment
  size_t rows = 0;
  bool operator==(const Screen&) const = default;
};

// Returns the size of the terminal on standard error; 0 columns if TERM is "dumb" or missing. `in_front`: also 0 if our
// job is in the background.
Screen screen_of_stderr(bool in_front);

// Returns escape sequences that draw the lines. The previous call drew `drawn` lines on a screen of size `before`.
std::string drawing(const std::vector<std::string>& lines, const Screen& screen, size_t drawn, const Screen& before);

std::string clearing(size_t drawn, const Screen& screen);

class BottomLines {
 public:
  BottomLines() = default;
  BottomLines(const BottomLines&) = delete;
  BottomLines& operator=(const BottomLines&) = delete;
  ~BottomLines() { hide(); }

  // Draws the lines, as many as fit on the screen. Lines must not contain control characters except SGR sequences.
  void show(const std::vector<std::string>& lines, const Screen& screen);
  void hide();

 private:
  bool write(const std::string& text);

  size_t drawn_ = 0;  // lines
  Screen screen_;
  std::string rest_;  // text that the terminal has not accepted yet; written before any other text
};

}  // namespace gpuprof::cmd
