// What our SVG pictures have in common: the file around them, the header's blocks of text, numbers. Internal to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "output/weight.h"

namespace gpuprof::output {

// Of the static picture, in px. The script measures text; here a fixed-width font's advance is known, a
// proportional font's is taken on the wide side.
constexpr int kSvgWidth = 1200;
constexpr int kSvgPad = 10;
constexpr double kTextAdvance = 7.3;    // 12 px fixed width, and 12 px proportional on the wide side
constexpr double kTitleAdvance = 10.5;  // 17 px proportional

std::string px(double value);
size_t columns_in(double width, double advance);
std::string_view embedded(const char* begin, const char* end);

// "1.23 ms (1,230,000 ns)", "12 launches", "1.00 MiB (1,048,576 bytes)"
std::string exact_text(uint64_t value, WeightKind kind, std::string_view count_name);

void append_member(std::string& out, std::string_view key, const std::string& value);  // of a JSON object

// Writes the header as a stack of blocks. Each is a group at its y with its height in data-h, so that the script can
// stack them again at another width. Texts are printable.
class SvgHeader {
 public:
  explicit SvgHeader(std::string& out) : out_(out) {}

  void block(std::string_view id, int height, const std::string& content);
  void text_block(std::string_view id, int height, std::string_view text, double advance);
  void titles(std::string_view title, std::string_view subtitle);  // any bytes; an empty subtitle takes no room
  void notice(std::string_view text);
  // What the pointer or the focus is on. `hint` is there before that, `without_script` only where the script does not
  // run.
  void details(std::string_view hint, std::string_view without_script);
  // A colour of the legend, by the style of what it stands for.
  static std::string key(double x, std::string_view style, std::string_view label);
  static std::string text_at(double x, int y, std::string_view text);
  [[nodiscard]] int height() const { return y_; }

 private:
  std::string& out_;
  int y_ = 6;
};

struct SvgFrame {
  int height = 0;
  std::string title;
  std::string description;
  std::string style;  // beside the common one
};

// The beginning of the file, up to the page. Between it and end_svg() comes the picture, then the head, which covers it
// while it scrolls, and the script's data.
void begin_svg(std::string& out, const SvgFrame& frame);
void write_head(std::string& out, const std::string& header, int height);
void end_svg(std::string& out, std::initializer_list<std::string_view> scripts);  // in this order, as one function

}  // namespace gpuprof::output
