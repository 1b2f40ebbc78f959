#include "output/report/counted.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "output/json_stream.h"
#include "output/text.h"

namespace gpuprof::output {
namespace {

using analyze::CountedKind;
using analyze::CountedRow;
using analyze::CountedTable;

constexpr size_t kCounts = 20;  // width of " (5 of 34)" after a title, for large numbers

struct TableTitles {
  std::string_view title;
  std::vector<std::string> columns;
};

// Returns a readable title for a well-known metric, and the metric's own name for any other.
std::string_view metric_title(std::string_view metric) {
  if (metric == "smsp__sass_sectors_mem_global") {
    return "Global memory: sectors, actual and ideal (coalesced)";
  }
  if (metric == "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared") {
    return "Shared memory: wavefronts, actual and ideal (no conflicts)";
  }
  return metric;
}

TableTitles words_of(const CountedTable& table) {
  switch (table.kind) {
    case CountedKind::excess:
      return {metric_title(table.metric), {"actual", "ideal", "ratio"}};
    case CountedKind::divergence:
      return {"Divergent branches", {"divergent", "executed", "share"}};
    case CountedKind::threads:
      return {"Active threads per instruction, of 32 in a warp", {"threads", "ideal", "share"}};
    default:
      return {table.metric, {"counted"}};
  }
}

std::string ratio_text(uint64_t value, uint64_t reference) {
  if (reference == 0) {
    return "-";
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.2fx", static_cast<double>(value) / static_cast<double>(reference));
  return text;
}

std::vector<std::string> numbers_of(const CountedTable& table, const CountedRow& row) {
  std::vector<std::string> numbers = {short_count_text(row.value)};
  if (table.kind == CountedKind::plain) {
    return numbers;
  }
  numbers.push_back(short_count_text(row.reference));
  numbers.push_back(table.kind == CountedKind::excess ? ratio_text(row.value, row.reference)
                                                      : percent_text(row.value, row.reference));
  return numbers;
}

// Formats a row's location: "stalls.cu:99 in stride(unsigned int*)".
std::string row_text(const CountedRow& row, size_t numbers, const Page& page) {
  constexpr size_t kFile = 24;
  std::string text;
  if (!row.file.empty()) {
    const std::string file = shown_name(shown_ends(row.file));
    text.append(page.full() ? file : cut_front(file, kFile))
        .append(row.line == 0 ? "" : ":" + std::to_string(row.line));
    text.append(" in ");
  }
  const size_t width = page.name_width(numbers);
  text.append(page.name(row.function, width - std::min(width / 2, text.size())));
  return page.full() ? text : cut_middle(text, width);
}

std::string_view kind_word(CountedKind kind) {
  static constexpr std::array<std::string_view, 4> kWords = {"excess", "divergence", "threads", "plain"};
  static_assert(static_cast<size_t>(CountedKind::plain) + 1 == kWords.size());
  return kWords.at(static_cast<size_t>(kind));
}

}  // namespace

void print_counted(const analyze::Summary& summary, Page& page) {
  for (const CountedTable& table : summary.counted) {
    const TableTitles words = words_of(table);
    const std::string title = shown_name(words.title);
    const size_t width = page.width() - std::min(page.width() / 2, kCounts);
    page.title(page.full() ? title : cut_middle(title, width), table.rows.size(), table.found);
    page.columns(words.columns, "source line, and its function");
    for (const CountedRow& row : table.rows) {
      page.row(numbers_of(table, row), row_text(row, words.columns.size(), page));
    }
  }
}

void put_counted(const CountedTable& table, TextStream& stream) {
  stream.checkpoint();
  JsonObject object(stream.text());
  object.text("metric", shown_text(table.metric));
  object.text("kind", kind_word(table.kind));
  json_array(table.rows, object.key("lines"), [&](const CountedRow& row) {
    JsonObject line(stream.text());
    line.text("function", shown_text(row.function));
    line.text("file", shown_text(row.file));
    line.number("line", row.line);
    line.number("value", row.value);
    if (table.kind != CountedKind::plain) {
      line.number("reference", row.reference);
    }
  });
}

}  // namespace gpuprof::output
