// Tests that FORMAT.md agrees with the fields of records, the loss reasons and the coverage counters.
#include "profile/loss.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "catch.h"
#include "profile/coverage.h"
#include "profile/record_fields.h"

using namespace gpuprof::profile;

namespace {

// Returns the rows of the table in FORMAT.md that begins with `head`, without backquotes.
std::vector<std::vector<std::string>> table(const std::string& head) {
  std::ifstream page(GPUPROF_FORMAT_PAGE);
  std::string line;
  while (std::getline(page, line) && line != head) {
  }
  std::getline(page, line);  // skips the rule below the header
  std::vector<std::vector<std::string>> rows;
  const std::regex cell(R"(\| `?(.*?)`? (?=\|))");
  while (std::getline(page, line) && line.starts_with("| ")) {
    std::vector<std::string> cells;
    for (std::sregex_iterator at(line.begin(), line.end(), cell), end; at != end; ++at) {
      cells.push_back((*at)[1]);
    }
    rows.push_back(cells);
  }
  return rows;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

// Formats the fields of a record like FORMAT.md: "slice; ->WORK; reason->STRING". Omits a list field, which some
// records have at the end.
template <typename R>
std::string fields_of(R record) {
  std::string text;
  const auto add = [&](const std::string& field) { text += (text.empty() ? "" : "; ") + field; };
  for_each_field(record, [&]<typename F, typename T>(const F& field, T& /*value*/) {
    if constexpr (std::is_class_v<T> && !std::is_same_v<T, std::string_view>) {
      return false;
    } else if constexpr (AnyId<T> && F::kForm != Form::own_id) {
      const IdSpace space = F::kForm == Form::kernel_stack ? kKstackIds : kSpaceOf<T>;
      add((lower(word(space)).ends_with(field.name) ? "" : std::string(field.name)) + "->" + std::string(word(space)));
      return true;
    } else {
      add(std::string(field.name));
      return true;
    }
  });
  return text;
}

template <typename R>
void check_fields(std::map<std::string, std::string>& page) {
  if constexpr (!std::is_same_v<R, Unknown>) {
    const std::string kind(kind_of(R{}));
    INFO(kind);
    const std::string fields = std::regex_replace(page[kind], std::regex(R"(!| \([^)]*\))"), "");
    CHECK((fields + ";").starts_with(fields_of(R{}) + ";"));
    page.erase(kind);
  }
}

}  // namespace

TEST_CASE("FORMAT.md documents each kind of record with its fields") {
  std::map<std::string, std::string> page;
  for (const auto& row : table("| kind | fields |")) {
    page[row.at(0)] = row.at(1);
  }
  [&]<size_t... kIndex>(std::index_sequence<kIndex...> /*all*/) {
    (check_fields<std::variant_alternative_t<kIndex, Record>>(page), ...);
  }
  (std::make_index_sequence<std::variant_size_v<Record>>());
  CHECK(page.size() == 1);
  CHECK(page.contains("KSTACK"));
}

TEST_CASE("FORMAT.md documents each loss reason and what is missing because of it") {
  const std::map<std::string, Missing> kinds = {
      {"work", Missing::work}, {"samples", Missing::samples}, {"details", Missing::details}};
  const auto rows = table("| reason | of | what is missing |");
  CHECK(rows.size() == kLossReasons);
  for (const auto& row : rows) {
    INFO(row.at(0));
    const auto reason = loss_reason_of(row.at(0));
    REQUIRE(reason.has_value());
    CHECK(word(*reason) == row.at(0));
    CHECK(missing(*reason) == kinds.at(row.at(1)));
  }
  CHECK_FALSE(loss_reason_of("of_the_future").has_value());
}

TEST_CASE("each loss that targets count has its own reason") {
  std::set<LossReason> reasons;
  for (int counted = 0; counted < GPUPROF_LOSS_COUNT; ++counted) {
    reasons.insert(loss_reason_of(static_cast<gpuprof_loss>(counted)));
  }
  CHECK(reasons.size() == GPUPROF_LOSS_COUNT);
  CHECK(loss_reason_of(GPUPROF_LOSS_STACK) == LossReason::stack_not_taken);
}

TEST_CASE("FORMAT.md documents each coverage counter") {
  const auto rows = table("| what | count |");
  REQUIRE(rows.size() == kCoverageCounts);
  for (size_t i = 0; i < rows.size(); ++i) {
    CHECK(rows[i].at(0) == word(static_cast<CoverageCount>(i)));
  }
}
