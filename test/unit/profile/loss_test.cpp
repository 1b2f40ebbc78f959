// FORMAT.md and the tables of words say the same.
#include "profile/loss.h"

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "catch.h"
#include "profile/coverage.h"

using namespace gpuprof::profile;

namespace {

// The rows of the page's table that begins with that line, without their backquotes.
std::vector<std::vector<std::string>> table(const std::string& head) {
  std::ifstream page(GPUPROF_FORMAT_PAGE);
  std::string line;
  while (std::getline(page, line) && line != head) {
  }
  std::getline(page, line);  // the rule below the head
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

}  // namespace

TEST_CASE("the page has each reason of a loss, and what is missing because of it") {
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

TEST_CASE("what targets count has a reason each") {
  std::set<LossReason> reasons;
  for (int counted = 0; counted < GPUPROF_LOSS_USED; ++counted) {
    reasons.insert(loss_reason_of(static_cast<gpuprof_loss>(counted)));
  }
  CHECK(reasons.size() == GPUPROF_LOSS_USED);
  CHECK(loss_reason_of(GPUPROF_LOSS_STACK) == LossReason::stack_not_taken);
}

TEST_CASE("the page has each word of the coverage") {
  const auto rows = table("| what | count |");
  REQUIRE(rows.size() == kCoverageCounts);
  for (size_t i = 0; i < rows.size(); ++i) {
    CHECK(rows[i].at(0) == word(static_cast<CoverageCount>(i)));
  }
}
