// Chooses colours of a flame graph for light and dark screens: a hue per frame class, a shade by the frame's name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "analyze/paths/flame_tree.h"

namespace gpuprof::output {

struct Rgb {
  uint8_t red = 0;
  uint8_t green = 0;
  uint8_t blue = 0;
};

constexpr size_t kShades = 6;

constexpr std::array<analyze::FrameClass, analyze::kFrameClasses> kLegendOrder{
    analyze::FrameClass::process,   analyze::FrameClass::python,  analyze::FrameClass::interpreter,
    analyze::FrameClass::native,    analyze::FrameClass::inlined, analyze::FrameClass::kernel,
    analyze::FrameClass::separator, analyze::FrameClass::gpu,     analyze::FrameClass::gpu_detail,
    analyze::FrameClass::event,     analyze::FrameClass::mark,    analyze::FrameClass::note};

std::string_view class_label(analyze::FrameClass cls);  // returns, for example, "GPU kernel, copy, source line"
char class_letter(analyze::FrameClass cls);

size_t shade_of(std::string_view name);  // returns 0 to kShades - 1, the same on every machine
Rgb fill_colour(analyze::FrameClass cls, size_t shade, bool dark);
Rgb label_colour(bool dark);  // returns the colour of text, readable on frames of any colour

// The styles of a differential picture are "r3" (slower), "b3" (faster) and "e0" (unchanged). The digit is an index
// into kChangeSteps: the change is at least that fraction of the larger value.
constexpr std::array<double, kShades> kChangeSteps{0.02, 0.05, 0.1, 0.2, 0.5, 0.9};
std::string change_style(uint64_t before, uint64_t after);
std::string change_css();

// Returns CSS: `.n3 rect{fill:#...}` for each class letter and shade, and dark variants under prefers-color-scheme.
std::string palette_css();

}  // namespace gpuprof::output
