#include "nvtx/range_names.h"

#include <cstring>
#include <string>

#include "catch.h"
#include "child.h"
#include "nvtx/ranges.h"

using gpuprof::test::fork_child;
using gpuprof::test::wait_for;
namespace injection = gpuprof::injection;

namespace {

injection::RangeLabel label(const std::string& name) {
  return injection::range_label(injection::kDefaultDomain, name.data(), name.size());
}

std::string text(injection::RangeLabel label) {
  const injection::RangeText found = injection::text_of(label);
  return {found.data, found.length};
}

std::string folded(const std::string& name) {
  return text(injection::folded_label(label(name)));
}

// Returns the number of the failed check, or 0.
int check_folding() {
  const struct {
    const char* name;
    const char* folded;
  } kCases[] = {
      {"no digits", "no digits"},
      {"step 4711", "step [N]"},
      {"step4711", "step[N]"},
      {"7", "[N]"},
      {"", ""},
      {"XlaModule:#hlo_module=jit_f,program_id=12#", "XlaModule:#hlo_module=jit_f,program_id=[N]#"},
      {"Thunk:#name=fusion.123,hlo_op=fusion.123#", "Thunk:#name=fusion.[N],hlo_op=fusion.[N]#"},
      {"request 3fa94c1e-77b0", "request [N]-[N]"},
      {"lr=0.001", "lr=[N].[N]"},
      {"decade", "decade"},  // hexadecimal digits, but not a number
      {"conv2d_1x1", "conv[N]d_[N]x[N]"},
      {"Gr\xc3\xb6\xc3\x9f"
       "e 3",
       "Gr\xc3\xb6\xc3\x9f"
       "e [N]"},
  };
  int number = 1;
  for (const auto& one : kCases) {
    if (folded(one.name) != one.folded) {
      return number;
    }
    ++number;
  }
  return folded(std::string(8000, '1')) == "[N]" ? 0 : number;
}

// Fills the memory for names with few, long names.
int check_bytes() {
  const std::string filler(4000, 'x');
  for (int i = 0; i < 3000; ++i) {
    label(std::to_string(i) + filler);
  }
  return text(label("3001" + filler)) == "[N]" + filler ? 0 : 1;
}

int check_limits() {
  for (uint32_t i = 0; i < 3 * injection::kExactLabels; ++i) {
    const std::string name = "step " + std::to_string(i);
    // The label kMoreRanges already uses one of kExactLabels.
    if (text(label(name)) != (i + 1 < injection::kExactLabels ? name : "step [N]")) {
      return 1;
    }
  }
  if (label("step 7") == label("step 8") || label("step 4000000") != label("step 5000000")) {
    return 2;
  }
  // Names without numbers stay exact until the capacity is exhausted.
  for (uint32_t i = 0; i < 3 * injection::kExactLabels; ++i) {
    std::string name = "word ";
    for (uint32_t rest = i; rest > 0; rest /= 20) {
      name += static_cast<char>('g' + rest % 20);
    }
    const std::string kept = text(label(name));
    if (kept != name && kept != "[more ranges]") {
      return 3;
    }
  }
  return text(label("another word")) == "[more ranges]" && text(label("step 9999999")) == "step [N]" ? 0 : 4;
}

// Each check needs its own process, as names are never freed.
int in_child(int (*check)()) {
  const pid_t pid = fork_child({}, [check] {
    injection::init_ranges();
    return check();
  });
  return wait_for(pid);
}

}  // namespace

TEST_CASE("only numbers in the name of a range are folded") {
  CHECK(in_child(check_folding) == 0);
}

TEST_CASE("names that differ only in numbers are one name beyond the limit of exact names") {
  CHECK(in_child(check_limits) == 0);
}

TEST_CASE("long names are folded beyond a limit of bytes") {
  CHECK(in_child(check_bytes) == 0);
}
