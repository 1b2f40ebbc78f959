// Draws a flame graph as one self-contained interactive SVG that works from file:// without a network.
//
// Two pictures share the file. The static one (rectangles and fitted labels, 1200 px wide) is what an image viewer
// shows. In a browser, a script redraws the embedded data at the window's width, with zoom, search and keyboard.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "analyze/paths/flame_tree.h"
#include "output/weight.h"

namespace gpuprof::output {

// Limits the file size: 100,000 frames need 3 to 10 MB. Beyond a limit the lightest frames are dropped. Their share
// of the parent's width remains empty, and the picture reports the omission.
struct SvgLimits {
  size_t data_frames = 100'000;  // frames in the file; zooming shows them
  // Number of frames that are drawn at once, in the static picture and by the script.
  size_t drawn_frames = 8'000;
  size_t depth = 1'000;       // number of levels above the root
  size_t name_bytes = 2'048;  // length of a name; longer names are cut and end with an ellipsis
  // Bytes of all names together; if the names exceed it, all of them are cut shorter.
  size_t all_name_bytes = 6 * 1024 * 1024;
};

// Makes a differential flame graph of two measurements. One measurement determines the frame widths; Weight::bytes
// holds the other. Colours show the change from the old to the new measurement.
struct SvgDifference {
  bool shows_new = true;  // whether the new measurement, not the old one, determines the widths
};

struct SvgOptions {
  std::string title = "GPU flame graph";
  std::string subtitle;  // for example the command
  std::string facts;     // where and when it was recorded: "host1, 2026-11-23 14:05 UTC"; empty if unknown
  std::string notice;    // which data are missing ("lost 3.1% of launches"); empty if nothing is missing
  WeightChoice weight;   // the weight that determines the width; times are shown in a suitable unit, and exactly in ns
  WeightNames names;
  std::string width_note;     // an additional sentence about the widths; may be empty
  double min_width_px = 0.1;  // narrower frames are not drawn, unless zooming makes them wider
  SvgLimits limits;
  bool inverted = false;                    // true: the tree is inverted, so callers are above their callees
  std::optional<SvgDifference> difference;  // nullopt: the picture is not differential, and colours show frame classes
};

// Never fails. The order of the tree's children does not matter: siblings are sorted by name. Omits frames whose weight
// is 0. Numbers above 2^53 are exact only in the static picture.
std::string svg(const analyze::FlameTree& tree, const SvgOptions& options);

}  // namespace gpuprof::output
