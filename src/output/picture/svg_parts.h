// Parts that all SVG pictures share: the file's frame, the header's text blocks, numbers. Internal to the pictures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "output/weight.h"

namespace gpuprof::output {

// Sizes of the static picture in px. The width of proportional text is estimated too high here; the script measures it.
constexpr int kSvgWidth = 1200;
constexpr int kSvgPad = 10;
// Width in px of a character of 12 px fixed-width text; also enough for proportional text of 12 px.
constexpr double kTextAdvance = 7.3;
constexpr double kTitleAdvance = 10.5;  // width in px of a character of 17 px proportional text

std::string px(double value);
size_t columns_in(double width, double advance);
std::string_view embedded(const char* begin, const char* end);

// Formats a value exactly: "1.23 ms (1,230,000 ns)", "12 launches" or "1.00 MiB (1,048,576 bytes) copied".
std::string exact_text(uint64_t value, WeightKind kind, const WeightNames& names);

void append_member(std::string& out, std::string_view key, const std::string& value);

// Writes the header as blocks, one below the other. Each block is a <g> element with its height in data-h, so that the
// script can move the blocks when the width changes. Texts must be printable.
class SvgHeader {
 public:
  explicit SvgHeader(std::string& out) : out_(out) {}

  void block(std::string_view id, int height, const std::string& content);
  void text_block(std::string_view id, int height, std::string_view text, double advance);
  // Accepts any bytes; an empty subtitle takes no space.
  void titles(std::string_view title, std::string_view subtitle);
  void notice(std::string_view text);
  // Writes two lines, in which the script shows facts about the hovered frame. Image viewers show `without_script`.
  void details(std::string_view hint, std::string_view without_script);
  // Returns a legend entry: a box in the colour of `style`, and `label`.
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
  std::string style;  // CSS rules of this picture, which come after the rules that all pictures share
};

// Writes the beginning of the file. The picture, write_head(), the script's data and end_svg() follow in this order.
// The head is later in the file than the picture, so that it covers the picture when the picture scrolls.
void begin_svg(std::string& out, const SvgFrame& frame);
void write_head(std::string& out, const std::string& header, int height);
void end_svg(std::string& out,
             std::initializer_list<std::string_view> scripts);  // joins the scripts into one function, in this order

}  // namespace gpuprof::output
