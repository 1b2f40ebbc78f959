#include "cmd/record/bottom_lines.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/log.h"

namespace gpuprof::cmd {
namespace {

constexpr const char* kSave =
    "\x1b"
    "7";  // saves the cursor position, so that the program's output continues there
constexpr const char* kRestore =
    "\x1b"
    "8";
// This sequence also moves the cursor, so its position must be saved before.
constexpr const char* kWholeScreenScrolls = "\x1b[r";
constexpr const char* kEraseBelow = "\x1b[J";
constexpr const char* kEraseLine = "\x1b[K";
constexpr const char* kNoWrap = "\x1b[?7l";
constexpr const char* kWrap = "\x1b[?7h";
constexpr const char* kResetStyle = "\x1b[m";

std::string to_row(size_t row) {
  return "\x1b[" + std::to_string(row) + ";1H";
}

}  // namespace

Screen screen_of_stderr(bool in_front) {
  const char* const terminal = std::getenv("TERM");
  winsize size{};
  if (terminal == nullptr || std::string_view(terminal) == "dumb" || *terminal == '\0' ||
      ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0) {
    return {};
  }
  // If stderr is not the terminal of gpuprof's session, the result is -1. Then no other job of the session uses that
  // terminal.
  const pid_t front = ::tcgetpgrp(STDERR_FILENO);
  if (in_front && front > 0 && front != ::getpgrp()) {
    return {};
  }
  return {size.ws_col, size.ws_row};
}

std::string drawing(const std::vector<std::string>& lines, const Screen& screen, size_t drawn, const Screen& before) {
  std::string text;
  if (drawn > 0 && (drawn != lines.size() || !(before == screen))) {
    text += clearing(drawn, {screen.columns, std::min(before.rows, screen.rows)});
    drawn = 0;
  }
  const size_t above = screen.rows - lines.size();
  if (drawn == 0) {
    // If the cursor is too far down, scrolls to make space for the lines. The cursor stays in its column.
    for (size_t i = 0; i < lines.size(); ++i) {
      text +=
          "\x1b"
          "D";
    }
    text += "\x1b[" + std::to_string(lines.size()) + "A";
    text.append(kSave).append("\x1b[1;" + std::to_string(above) + "r").append(kRestore);
  }
  text.append(kSave).append(kNoWrap);
  for (size_t i = 0; i < lines.size(); ++i) {
    text.append(to_row(above + 1 + i)).append(kResetStyle).append(lines[i]).append(kResetStyle).append(kEraseLine);
  }
  return text.append(kWrap).append(kRestore);
}

std::string clearing(size_t drawn, const Screen& screen) {
  const size_t above = screen.rows - std::min(screen.rows, drawn);
  return std::string(kSave) + kWholeScreenScrolls + to_row(above + 1) + kResetStyle + kEraseBelow + kRestore;
}

void BottomLines::show(const std::vector<std::string>& lines, const Screen& screen) {
  if (write(drawing(lines, screen, drawn_, screen_))) {
    drawn_ = lines.size();
    screen_ = screen;
  }
}

void BottomLines::hide() {
  if (drawn_ > 0) {
    // A terminal that became smaller has moved the lines up, so query its size again. If the query fails, use the
    // last known size.
    const Screen now = screen_of_stderr(false);
    write(clearing(drawn_, {screen_.columns, now.rows == 0 ? screen_.rows : std::min(now.rows, screen_.rows)}));
    drawn_ = 0;
  }
}

// Returns false if not even a part of the text was written.
bool BottomLines::write(const std::string& text) {
  if (!rest_.empty()) {
    rest_.erase(0, log::draw(rest_));
    if (!rest_.empty()) {
      return false;
    }
  }
  const size_t written = log::draw(text);
  rest_ = text.substr(written);
  return written > 0;
}

}  // namespace gpuprof::cmd
