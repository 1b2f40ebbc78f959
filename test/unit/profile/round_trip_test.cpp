#include "catch.h"
#include "random_profile.h"
#include "text_input.h"

using namespace gpuprof;
using namespace gpuprof::profile;
using gpuprof::test::damaged;
using gpuprof::test::first_error;
using gpuprof::test::open_text;
using gpuprof::test::RandomProfile;
using gpuprof::test::rewritten;

TEST_CASE("random records of every kind are written and read back byte for byte") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    const RandomProfile random(seed);
    CHECK(first_error(random.text).empty());
    CHECK(rewritten(random.text) == random.text);
  }
}

TEST_CASE("every prefix of a random profile is a readable profile") {
  for (unsigned seed = 0; seed < 3; ++seed) {
    const RandomProfile random(seed);
    for (size_t length = 1; length <= random.text.size(); length += 1 + seed) {
      const std::string prefix = random.text.substr(0, length);
      INFO("seed " << seed << ", " << length << " bytes");
      CHECK(first_error(prefix).empty());
    }
  }
}

TEST_CASE("a damaged profile is rejected, or its readable records are rewritten unchanged") {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    INFO("seed " << seed);
    const std::string text = damaged(RandomProfile(seed % 50).text, seed);
    auto reader = open_text(text, true);
    if (!reader) {
      CHECK_FALSE(reader.error().message.empty());
      continue;
    }
    std::string once;
    format_header(once);
    Tables tables;
    for (;;) {
      auto next = reader->next();
      REQUIRE(next);
      if (!next->has_value()) {
        break;
      }
      if (tables.add(**next)) {
        reader->count_bad();
        continue;
      }
      format_line(**next, once);
    }
    CHECK(first_error(once).empty());
    CHECK(rewritten(once) == once);
  }
}
