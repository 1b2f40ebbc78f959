#include "output/picture/html.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "base/text/numbers.h"
#include "output/picture/svg_parts.h"
#include "output/picture/svg_text.h"
#include "output/text.h"
#include "output/trust.h"

extern "C" {
extern const char gpuprof_html_script_begin[];
extern const char gpuprof_html_script_end[];
extern const char gpuprof_html_style_begin[];
extern const char gpuprof_html_style_end[];
}

namespace gpuprof::output {
namespace {

using analyze::Summary;
using analyze::SummaryLine;

constexpr size_t kNameBytes = 2048;
constexpr size_t kPathFrames = 40;  // number of frames shown per path, counted from the innermost one

std::string text_of(std::string_view name) {
  return xml_escaped(cut_to_bytes(printable(name.substr(0, 2 * kNameBytes)), kNameBytes));
}

// Returns the texts between each `begin` mark and the next `end` mark. Names in `text` are escaped, so they cannot
// contain a mark.
std::vector<std::string_view> between(std::string_view text, std::string_view begin, std::string_view end) {
  std::vector<std::string_view> found;
  for (size_t at = text.find(begin); at != std::string_view::npos; at = text.find(begin, at)) {
    at += begin.size();
    const size_t stop = text.find(end, at);
    found.push_back(text.substr(at, stop - at));
    at = stop;
  }
  return found;
}

std::string hashes(std::span<const std::string_view> texts) {
  std::string list;
  for (const std::string_view text : texts) {
    const auto digest = sha256(text);
    list += " 'sha256-" + base64({reinterpret_cast<const char*>(digest.data()), digest.size()}) + "'";
  }
  return list;
}

struct HtmlColumn {
  std::string_view title;
  bool number = true;
  bool wide = false;
};

void begin_table(std::string_view title, std::span<const HtmlColumn> columns, std::string& out) {
  out.append("<h2>").append(title).append("</h2>\n<table><colgroup>");
  for (const HtmlColumn& column : columns) {
    out += column.wide ? "<col class=\"h\">" : column.number ? "<col class=\"n\">" : "<col>";
  }
  out += "</colgroup><thead><tr>";
  for (const HtmlColumn& column : columns) {
    out.append("<th><button type=\"button\">").append(column.title).append("</button></th>");
  }
  out += "</tr></thead><tbody>\n";
}

void number_cell(uint64_t value, const std::string& text, std::string& out) {
  out += "<td data-v=\"" + std::to_string(value) + "\">" + text + "</td>";
}

// Draws a bar for each part of the histogram, and lists the percentiles in its tooltip. The cell's value is the p99.
void histogram_cell(const SummaryLine& line, std::string& out) {
  constexpr size_t kBars = 30;
  constexpr uint64_t kHeight = 20;
  if (line.durations.recorded() == 0) {
    return number_cell(0, "", out);
  }
  const std::vector<uint64_t> bars = line.durations.histogram(kBars);
  const uint64_t most = *std::max_element(bars.begin(), bars.end());
  std::string picture = "<svg class=\"bars\" viewBox=\"0 0 " + std::to_string(3 * kBars) + " " +
                        std::to_string(kHeight) + "\" role=\"img\"><title>";
  const uint64_t recorded = line.durations.recorded();
  picture += "durations of " + counted_text(recorded, "GPU operation");
  if (recorded != line.weight.count) {
    picture += " of " + count_text(line.weight.count);
  }
  for (const auto& [name, ns] : line.percentiles.named()) {
    picture += ns ? std::string(", ").append(name).append(" ").append(duration_text(*ns)) : "";
  }
  picture += "</title><path d=\"";
  for (size_t i = 0; i < kBars; ++i) {
    if (bars[i] > 0) {
      const auto height = std::max<uint64_t>(2, static_cast<uint64_t>(profile::Uint128{bars[i]} * kHeight / most));
      picture += "M" + std::to_string(3 * i) + " " + std::to_string(kHeight) + "v-" + std::to_string(height) + "h2v" +
                 std::to_string(height) + "z";
    }
  }
  picture += "\"/></svg><span class=\"frames range\">" + duration_text(line.min_ns) + " - " +
             duration_text(line.max_ns) + "</span>";
  number_cell(line.percentiles.p99_ns.value_or(line.max_ns), picture, out);
}

void end_table(std::string& out) {
  out += "</tbody></table>\n";
}

std::string path_text(const SummaryLine& line) {
  const auto frames = line.path.frames();
  std::string text;
  for (size_t i = 0; i < frames.size() && i < kPathFrames; ++i) {
    text.append("<br>").append(text_of(frames[frames.size() - 1 - i]));
  }
  if (frames.size() > kPathFrames) {
    text += "<br>... " + counted_text(frames.size() - kPathFrames, "more caller");
  }
  return text;
}

void work_table(std::string_view title, std::span<const SummaryLine> lines, const Summary& summary, bool paths,
                std::string& out) {
  constexpr HtmlColumn kName{"Name", false};
  std::vector<HtmlColumn> columns = summary.timed ? std::vector<HtmlColumn>{kName, {"GPU time"}, {"Share"}, {"Count"}}
                                                  : std::vector<HtmlColumn>{kName, {"Count"}, {"Share"}};
  if (summary.has_percentiles) {
    columns.push_back({"Durations", true, true});
  }
  if (lines.empty()) {
    return;
  }
  begin_table(title, columns, out);
  for (const SummaryLine& line : lines) {
    out += "<tr><td>" + text_of(line.work);
    if (paths) {
      out += "<span class=\"frames\">" + path_text(line) + "</span>";
    }
    out += "</td>";
    const uint64_t value = summary.timed ? line.weight.ns : line.weight.count;
    const uint64_t all = summary.timed ? summary.total.ns : summary.total.count;
    number_cell(value, summary.timed ? duration_text(value) : count_text(value), out);
    number_cell(value, percent_text(value, all), out);
    if (summary.timed) {
      number_cell(line.weight.count, count_text(line.weight.count), out);
    }
    if (summary.has_percentiles) {
      histogram_cell(line, out);
    }
    out += "</tr>\n";
  }
  end_table(out);
}

// `notice`: the text about losses that the picture shows.
void losses(const analyze::ProfileInfo& info, const std::string& notice, std::string& out) {
  out += "<h2>Losses</h2>\n";
  bool any = false;
  for (const auto& [reason, count] : info.losses) {
    any = any || count > 0;
  }
  if (any) {
    out.resize(out.size() - std::string_view("<h2>Losses</h2>\n").size());
    begin_table("Losses", std::vector<HtmlColumn>{{"What", false}, {"Count"}}, out);
    for (const auto& [reason, count] : info.losses) {
      if (count > 0) {
        out += "<tr><td>" + text_of(reason) + "</td>";
        number_cell(count, count_text(count), out);
        out += "</tr>\n";
      }
    }
    end_table(out);
  }
  std::vector<std::string> lines = trust_lines(info);
  if (!info.complete) {
    lines.emplace_back("The profile has no END record: the end of the recording may be missing.");
  } else if (!notice.empty() && !any && lines.empty()) {
    lines.push_back(notice);
  }
  if (!any && lines.empty()) {
    lines.emplace_back("Nothing was lost.");
  }
  for (const std::string& line : lines) {
    out += "<p>" + text_of(line) + "</p>\n";
  }
}

}  // namespace

std::string html(const analyze::FlameTree& tree, const Summary& summary, const SvgOptions& options,
                 std::string_view note) {
  std::string picture = svg(tree, options);
  picture.erase(0, picture.find("<svg"));
  const std::string style(embedded(gpuprof_html_style_begin, gpuprof_html_style_end));
  const std::string script(embedded(gpuprof_html_script_begin, gpuprof_html_script_end));
  auto styles = between(picture, "<style><![CDATA[", "]]></style>");
  auto scripts = between(picture, "<script><![CDATA[", "]]></script>");
  styles.push_back(style);
  scripts.push_back(script);
  std::string out = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n";
  out +=
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; "
      "form-action 'none'; style-src" +
      hashes(styles) + "; script-src" + hashes(scripts) + "\">\n";
  out += "<meta name=\"viewport\" content=\"width=device-width\">\n<title>" + xml_escaped(printable(options.title)) +
         "</title>\n<style>" + style + "</style></head>\n<body><main><div id=\"graph\">" + picture +
         "</div>\n<section id=\"tables\" aria-label=\"Tables\">\n";
  if (!note.empty()) {
    out += "<p>" + text_of(note) + "</p>\n";
  }
  work_table("Kernels and copies" + part_shown(summary.work.size(), summary.found.work), summary.work, summary, false,
             out);
  work_table("Call paths" + part_shown(summary.call_paths.size(), summary.found.call_paths), summary.call_paths,
             summary, true, out);
  losses(summary.info, options.notice, out);
  out += "</section></main>\n<script>" + script + "</script></body></html>\n";
  return out;
}

}  // namespace gpuprof::output
