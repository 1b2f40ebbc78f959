// Lines at the bottom of the terminal that standard error is, below what programs print: these scroll in the lines
// above (the terminal's scrolling region), so nothing of theirs is overwritten. No alternate screen is used.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gpuprof::cmd {

struct Screen {
  size_t columns = 0;  // 0: there is no terminal to draw on, or it is not ours at the moment
  size_t rows = 0;
  bool operator==(const Screen&) const = default;
};

// Standard error as a terminal, where it can be drawn on: not where TERM is "dumb" or missing. `in_front`: nor where
// our job is in the background.
Screen screen_of_stderr(bool in_front);

// What is to be written to put these lines on the screen; `drawn`: so many were there at the bottom of `before`.
std::string drawing(const std::vector<std::string>& lines, const Screen& screen, size_t drawn, const Screen& before);

// What is to be written to take them away.
std::string clearing(size_t drawn, const Screen& screen);

class BottomLines {
 public:
  BottomLines() = default;
  BottomLines(const BottomLines&) = delete;
  BottomLines& operator=(const BottomLines&) = delete;
  ~BottomLines() { hide(); }

  // In the lines no byte may be a control character but for SGR sequences. More than the screen has are left out.
  void show(const std::vector<std::string>& lines, const Screen& screen);
  void hide();

 private:
  bool write(const std::string& text);

  size_t drawn_ = 0;  // lines
  Screen screen_;
  std::string rest_;  // that the terminal had no room for: a sequence must not be cut
};

}  // namespace gpuprof::cmd
