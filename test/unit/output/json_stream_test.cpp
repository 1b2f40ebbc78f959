#include "output/json_stream.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "catch.h"
#include "output/text.h"

using namespace gpuprof;
using namespace gpuprof::output;

TEST_CASE("any bytes become a valid JSON string") {
  CHECK(json_string("") == R"("")");
  CHECK(json_string("a \"b\" \\c</script>") == R"("a \"b\" \\c</script>")");
  CHECK(json_string("h\xC3\xA9llo \xE2\x82\xAC") == "\"h\xC3\xA9llo \xE2\x82\xAC\"");
  CHECK(json_string("\xFF\xC3(") == R"("\\xff\\xc3(")");
  CHECK(json_string("\x1B[31m\n\x7F") == R"("\\x1b[31m\\x0a\\x7f")");
  CHECK(json_string(std::string("nul\0byte", 8)) == R"("nul\\x00byte")");
  CHECK(json_string("\xE2\x80\xAE") == R"("\\xe2\\x80\\xae")");  // right-to-left override
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    all += static_cast<char>(byte);
  }
  CHECK(nlohmann::json::accept(json_string(all)));
}

TEST_CASE("a value with bytes that are not UTF-8 is written with replacement characters") {
  CHECK(json_text(Json{{"a\xFF", "b\xC3("}}) == "{\"a\xEF\xBF\xBD\":\"b\xEF\xBF\xBD(\"}");
  CHECK(json_text(Json{{"a", 1}}, 2) == "{\n  \"a\": 1\n}");
}

TEST_CASE("members are separated by commas, and 64-bit numbers are exact") {
  std::string out;
  {
    JsonObject object(out);
    object.number("most", UINT64_MAX);
    object.flag("yes", true);
    object.word("word", "ns");
    object.text("text", "\"\xFE");
    object.escaped_key("key\"\xFE") += "1";
    object.value("value", Json{{"z", UINT64_MAX}, {"a", {1, 2}}});
    JsonObject inner(object.key("empty"));
  }
  CHECK(out == R"({"most":18446744073709551615,"yes":true,"word":"ns","text":"\"\\xfe","key\"\\xfe":1,)"
               R"("value":{"z":18446744073709551615,"a":[1,2]},"empty":{}})");
}

TEST_CASE("a path is written in pieces, even with very long frames") {
  const std::string frame(2 * kMostShownBytes, 'f');
  const std::vector<std::string_view> frames(100, frame);
  size_t written = 0;
  size_t largest = 0;
  TextStream stream([&](std::string_view piece) {
    written += piece.size();
    largest = std::max(largest, piece.size());
    return Status();
  });
  json_path(frames, stream.text(), stream);
  REQUIRE(stream.finish());
  CHECK(written > 100 * kMostShownBytes);
  CHECK(largest < 3 * kMostShownBytes);
}
