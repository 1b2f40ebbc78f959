#include "output/picture/svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/names/labels.h"
#include "analyze/paths/work_paths.h"
#include "base/text/numbers.h"
#include "output/picture/svg_layout.h"
#include "output/picture/svg_palette.h"
#include "output/picture/svg_parts.h"
#include "output/picture/svg_text.h"

extern "C" {
extern const char gpuprof_svg_script_begin[];
extern const char gpuprof_svg_script_end[];
extern const char gpuprof_svg_views_begin[];
extern const char gpuprof_svg_views_end[];
extern const char gpuprof_svg_tools_begin[];
extern const char gpuprof_svg_tools_end[];
extern const char gpuprof_svg_keys_begin[];
extern const char gpuprof_svg_keys_end[];
}

namespace gpuprof::output {
namespace {

using analyze::FlameTree;
using analyze::FrameClass;
using analyze::Weight;

constexpr int kRow = 17;
constexpr double kLabelAdvance = 6.65;  // width in px of a character of 11 px fixed-width text
constexpr double kKeyAdvance = 6.6;     // width in px of a character of legend text
constexpr double kThinPx = 3;           // narrower frames have no outline, because it would hide their colour
constexpr double kTooltipPx = 2;        // narrower frames have no tooltip in the static picture
constexpr size_t kTooltipNameBytes = 240;

// A distinct frame name of the picture: printable text, and the frame class that determines its colour.
struct Label {
  std::string text;
  FrameClass cls = FrameClass::note;
  std::string style;  // class letter and number of the shade, as in the style sheet
};

struct Picture {
  const SvgOptions& options;
  FlameLayout layout;
  std::vector<Label> labels;
  std::vector<uint32_t> label_of;
  std::array<std::string, analyze::kFrameClasses> class_texts;  // the words for each class in legend and tooltips
  uint32_t max_depth = 0;
  std::string notice;
  std::string out;
};

std::string exact(uint64_t value, const SvgOptions& options) {
  return exact_text(value, options.weight.kind, options.names);
}

struct BeforeAfter {
  uint64_t before = 0;
  uint64_t after = 0;
};

BeforeAfter before_after(const Weight& weight, const SvgOptions& options) {
  const uint64_t shown = raw_weight(weight, options.weight.kind);
  return options.difference->shows_new ? BeforeAfter{weight.bytes, shown} : BeforeAfter{shown, weight.bytes};
}

// Formats the change of a frame: "old 1.00 ms (1,000,000 ns), new 1.23 ms (1,230,000 ns), +23.0%".
std::string change_numbers(const Weight& weight, const SvgOptions& options) {
  const auto [before, after] = before_after(weight, options);
  std::string text = "old " + exact(before, options) + ", new " + exact(after, options);
  if (before > 0) {
    std::array<char, 32> percent{};
    std::snprintf(percent.data(), percent.size(), ", %+.1f%%",
                  100 * (static_cast<double>(after) / static_cast<double>(before) - 1));
    text += percent.data();
  }
  return text;
}

// Formats the numbers of a frame: "1.23 ms (1,230,000 ns), 12.34% of total, 12 launches, 512 B copied". The number that
// determines the width comes first, then the other numbers that are known.
std::string numbers(const Weight& weight, uint64_t total, const SvgOptions& options, bool with_share) {
  if (options.difference) {
    return change_numbers(weight, options) +
           (with_share ? ", " + percent_text(raw_weight(weight, options.weight.kind), total) + " of total" : "");
  }
  const std::array<std::pair<WeightKind, std::string>, 3> parts{{
      {WeightKind::time, exact_text(weight.ns, WeightKind::time, options.names)},
      {WeightKind::count, exact_text(weight.count, WeightKind::count, options.names)},
      {WeightKind::bytes, exact_text(weight.bytes, WeightKind::bytes, options.names)},
  }};
  std::string text;
  for (const auto& [kind, part] : parts) {
    if (kind == options.weight.kind) text = part;
  }
  if (with_share) text += ", " + percent_text(raw_weight(weight, options.weight.kind), total) + " of total";
  for (const auto& [kind, part] : parts) {
    if (kind != options.weight.kind && raw_weight(weight, kind) != 0) text += ", " + part;
  }
  return text;
}

std::string weight_name(const SvgOptions& options) {
  switch (options.weight.kind) {
    case WeightKind::time:
      return options.names.time;
    case WeightKind::count:
      return plural_text(options.names.count);
    case WeightKind::bytes:
      return "bytes " + options.names.bytes;
  }
  return {};
}

std::string cut_name(std::string_view name, size_t bytes) {
  // printable() may make a text shorter. Twice the bytes are enough to detect whether the text must be cut.
  return cut_to_bytes(printable(name.substr(0, 2 * bytes)), bytes);
}

void name_frames(Picture& picture, const FlameTree& tree) {
  constexpr uint32_t kRootLabel = UINT32_MAX;
  std::map<uint32_t, uint32_t> ids;
  std::vector<std::string_view> names;
  for (const LaidFrame& frame : picture.layout.frames) {
    const bool root = frame.depth == 0;
    const auto [at, added] =
        ids.try_emplace(root ? kRootLabel : static_cast<uint32_t>(frame.label), static_cast<uint32_t>(names.size()));
    if (added) {
      names.push_back(root ? std::string_view("all") : tree.name(frame.label));
      picture.labels.push_back({{}, root ? FrameClass::process : tree.label(frame.label).cls, {}});
    }
    picture.label_of.push_back(at->second);
  }
  size_t longest = std::max<size_t>(picture.options.limits.name_bytes, 16);
  for (size_t all = SIZE_MAX; all > picture.options.limits.all_name_bytes && longest >= 16; longest /= 2) {
    all = 0;
    for (size_t i = 0; i < names.size(); ++i) {
      picture.labels[i].text = cut_name(names[i], longest);
      all += picture.labels[i].text.size();
    }
  }
  for (size_t i = 0; i < names.size(); ++i) {
    Label& label = picture.labels[i];
    label.style = class_letter(label.cls) + std::to_string(shade_of(names[i]));
    if (label.text.empty()) label.text = "[no name]";
  }
}

// Returns what the picture's marks are, such as "range, capture".
std::string marks_in(const std::vector<Label>& labels) {
  std::array<std::pair<std::string_view, bool>, 4> kinds{
      {{"range", false}, {"capture", false}, {"no Python", false}, {"waker", false}}};
  for (const Label& label : labels) {
    if (label.cls == FrameClass::mark) {
      kinds
          .at(label.text == analyze::kCapturedAt          ? 1
              : label.text == analyze::kNoPythonFrames    ? 2
              : label.text.starts_with(analyze::kWokenBy) ? 3
                                                          : 0)
          .second = true;
    }
  }
  std::string text;
  for (const auto& [kind, present] : kinds) {
    if (present) text.append(text.empty() ? "" : ", ").append(kind);
  }
  return text;
}

// Returns the words that the legend and the tooltips of this picture have for the frames of a class.
std::string class_text(FrameClass cls, const Picture& picture) {
  return cls == FrameClass::event  ? printable(picture.options.names.event)
         : cls == FrameClass::mark ? marks_in(picture.labels)
                                   : std::string(class_label(cls));
}

// Returns for each class whether the picture has a frame of that class.
std::array<bool, kLegendOrder.size()> classes_in(const Picture& picture) {
  std::array<bool, kLegendOrder.size()> present{};
  for (size_t i = 1; i < picture.label_of.size(); ++i) {
    present[static_cast<size_t>(picture.labels[picture.label_of[i]].cls) % present.size()] = true;
  }
  return present;
}

// The keys of the legend, for some of the steps in kChangeSteps.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kChangeKeys{{{"b5", "90% less, or gone"},
                                                                                    {"b3", "20% less"},
                                                                                    {"b1", "5% less"},
                                                                                    {"e0", "less than 2%"},
                                                                                    {"r1", "5% more"},
                                                                                    {"r3", "25% more"},
                                                                                    {"r5", "10 times, or new"}}};

void write_legend(SvgHeader& header, const Picture& picture) {
  constexpr int kLegendRow = 20;
  std::string keys;
  double x = kSvgPad;
  const auto key = [&](const std::string& style, std::string_view label) {
    keys += SvgHeader::key(x, style, label);
    x += 17 + static_cast<double>(label.size()) * kKeyAdvance + 16;
  };
  if (picture.options.difference) {
    for (const auto& [style, label] : kChangeKeys) key(std::string(style), label);
    header.block("gp-legend", kLegendRow, keys);
    return;
  }
  const auto present = classes_in(picture);
  for (const FrameClass cls : kLegendOrder) {
    if (!present[static_cast<size_t>(cls)] || cls == FrameClass::separator) continue;
    key(class_letter(cls) + std::to_string(kShades / 2), picture.class_texts.at(static_cast<size_t>(cls)));
  }
  if (!keys.empty()) header.block("gp-legend", kLegendRow, keys);
}

std::string hint(const SvgOptions& options) {
  const std::string side = !options.difference ? "" : options.difference->shows_new ? ", new" : ", old";
  return "Width: " + printable(weight_name(options)) + side +
         (options.inverted ? ". Callees below, callers above." : ". Callers below, callees above.") +
         (options.width_note.empty() ? "" : " " + printable(options.width_note));
}

int write_header(Picture& picture) {
  const SvgOptions& options = picture.options;
  SvgHeader header(picture.out);
  header.titles(options.title, options.subtitle);
  if (!options.facts.empty()) {
    header.text_block("gp-facts", 18, printable(options.facts), kTextAdvance);
  }
  const Weight& all = picture.layout.frames[0].weight;
  header.text_block("gp-total", 20, "Total: " + numbers(all, 0, options, false), kTextAdvance);
  if (!picture.notice.empty()) header.notice(picture.notice);
  write_legend(header, picture);
  header.details(hint(options), "Open this file in a browser to zoom and search.");
  return header.height();
}

// Returns the width below which frames are not drawn: the requested minimum, or more if there are too many frames.
uint64_t least_drawn(const Picture& picture) {
  const auto& frames = picture.layout.frames;
  const double per_px = static_cast<double>(frames[0].width) / (kSvgWidth - 2.0 * kSvgPad);
  const double asked = std::isfinite(picture.options.min_width_px) ? std::max(picture.options.min_width_px, 0.0) : 0.0;
  const double smallest = std::min(std::ceil(asked * per_px), 9e18);
  const auto least = static_cast<uint64_t>(smallest);
  std::vector<uint64_t> widths;
  for (const LaidFrame& frame : frames) {
    if (frame.width >= least) widths.push_back(frame.width);
  }
  const size_t limit = picture.options.limits.drawn_frames;
  if (widths.size() <= limit) return least;
  std::nth_element(widths.begin(), widths.begin() + static_cast<ptrdiff_t>(limit), widths.end(), std::greater<>());
  return widths[limit] + 1;
}

void write_frame(Picture& picture, size_t index, int top) {
  const LaidFrame& frame = picture.layout.frames[index];
  const Label& label = picture.labels[picture.label_of[index]];
  const uint64_t total = picture.layout.frames[0].width;
  // Edges are rounded instead of widths, so that a frame starts exactly where its neighbour ends.
  const auto edge = [&](uint64_t at) {
    const double share = total == 0 ? (at == 0 ? 0.0 : 1.0) : static_cast<double>(at) / static_cast<double>(total);
    return std::round((kSvgPad + share * (kSvgWidth - 2.0 * kSvgPad)) * 100) / 100;
  };
  const double x = edge(frame.start);
  const double width = (total == 0 ? kSvgWidth - kSvgPad : edge(frame.start + frame.width)) - x;
  const int y = top + static_cast<int>(picture.max_depth - frame.depth) * kRow;
  std::string& out = picture.out;
  const auto style_of_change = [&] {
    const auto [before, after] = before_after(frame.weight, picture.options);
    return change_style(before, after);
  };
  out += "<g class=\"" + (picture.options.difference ? style_of_change() : label.style) +
         (width < kThinPx ? " thin\">" : "\">");
  if (width >= kTooltipPx) {
    out += "<title>" + xml_escaped(cut_to_bytes(label.text, kTooltipNameBytes)) + "\n";
    if (frame.depth > 0) out.append(xml_escaped(picture.class_texts.at(static_cast<size_t>(label.cls)))).append("\n");
    out += xml_escaped(numbers(frame.weight, total, picture.options, true)) + "</title>";
  }
  out += "<rect x=\"" + px(x) + "\" y=\"" + std::to_string(y) + "\" width=\"" + px(width) + "\" height=\"" +
         std::to_string(kRow - 1) + "\" rx=\"1\"/>";
  const std::string text = cut_to_columns(label.text, columns_in(width - 6, kLabelAdvance));
  if (!text.empty()) out += SvgHeader::text_at(x + 3, y + 12, text);
  out += "</g>\n";
}

void write_frames(Picture& picture, uint64_t least, int top) {
  picture.out += "<g id=\"gp-frames\">\n";
  for (size_t i = 0; i < picture.layout.frames.size(); ++i) {
    if (i == 0 || picture.layout.frames[i].width >= least) write_frame(picture, i, top);
  }
  picture.out += "</g>\n";
}

// Writes the indexes of frames that lack callees because of a limit: "[3,17]". The script needs them to
// distinguish omitted callees from the end of a stack.
std::string cut_frames(const std::vector<LaidFrame>& frames) {
  std::string list = "[";
  for (size_t i = 0; i < frames.size(); ++i) {
    if (frames[i].cut) list += (list.size() > 1 ? "," : "") + std::to_string(i);
  }
  return list + "]";
}

// Writes the script's data. A frame is five numbers: depth, label, and the ns, count and bytes of its subtree.
void write_data(Picture& picture) {
  const SvgOptions& options = picture.options;
  std::string& out = picture.out;
  out += "<metadata id=\"gp-data\">{\n";
  append_member(out, "weight", std::to_string(2 + static_cast<int>(options.weight.kind)));
  append_member(out, "countName", json_quoted(printable(options.names.count)));
  append_member(out, "countNames", json_quoted(plural_text(printable(options.names.count))));
  append_member(out, "bytesName", json_quoted(printable(options.names.bytes)));
  append_member(out, "minWidth", px(std::clamp(options.min_width_px, 0.05, 1000.0)));
  append_member(out, "drawnFrames", std::to_string(options.limits.drawn_frames));
  append_member(out, "rowHeight", std::to_string(kRow));
  append_member(out, "pad", std::to_string(kSvgPad));
  append_member(out, "title", json_quoted(printable(options.title)));
  append_member(out, "subtitle", json_quoted(printable(options.subtitle)));
  append_member(out, "total", json_quoted("Total: " + numbers(picture.layout.frames[0].weight, 0, options, false)));
  append_member(out, "hint", json_quoted(hint(options)));
  if (!options.facts.empty()) append_member(out, "facts", json_quoted(printable(options.facts)));
  if (options.inverted) append_member(out, "inverted", "true");
  if (picture.layout.left_out > 0) append_member(out, "cut", cut_frames(picture.layout.frames));
  append_member(out, "notice", json_quoted(picture.notice));
  if (options.difference) {
    std::string steps;
    for (const double step : kChangeSteps) steps += (steps.empty() ? "" : ",") + px(step);
    append_member(out, "difference",
                  "{\"showsNew\":" + std::string(options.difference->shows_new ? "true" : "false") + ",\"steps\":[" +
                      steps + "]}");
  }
  out += "\"classes\":{";
  const auto present = classes_in(picture);
  for (const FrameClass cls : kLegendOrder) {
    const bool rare = cls == FrameClass::mark || cls == FrameClass::event || cls == FrameClass::interpreter;
    if (rare && !present[static_cast<size_t>(cls)]) continue;
    if (out.back() != '{') out += ',';
    out.append("\"")
        .append(1, class_letter(cls))
        .append("\":")
        .append(json_quoted(picture.class_texts.at(static_cast<size_t>(cls))));
  }
  out += "},\n\"labels\":[";
  for (const Label& label : picture.labels) {
    if (&label != picture.labels.data()) out += ",\n";
    out += json_quoted(label.text) + ",\"" + label.style + '"';
  }
  out += "],\n\"frames\":[";
  for (size_t i = 0; i < picture.layout.frames.size(); ++i) {
    const LaidFrame& frame = picture.layout.frames[i];
    if (i != 0) out += ",\n";
    out += std::to_string(frame.depth) + ',' + std::to_string(picture.label_of[i]) + ',' +
           std::to_string(frame.weight.ns) + ',' + std::to_string(frame.weight.count) + ',' +
           std::to_string(frame.weight.bytes);
  }
  out += "]}</metadata>\n";
}

std::string full_notice(const SvgOptions& options, size_t left_out) {
  std::string notice = printable(options.notice);
  if (left_out == 0) return notice;
  if (!notice.empty()) notice += "; ";
  return notice + counted_text(left_out, "light or very deep frame").append(" ").append(is_or_are(left_out)) +
         " left out of this picture";
}

}  // namespace

std::string svg(const FlameTree& tree, const SvgOptions& options) {
  Picture picture{
      options, lay_out(tree, options.weight.kind, options.limits.data_frames, options.limits.depth), {}, {}, {}, 0, {},
      {}};
  picture.notice = full_notice(options, picture.layout.left_out);
  name_frames(picture, tree);
  for (const FrameClass cls : kLegendOrder) {
    picture.class_texts.at(static_cast<size_t>(cls)) = class_text(cls, picture);
  }

  const uint64_t least = least_drawn(picture);
  for (const LaidFrame& frame : picture.layout.frames) {
    if (frame.width >= least) picture.max_depth = std::max(picture.max_depth, frame.depth);
  }

  // The beginning of the file contains the total height. That depends on the header, so the header is made first.
  const int header_height = write_header(picture);
  const std::string header = std::exchange(picture.out, {});
  const bool empty = picture.layout.frames[0].width == 0;
  const int top = header_height + 4 + (empty ? 60 : 0);
  const int height = top + static_cast<int>(picture.max_depth + 1) * kRow + kSvgPad;
  std::string& out = picture.out;
  begin_svg(out, {.height = height,
                  .title = options.title,
                  .description = "Flame graph, root at the bottom. Total: " +
                                 numbers(picture.layout.frames[0].weight, 0, options, false),
                  .style = palette_css() + (options.difference ? change_css() : "")});
  write_frames(picture, least, top);
  if (empty) {
    out += "<text id=\"gp-empty\" x=\"10\" y=\"" + std::to_string(header_height + 36) +
           "\">Nothing to show: no GPU work with this weight was recorded.</text>\n";
  }
  write_head(out, header, header_height);
  write_data(picture);
  end_svg(out, {embedded(gpuprof_svg_views_begin, gpuprof_svg_views_end),
                embedded(gpuprof_svg_script_begin, gpuprof_svg_script_end),
                embedded(gpuprof_svg_tools_begin, gpuprof_svg_tools_end),
                embedded(gpuprof_svg_keys_begin, gpuprof_svg_keys_end)});
  return std::move(picture.out);
}

}  // namespace gpuprof::output
