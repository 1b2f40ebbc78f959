#include <string>
#include <vector>

#include "catch.h"
#include "random_profile.h"
#include "text_input.h"

using namespace gpuprof;
using namespace gpuprof::profile;
using gpuprof::test::damaged;
using gpuprof::test::open_text;
using gpuprof::test::RandomProfile;

namespace {

// Returns each record with its line, and then how the reading ended.
std::vector<std::string> one_by_one(std::string_view text, bool lenient) {
  std::vector<std::string> list;
  auto reader = open_text(text, lenient);
  if (!reader) {
    return {reader.error().message};
  }
  for (;;) {
    auto next = reader->next();
    if (!next || !next->has_value()) {
      list.push_back(next ? std::to_string(reader->skipped_bad()) : next.error().message);
      return list;
    }
    format_line(**next, list.emplace_back(std::to_string(reader->line()) + ": "));
  }
}

template <typename Row>
void put_rows(uint64_t last_line, std::span<const Row> rows, std::vector<std::string>& list) {
  uint64_t line = last_line - rows.size();
  for (const Row& row : rows) {
    format_line(row, list.emplace_back(std::to_string(++line) + ": "));
  }
}

std::vector<std::string> in_batches(std::string_view text, bool lenient) {
  std::vector<std::string> list;
  auto reader = open_text(text, lenient);
  if (!reader) {
    return {reader.error().message};
  }
  for (;;) {
    auto batch = reader->next_batch();
    if (!batch || batch->at_end()) {
      list.push_back(batch ? std::to_string(reader->skipped_bad()) : batch.error().message);
      return list;
    }
    put_rows(reader->line(), batch->gpu, list);
    put_rows(reader->line(), batch->samples, list);
    put_rows(reader->line(), batch->shares, list);
    if (batch->record != nullptr) {
      format_line(*batch->record, list.emplace_back(std::to_string(reader->line()) + ": "));
    }
  }
}

std::string many(std::string_view line, int count) {
  std::string text;
  format_header(text);
  for (int i = 0; i < count; ++i) {
    text.append(line).append("\n");
  }
  return text;
}

}  // namespace

TEST_CASE("random and damaged profiles read the same in batches and line by line") {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    INFO("seed " << seed);
    const std::string whole = RandomProfile(seed % 100).text;
    const std::string text = seed < 100 ? whole : damaged(whole, seed);
    CHECK(in_batches(text, seed % 2 == 0) == one_by_one(text, seed % 2 == 0));
  }
}

TEST_CASE("numbers of every length are parsed in batches as in single lines") {
  std::string digits;
  for (int length = 0; length <= 22; ++length, digits += static_cast<char>('0' + length % 10)) {
    for (const char* const form :
         {"SHARE;1;1;N;0", "SHARE;1;1;0;N", "SHARE;N;1;0;0", "SHARE;1;N;0;0", "GPU;0;1;0;0;0;0;N;0;0",
          "GPU;N;N;N;N;0;N;N;N;N", "EUSTALL;N;1;1;1;1;1;0", "EUSTALL;1;1;1;1;1;1;N"}) {
      std::string line;
      for (const char c : std::string_view(form)) {
        line += c == 'N' ? digits : std::string(1, c);
      }
      INFO(line);
      const std::string text = many(line, 3);
      CHECK(in_batches(text, true) == one_by_one(text, true));
      CHECK(in_batches(text, false) == one_by_one(text, false));
    }
  }
}

TEST_CASE("unusual rows are parsed line by line") {
  for (const char* const line :
       {"SHARE;1;1;2;3\r", "SHARE;1;1;2;3;", "SHARE;1;1;2", "SHARE;1;1;2;-3", "SHARE;1;1;2;3 ",
        "SHARE;1;4294967296;2;3", "SHARE;1;4294967295;2;18446744073709551615", "SHARE;1;1;2;18446744073709551616",
        "SHARE", "SHARE;", "SHARES;1", "EUSTALL;1;1;1;1;1;1;2", "GPU;1;1;2;5;1;2;9;0;0",
        "GPU;1;1;2;3;1;2;340282366920938463463374607431768211455;0;0",
        "GPU;1;1;2;3;1;2;9;0;000000000000000000000000000000000000000000000000000000000000000000000000000000007"}) {
    INFO(line);
    const std::string text = many(line, 2) + many("SHARE;1;1;2;3", 200) + "SHARE;1;1;2;3";
    CHECK(in_batches(text, true) == one_by_one(text, true));
    CHECK(in_batches(text, false) == one_by_one(text, false));
  }
}

TEST_CASE("a batch ends at the end of the buffer, and the next batch begins there") {
  const std::string text = many("GPU;1;1;2;3;1;2;9;0;0", 50000);  // larger than several buffers
  CHECK(in_batches(text, false) == one_by_one(text, false));
}

TEST_CASE("a batch does not read beyond the last complete line") {
  std::string text = many("GPU;1;1;2;3;1;2;9;0;0", 5);
  for (; !text.empty(); text.pop_back()) {
    CHECK(in_batches(text, false) == one_by_one(text, false));
  }
}
