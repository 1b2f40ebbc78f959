#include "cupti/sampling/sampling_texts.h"

#include <string>

#include "catch.h"

using namespace gpuprof::injection::cupti;

namespace {

std::string word_of(const char* name) {
  const ReasonName word = reason_name(name);
  return {word.text, word.length};
}

}  // namespace

TEST_CASE("a stall reason has the field's usual name") {
  CHECK(word_of("smsp__pcsamp_warps_issue_stalled_long_scoreboard") == "long_scoreboard");
  CHECK(word_of("smsp__pcsamp_warps_issue_stalled_selected") == "selected");
  CHECK(word_of("smsp__pcsamp_something_else") == "something_else");
  CHECK(word_of("stalled") == "stalled");
  CHECK(word_of("") == "");
}

TEST_CASE("not_issued counters are ignored, as the reason itself includes them") {
  CHECK(word_of("smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued") == "");
  CHECK(word_of("_not_issued") == "");
  CHECK(word_of("not_issued") == "not_issued");
}

TEST_CASE("an error has a remedy in one line") {
  for (uint32_t result = 1; result < 50; ++result) {
    if (const char* text = refusal_text(CUptiResult{result}); text != nullptr) {
      CHECK(std::string(text).find('\n') == std::string::npos);
      CHECK(std::string(text).size() < 220);
    }
  }
  CHECK(std::string(refusal_text(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)).find("NVreg_RestrictProfilingToAdminUsers=0") !=
        std::string::npos);
  CHECK(refusal_text(CUPTI_ERROR_MAX_LIMIT_REACHED) == nullptr);
}
