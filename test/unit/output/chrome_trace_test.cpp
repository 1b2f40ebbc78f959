// The structure of traces is checked by test/golden/options/check_chrome.py; here, that nothing in a profile breaks
// them.
#include "output/chrome_trace.h"

#include <string>

#include "catch.h"
#include "profile/random_profile.h"
#include "profile/tables.h"
#include "profile/text_input.h"

using namespace gpuprof;

namespace {

const analyze::StackOptions kShown;

struct Exported {
  std::string text;
  uint64_t events = 0;
  uint64_t left_out = 0;
};

Exported exported(const std::string& profile) {
  Exported out;
  auto reader = test::open_text(profile, true);
  if (!reader) {
    return out;
  }
  profile::Tables tables;
  output::ChromeTrace trace(tables, kShown, [&](std::string_view text) {
    out.text += text;
    return Status();
  });
  for (;;) {
    const auto next = reader->next();
    REQUIRE(next);
    if (!next->has_value()) {
      break;
    }
    if (!tables.add(**next)) {
      REQUIRE(trace.add(**next));
    }
  }
  REQUIRE(trace.finish());
  out.events = trace.events();
  out.left_out = trace.left_out();
  return out;
}

// Brackets match, strings end, and no byte in one is a control byte or a bad escape.
bool is_well_formed(const std::string& json) {
  std::string open;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (static_cast<unsigned char>(c) < 0x20) {
        return false;
      }
      if (c == '\\') {
        ++i;
        if (i == json.size() || (json[i] != '"' && json[i] != '\\')) {
          return false;
        }
      }
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      open += c;
    } else if (c == '}' || c == ']') {
      if (open.empty() || open.back() != (c == '}' ? '{' : '[')) {
        return false;
      }
      open.pop_back();
    }
  }
  return open.empty() && !in_string;
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

}  // namespace

TEST_CASE("a trace shows every event, call and range once") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    const test::RandomProfile random(seed);
    const Exported trace = exported(random.text);
    CHECK(trace.events == random.events);
    CHECK(is_well_formed(trace.text));
    const size_t shown =
        count(trace.text, "{\"ph\":\"X\"") + count(trace.text, "{\"ph\":\"i\"") + count(trace.text, "{\"ph\":\"b\"");
    CHECK(shown == random.events - trace.left_out);
    CHECK(count(trace.text, "{\"ph\":\"s\"") == count(trace.text, "{\"ph\":\"f\""));
    CHECK(count(trace.text, "{\"ph\":\"b\"") == count(trace.text, "{\"ph\":\"e\""));
  }
}

TEST_CASE("a damaged profile makes a trace that can be read") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    INFO("seed " << seed);
    const Exported trace = exported(test::damaged(test::RandomProfile(seed % 20).text, seed));
    CHECK(is_well_formed(trace.text));
  }
}

TEST_CASE("a trace ends with the first failure of its file") {
  profile::Tables tables;
  output::ChromeTrace trace(tables, kShown, [](std::string_view) -> Status { return Error{"disk full"}; });
  const Status finished = trace.finish();
  REQUIRE_FALSE(finished);
  CHECK(finished.error().message == "disk full");
}
