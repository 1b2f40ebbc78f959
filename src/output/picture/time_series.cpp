#include "output/picture/time_series.h"

#include <algorithm>
#include <array>
#include <utility>

#include "analyze/rows/time_window.h"
#include "base/text/numbers.h"
#include "output/picture/svg_parts.h"
#include "output/picture/svg_text.h"
#include "profile/records.h"

extern "C" {
extern const char gpuprof_time_series_script_begin[];
extern const char gpuprof_time_series_script_end[];
extern const char gpuprof_time_series_style_begin[];
extern const char gpuprof_time_series_style_end[];
}

namespace gpuprof::output {
namespace {

using analyze::exact_seconds;
using analyze::TimeSeries;

constexpr size_t kMostColumns = 120;
constexpr uint64_t kLevels = 8;  // number of colours for values above 0
constexpr int kRowLabelPx = 64;  // space for the labels of rows, left of the columns
constexpr int kAxisPx = 22;
constexpr double kTickPx = 90;              // minimum distance between the labels of ticks
constexpr double kGapFromPx = 5;            // cells of this size or larger have a gap of one pixel between them
constexpr const char* kNotRecorded = "hx";  // style of cells without recorded time
constexpr double kSeriesKeyAdvance = 7;     // width in px of a character of legend text

// The pattern that fills cells without recorded time.
constexpr const char* kHatch =
    "<defs><pattern id=\"gp-hatch\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(45)\"><path d=\"M0 0V5\"/></pattern></defs>\n";

struct Shape {
  size_t rows;
  int row_px;
};
constexpr std::array<Shape, 7> kShapes{{{1, 56}, {2, 36}, {5, 24}, {10, 16}, {20, 11}, {30, 9}, {60, 5}}};
static_assert(kShapes.back().rows * kMostColumns == kMostHeatCells);

struct Map {
  const TimeSeries& series;
  const HeatMapOptions& options;
  Shape shape = kShapes.back();
  size_t columns = 0;
  uint64_t most = 0;

  [[nodiscard]] uint64_t weight(size_t cell) const { return raw_weight(series.cells[cell], options.kind); }
  // Returns how much of the cell's time was recorded: all of it, if the profile does not say.
  [[nodiscard]] uint64_t recorded_ns(size_t cell) const {
    return series.recorded_ns.empty() ? series.cell_ns : series.recorded_ns[cell];
  }
  // Work may end after the recorded time. A cell with such work is drawn.
  [[nodiscard]] bool not_recorded(size_t cell) const { return weight(cell) == 0 && recorded_ns(cell) == 0; }
  [[nodiscard]] const char* not_recorded_text() const {
    return series.by_window_start ? "no window began" : options.is_subset ? "not recorded or left out" : "not recorded";
  }
  [[nodiscard]] std::string exact(uint64_t value) const { return exact_text(value, options.kind, options.names); }
  [[nodiscard]] std::string total() const { return "Total: " + exact(raw_weight(series.total, options.kind)); }
  [[nodiscard]] int left() const { return shape.rows == 1 ? kSvgPad : kRowLabelPx; }
  [[nodiscard]] int height() const { return static_cast<int>(shape.rows) * shape.row_px; }
};

Map map_of(const TimeSeries& series, const HeatMapOptions& options) {
  Map map{.series = series, .options = options};
  const size_t cells = series.cells.size();
  for (const Shape& shape : kShapes) {
    if (cells <= shape.rows * kMostColumns) {
      map.shape = shape;
      break;
    }
  }
  map.columns = (cells + map.shape.rows - 1) / map.shape.rows;
  for (size_t i = 0; i < cells; ++i) {
    map.most = std::max(map.most, map.weight(i));
  }
  return map;
}

// Returns the smallest level from 0 to kLevels whose value, level / kLevels of `most`, is at least `value`.
uint64_t level_of(uint64_t value, uint64_t most) {
  using Wide = profile::Uint128;
  return most == 0 ? 0 : static_cast<uint64_t>((Wide{value} * kLevels + most - 1) / most);
}

std::string short_text(uint64_t value, WeightKind kind) {
  switch (kind) {
    case WeightKind::time:
      return duration_text(value);
    case WeightKind::count:
      return count_text(value);
    case WeightKind::bytes:
      return bytes_text(value);
  }
  return {};
}

// Returns the label of the colour for 0. If the profile does not say when it recorded, 0 may mean either.
std::string zero_label(const Map& map) {
  return short_text(0, map.options.kind) + (map.series.recorded_ns.empty() ? " or not recorded" : "") +
         (map.options.range.empty() ? "" : " inside the range");
}

void write_series_legend(SvgHeader& header, const Map& map) {
  constexpr int kLegendRow = 20;
  std::string keys;
  double x = kSvgPad;
  const auto add = [&](const std::string& style, const std::string& label) {
    keys += SvgHeader::key(x, style, label);
    x += 17 + static_cast<double>(label.size()) * kSeriesKeyAdvance + 16;
  };
  for (size_t i = 0; i < map.series.cells.size(); ++i) {
    if (map.not_recorded(i)) {
      add(kNotRecorded, map.not_recorded_text());
      break;
    }
  }
  for (uint64_t level = 0; level <= kLevels; ++level) {
    const uint64_t value = map.most / kLevels * level + map.most % kLevels * level / kLevels;
    if (level > 0 && level_of(value, map.most) != level) {
      continue;  // map.most is less than kLevels, so no value has this level
    }
    add("h" + std::to_string(level), level == 0 ? zero_label(map) : "up to " + short_text(value, map.options.kind));
  }
  header.block("gp-legend", kLegendRow, keys);
}

std::string cell_hint(const Map& map) {
  std::string text = "A cell: " + exact_seconds(map.series.cell_ns) + ".";
  if (map.shape.rows > 1) {
    text += " A column: " + exact_seconds(map.series.cell_ns * map.shape.rows) + ", from top to bottom.";
  }
  return map.options.range.empty() ? text
                                   : text + " Work outside of " + printable(map.options.range) + " was not recorded.";
}

int write_series_header(std::string& out, const Map& map) {
  const HeatMapOptions& options = map.options;
  SvgHeader header(out);
  header.titles(options.title, options.subtitle);
  if (!options.facts.empty()) {
    header.text_block("gp-facts", 18, printable(options.facts), kTextAdvance);
  }
  header.text_block("gp-total", 20, map.total(), kTextAdvance);
  if (!options.notice.empty()) {
    header.notice(printable(options.notice));
  }
  write_series_legend(header, map);
  header.details(cell_hint(map), "Open this file in a browser to select a time range.");
  return header.height();
}

// Returns the cell's interval, value, and how much of it was recorded if not all of it was.
std::string cell_title(const Map& map, size_t i) {
  std::string text = exact_seconds(map.series.begin_ns(i)) + " to " + exact_seconds(map.series.begin_ns(i + 1)) + "\n";
  if (map.not_recorded(i)) {
    return text + map.not_recorded_text();
  }
  text += map.exact(map.weight(i));
  if (map.recorded_ns(i) == map.series.cell_ns) {
    return text;
  }
  const std::string recorded = duration_text(map.recorded_ns(i));
  return text + (map.series.by_window_start
                     ? ", estimated from windows of " + recorded
                     : ", recorded for " + recorded + " of " + duration_text(map.series.cell_ns));
}

// Writes the cells grouped by colour, so that each colour is written only once.
void write_cells(std::string& out, const Map& map, int top) {
  const double column_px = static_cast<double>(kSvgWidth - map.left() - kSvgPad) / static_cast<double>(map.columns);
  const double width = column_px - (column_px >= kGapFromPx ? 1 : 0);
  const int height = map.shape.row_px - (map.shape.row_px >= kGapFromPx ? 1 : 0);
  const std::string size = "\" width=\"" + px(width) + "\" height=\"" + std::to_string(height) + "\"";
  std::array<std::string, kLevels + 2> by_level;  // the last one: not recorded
  for (size_t i = 0; i < map.series.cells.size(); ++i) {
    const size_t column = i / map.shape.rows;
    const double x = map.left() + column_px * static_cast<double>(column);
    const int y = top + map.shape.row_px * static_cast<int>(i % map.shape.rows);
    const uint64_t value = map.weight(i);
    const bool not_recorded = map.not_recorded(i);
    std::string& cells = not_recorded ? by_level.back() : by_level[level_of(value, map.most)];
    cells += "<rect x=\"" + px(x) + "\" y=\"" + std::to_string(y) + size;
    cells += value == 0 && map.recorded_ns(i) == map.series.cell_ns
                 ? std::string("/>\n")
                 : "><title>" + xml_escaped(cell_title(map, i)) + "</title></rect>\n";
  }
  out += kHatch;
  out += "<g id=\"gp-cells\">\n";
  for (size_t level = 0; level < by_level.size(); ++level) {
    if (!by_level[level].empty()) {
      const std::string style = level > kLevels ? kNotRecorded : "h" + std::to_string(level);
      out += "<g class=\"" + style + "\">\n" + by_level[level] + "</g>\n";
    }
  }
  out += "</g>\n";
}

// Returns the number of columns between ticks: the smallest usual number that leaves enough space for the labels.
size_t columns_between_ticks(double column_px) {
  for (const size_t step : {1, 2, 5, 10, 20, 30, 60}) {
    if (static_cast<double>(step) * column_px >= kTickPx) {
      return step;
    }
  }
  return kMostColumns;
}

void write_axes(std::string& out, const Map& map, int top) {
  const double column_px = static_cast<double>(kSvgWidth - map.left() - kSvgPad) / static_cast<double>(map.columns);
  const size_t step = columns_between_ticks(column_px);
  out += "<g id=\"gp-axes\">\n";
  for (size_t column = 0; column < map.columns; column += step) {
    const double x = map.left() + column_px * static_cast<double>(column);
    if (x + kTickPx <= kSvgWidth || column == 0) {
      out +=
          SvgHeader::text_at(x, top + map.height() + 15, exact_seconds(map.series.begin_ns(column * map.shape.rows)));
    }
  }
  out += "\n";
  for (size_t row = 0; map.shape.rows > 1 && row < map.shape.rows; row += std::max<size_t>(map.shape.rows / 2, 1)) {
    out += SvgHeader::text_at(kSvgPad, top + static_cast<int>(row) * map.shape.row_px + 11,
                              "+" + exact_seconds(row * map.series.cell_ns));
  }
  out += "</g>\n";
}

void write_series_data(std::string& out, const Map& map) {
  const HeatMapOptions& options = map.options;
  out += "<metadata id=\"gp-data\">{\n";
  append_member(out, "kind", std::to_string(static_cast<int>(options.kind)));
  append_member(out, "countName", json_quoted(printable(options.names.count)));
  append_member(out, "countNames", json_quoted(plural_text(printable(options.names.count))));
  append_member(out, "bytesName", json_quoted(printable(options.names.bytes)));
  append_member(out, "pad", std::to_string(kSvgPad));
  append_member(out, "left", std::to_string(map.left()));
  append_member(out, "axis", std::to_string(kAxisPx));
  append_member(out, "tick", px(kTickPx));
  append_member(out, "rows", std::to_string(map.shape.rows));
  append_member(out, "rowHeight", std::to_string(map.shape.row_px));
  append_member(out, "levels", std::to_string(kLevels));
  append_member(out, "title", json_quoted(printable(options.title)));
  append_member(out, "subtitle", json_quoted(printable(options.subtitle)));
  if (!options.facts.empty()) append_member(out, "facts", json_quoted(printable(options.facts)));
  append_member(out, "total", json_quoted(map.total()));
  append_member(out, "hint", json_quoted(cell_hint(map)));
  append_member(out, "notice", json_quoted(printable(options.notice)));
  append_member(out, "command", json_quoted(printable(options.command)));
  append_member(out, "commandOptions", json_quoted(printable(options.command_options)));
  append_member(out, "startNs", std::to_string(map.series.start_ns));
  append_member(out, "cellNs", std::to_string(map.series.cell_ns));
  std::string recorded;
  for (size_t i = 0; i < map.series.cells.size(); ++i) {
    if (map.recorded_ns(i) != map.series.cell_ns) {
      recorded.append(recorded.empty() ? "" : ",").append("\"").append(std::to_string(i)).append("\":");
      recorded += std::to_string(map.recorded_ns(i));
    }
  }
  append_member(out, "recordedNs", "{" + recorded + "}");  // of the cells that were not recorded from start to end
  append_member(out, "byWindowStart", map.series.by_window_start ? "true" : "false");
  append_member(out, "notRecorded", json_quoted(map.not_recorded_text()));
  out += "\"cells\":[";
  for (size_t i = 0; i < map.series.cells.size(); ++i) {
    out += (i == 0 ? "" : i % map.shape.rows == 0 ? ",\n" : ",") + std::to_string(map.weight(i));
  }
  out += "]}</metadata>\n";
}

}  // namespace

std::string heat_map(const TimeSeries& series, const HeatMapOptions& options) {
  const Map map = map_of(series, options);
  std::string header;
  const int header_height = write_series_header(header, map);
  const int top = header_height + 4;
  std::string out;
  begin_svg(out, {.height = top + (map.columns == 0 ? 60 : map.height() + kAxisPx) + kSvgPad,
                  .title = options.title,
                  .description = "Heat map over time. " + map.total(),
                  .style = std::string(embedded(gpuprof_time_series_style_begin, gpuprof_time_series_style_end))});
  if (map.columns == 0) {
    out += "<text id=\"gp-empty\" x=\"10\" y=\"" + std::to_string(top + 32) +
           "\">Nothing to show: no GPU work with this weight was recorded.</text>\n";
  } else {
    write_cells(out, map, top);
    write_axes(out, map, top);
  }
  write_head(out, header, header_height);
  write_series_data(out, map);
  end_svg(out, {embedded(gpuprof_time_series_script_begin, gpuprof_time_series_script_end)});
  return out;
}

}  // namespace gpuprof::output
