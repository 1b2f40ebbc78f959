#include "output/picture/svg_palette.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace gpuprof::output {
namespace {

using analyze::FrameClass;

struct Hsl {
  double hue;         // in degrees
  double saturation;  // in percent
  double lightness;   // in percent
};

struct ClassStyle {
  FrameClass cls;
  char letter;
  std::string_view label;
  Hsl light;
  Hsl dark;
};

constexpr std::array<ClassStyle, analyze::kFrameClasses> kStyles{{
    {FrameClass::process, 'p', "process, thread, device", {216, 20, 80}, {216, 13, 32}},
    {FrameClass::native, 'n', "CPU native", {33, 88, 68}, {28, 58, 31}},
    {FrameClass::inlined, 'i', "CPU inlined", {50, 84, 74}, {46, 52, 28}},
    {FrameClass::python, 'y', "Python", {207, 76, 74}, {208, 52, 36}},
    {FrameClass::interpreter, 'c', "Python interpreter", {186, 38, 82}, {190, 26, 30}},
    {FrameClass::kernel, 'k', "CPU kernel space", {305, 46, 78}, {305, 28, 36}},
    {FrameClass::separator, 's', "separator", {216, 8, 88}, {216, 6, 25}},
    {FrameClass::gpu, 'g', "GPU kernel, copy, source line", {136, 48, 63}, {140, 46, 27}},
    {FrameClass::gpu_detail, 'd', "GPU instruction, stall", {176, 46, 68}, {178, 50, 25}},
    {FrameClass::event, 'v', "event", {84, 46, 68}, {86, 38, 26}},
    {FrameClass::mark, 'm', "mark", {258, 58, 83}, {258, 30, 40}},
    {FrameClass::note, 'x', "note: data is missing", {4, 72, 82}, {4, 40, 34}},
}};

const ClassStyle& style_of(FrameClass cls) {
  const auto* found = std::find_if(kStyles.begin(), kStyles.end(), [cls](const auto& s) { return s.cls == cls; });
  return found == kStyles.end() ? kStyles.back() : *found;
}

Rgb to_rgb(const Hsl& colour) {
  const double saturation = colour.saturation / 100;
  const double lightness = colour.lightness / 100;
  const double reach = saturation * std::min(lightness, 1 - lightness);
  const auto channel = [&](double offset) {
    const double k = std::fmod(offset + colour.hue / 30, 12);
    const double value = lightness - reach * std::max(-1.0, std::min({k - 3, 9 - k, 1.0}));
    return static_cast<uint8_t>(std::lround(value * 255));
  };
  return {channel(0), channel(8), channel(4)};
}

std::string hex(const Rgb& colour) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "#%02x%02x%02x", colour.red, colour.green, colour.blue);
  return text.data();
}

// Returns a CSS rule that fills frames and legend keys (both are <rect>) and the shapes of the heat map (<path>).
std::string rule(const std::string& style, const std::string& fill) {
  return "." + style + " rect,." + style + " path{fill:" + fill + "}\n";
}

std::string rules(bool dark) {
  std::string css;
  for (const ClassStyle& style : kStyles) {
    for (size_t shade = 0; shade < kShades; ++shade) {
      css += rule(style.letter + std::to_string(shade), hex(fill_colour(style.cls, shade, dark)));
    }
  }
  return css + "#gp-frames text{fill:" + hex(label_colour(dark)) + "}\n";
}

}  // namespace

std::string_view class_label(FrameClass cls) {
  return style_of(cls).label;
}
char class_letter(FrameClass cls) {
  return style_of(cls).letter;
}

size_t shade_of(std::string_view name) {
  uint32_t hash = 2166136261U;  // FNV-1a is used, because std::hash may differ between libraries
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return (hash ^ (hash >> 15)) % kShades;
}

Rgb fill_colour(FrameClass cls, size_t shade, bool dark) {
  const ClassStyle& style = style_of(cls);
  Hsl colour = dark ? style.dark : style.light;
  const double step = static_cast<double>(shade % kShades) - (kShades - 1) / 2.0;
  colour.hue = std::fmod(colour.hue + 1.5 * step + 360, 360);
  colour.lightness += (dark ? 1.2 : 1.6) * step;
  return to_rgb(colour);
}

Rgb label_colour(bool dark) {
  return dark ? Rgb{0xF2, 0xF4, 0xF7} : Rgb{0x16, 0x19, 0x1D};
}

std::string change_style(uint64_t before, uint64_t after) {
  const auto most = static_cast<double>(std::max(before, after));
  const double change = most <= 0 ? 0 : (static_cast<double>(after) - static_cast<double>(before)) / most;
  const auto* const step = std::find_if(kChangeSteps.rbegin(), kChangeSteps.rend(), [change](double least) {
                             return std::abs(change) >= least;
                           }).base();
  if (step == kChangeSteps.begin()) {
    return "e0";
  }
  return (change > 0 ? "r" : "b") + std::to_string(step - kChangeSteps.begin() - 1);
}

std::string change_css() {
  const auto step_rule = [](char letter, size_t shade, const Hsl& colour) {
    return rule(letter + std::to_string(shade), hex(to_rgb(colour)));
  };
  const auto all = [&](bool dark) {
    std::string css = step_rule('e', 0, dark ? Hsl{216, 6, 27} : Hsl{216, 10, 88});
    for (size_t shade = 0; shade < kShades; ++shade) {
      const auto step = static_cast<double>(shade);
      css += step_rule('r', shade, dark ? Hsl{4, 30 + 6 * step, 27 + 3 * step} : Hsl{6, 80, 90 - 5 * step});
      css += step_rule('b', shade, dark ? Hsl{214, 25 + 7 * step, 27 + 3 * step} : Hsl{212, 75, 90 - 5 * step});
    }
    return css;
  };
  return all(false) + "@media (prefers-color-scheme:dark){\n" + all(true) + "}\n";
}

std::string palette_css() {
  return rules(false) + "@media (prefers-color-scheme:dark){\n" + rules(true) + "}\n";
}

}  // namespace gpuprof::output
