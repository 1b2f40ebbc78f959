#include "output/picture/svg_parts.h"

#include <array>
#include <cstdio>

#include "base/text/numbers.h"
#include "output/picture/svg_text.h"

extern "C" {
extern const char gpuprof_svg_shared_begin[];
extern const char gpuprof_svg_shared_end[];
extern const char gpuprof_svg_style_begin[];
extern const char gpuprof_svg_style_end[];
}

namespace gpuprof::output {

std::string_view embedded(const char* begin, const char* end) {
  return {begin, static_cast<size_t>(end - begin)};
}

std::string px(double value) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.2f", value);
  std::string digits = text.data();
  while (digits.back() == '0') digits.pop_back();
  if (digits.back() == '.') digits.pop_back();
  return digits;
}

size_t columns_in(double width, double advance) {
  return width <= 0 ? 0 : static_cast<size_t>(width / advance);
}

std::string exact_text(uint64_t value, WeightKind kind, const WeightNames& names) {
  switch (kind) {
    case WeightKind::time:
      return value < 1'000 ? duration_text(value) : duration_text(value) + " (" + count_text(value) + " ns)";
    case WeightKind::count:
      return counted_text(value, printable(names.count));
    case WeightKind::bytes:
      return bytes_text(value) + (value < 1'024 ? " " : " (" + count_text(value) + " bytes) ") + printable(names.bytes);
  }
  return {};
}

void append_member(std::string& out, std::string_view key, const std::string& value) {
  out += '"';
  out += key;
  out += "\":" + value + ",\n";
}

void SvgHeader::block(std::string_view id, int height, const std::string& content) {
  out_ += "<g id=\"";
  out_ += id;
  out_ += "\" data-h=\"" + std::to_string(height) + "\" transform=\"translate(0," + std::to_string(y_) + ")\">";
  out_ += content + "</g>\n";
  y_ += height;
}

void SvgHeader::text_block(std::string_view id, int height, std::string_view text, double advance) {
  const size_t columns = columns_in(kSvgWidth - 2.0 * kSvgPad, advance);
  block(id, height, text_at(kSvgPad, height - 5, cut_to_columns(text, columns)));
}

void SvgHeader::titles(std::string_view title, std::string_view subtitle) {
  text_block("gp-title", 27, printable(title), kTitleAdvance);
  if (!subtitle.empty()) {
    text_block("gp-subtitle", 18, printable(subtitle), kTextAdvance);
  }
}

void SvgHeader::details(std::string_view hint, std::string_view without_script) {
  block("gp-details", 44,
        "<line id=\"gp-rule\" x1=\"0\" x2=\"" + std::to_string(kSvgWidth) + "\" y1=\"4\" y2=\"4\"/>" +
            "<text id=\"gp-name\" x=\"10\" y=\"20\">" + xml_escaped(hint) +
            "</text><text id=\"gp-details-hint\" x=\"10\" y=\"36\">" + xml_escaped(without_script) + "</text>");
}

void SvgHeader::notice(std::string_view text) {
  const size_t columns = columns_in(kSvgWidth - 4.0 * kSvgPad, kTextAdvance);
  block("gp-notice", 30,
        "<rect x=\"" + px(kSvgPad) + "\" y=\"4\" width=\"" + px(kSvgWidth - 2 * kSvgPad) +
            "\" height=\"22\" rx=\"4\"/>" + text_at(2 * kSvgPad, 19, cut_to_columns(text, columns)));
}

std::string SvgHeader::key(double x, std::string_view style, std::string_view label) {
  return "<g class=\"gp-key " + std::string(style) + "\" transform=\"translate(" + px(x) + ",0)\">" +
         "<rect y=\"4\" width=\"12\" height=\"12\" rx=\"2\"/>" + text_at(17, 14, label) + "</g>";
}

std::string SvgHeader::text_at(double x, int y, std::string_view text) {
  return "<text x=\"" + px(x) + "\" y=\"" + std::to_string(y) + "\">" + xml_escaped(text) + "</text>";
}

void begin_svg(std::string& out, const SvgFrame& frame) {
  const std::string width = std::to_string(kSvgWidth);
  const std::string height = std::to_string(frame.height);
  out += "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + width +
         "\" height=\"" + height + "\" viewBox=\"0 0 " + width + " " + height + "\" role=\"img\">\n";
  out += "<title>" + xml_escaped(printable(frame.title)) + "</title>\n<desc>" + xml_escaped(frame.description) +
         "</desc>\n";
  out += "<style><![CDATA[\n";
  out += embedded(gpuprof_svg_style_begin, gpuprof_svg_style_end);
  out += frame.style + "]]></style>\n";
  out += "<rect id=\"gp-page\" width=\"" + width + "\" height=\"" + height + "\"/>\n";
}

void write_head(std::string& out, const std::string& header, int height) {
  out += "<g id=\"gp-head\"><rect id=\"gp-band\" width=\"" + std::to_string(kSvgWidth) + "\" height=\"" +
         std::to_string(height) + "\"/>\n" + header + "</g>\n";
}

void end_svg(std::string& out, std::initializer_list<std::string_view> scripts) {
  out += "<script><![CDATA[\n(function () {\n'use strict';\n";
  out += embedded(gpuprof_svg_shared_begin, gpuprof_svg_shared_end);
  for (const std::string_view script : scripts) out += script;
  out += "})();\n]]></script>\n</svg>\n";
}

}  // namespace gpuprof::output
