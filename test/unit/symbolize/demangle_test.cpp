

#include <algorithm>
#include <array>
#include <string>
#include <typeinfo>
#include <utility>

#include "catch.h"
#include "symbolize/symbolizer.h"

namespace gpuprof::symbolize::test {
namespace {

template <typename... Parts>
struct Bundle {};
using Deep2 = Bundle<std::pair<int, long>, std::pair<char, std::array<double, 7>>, Bundle<short, float>>;
using Deep4 = Bundle<std::pair<Deep2, unsigned>, std::pair<float, Deep2>, Bundle<Deep2, char, Deep2>>;

std::string repeat(const std::string& part, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) {
    text += part;
  }
  return text;
}

TEST_CASE("C++ names are demangled") {
  CHECK(demangle("_ZNSt6vectorIiSaIiEE9push_backERKi") ==
        "std::vector<int, std::allocator<int> >::push_back(int const&)");
  CHECK(demangle("_Z3foov") == "foo()");
  CHECK(demangle("_Z3foov.cold") == "foo() [clone .cold]");
  CHECK(demangle("_ZTI3foo") == "typeinfo for foo");
}

TEST_CASE("Rust names are demangled without their hash") {
  CHECK(demangle("_ZN4core3fmt9Formatter3pad17h1234567890abcdefE") == "core::fmt::Formatter::pad");
  CHECK(demangle("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE")
            .find("<Test + 'static as foo::Bar<Test>>::bar") == 0);
  CHECK(demangle("_RNvCs1234_7mycrate3foo") == "mycrate::foo");
  // This C++ name begins like a Rust name, but has no hash.
  CHECK(demangle("_ZN3foo17hellohellohelloxxEv") == "foo::hellohellohelloxx()");
}

TEST_CASE("names that are not mangled stay unchanged") {
  for (const char* name :
       {"", "_", "_Z", "main", "clock_gettime@plt", "_ZN", "_Znonsense", "_R", "_RNvC", "?x@@YAXXZ"}) {
    CHECK(demangle(name) == name);
  }
  const std::string nul("_Z3foov\0bar", 11);
  CHECK(demangle(nul) == nul);
}

TEST_CASE("long template names are demangled") {
  // The 400 template arguments differ: substitutions of equal ones could make the name shorter than libiberty's 1 KB.
  std::string mangled = "_Z3runIJ";
  std::string expected = "void run<";
  for (int i = 0; i < 400; ++i) {
    const std::string part = "part" + std::to_string(1000 + i);
    mangled += std::to_string(part.size()) + part;
    expected += (i == 0 ? "" : ", ") + part;
  }
  CHECK(demangle(mangled + "EEvv") == expected + ">()");
  CHECK(demangle(std::string("_Z1fI") + typeid(Deep4).name() + "Evv").find("std::array<double, 7") !=
        std::string::npos);
}

TEST_CASE("hostile names stay unchanged, in bounded time and memory") {
  std::string bomb = "_Z1fI1AIiiE";
  bomb += "S_IS0_S0_E";
  for (const char digit : std::string("123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
    bomb += std::string("S_IS") + digit + "_S" + digit + "_E";
  }
  for (const std::string& name :
       {bomb + "Evv", "_Z1f" + repeat("P", 30000) + "i", "_Z1f" + repeat("F", 30000), "_Z" + repeat("N", 30000),
        "_Z1fI" + repeat("1AI", 8000) + "i" + repeat("E", 8001) + "vv", "_Z1fIX" + repeat("nt", 10000) + "Li1EEEvv",
        "_RN" + repeat("vN", 8000), "_RNv" + repeat("B", 9000) + "_", "_Z1fv" + repeat(".a", 12000),
        "_Z1f" + repeat("PF", 10000) + "i", "_Z" + repeat("9", 200), std::string(1 << 20, 'Z')}) {
    CHECK(demangle(name).size() <= std::max<size_t>(name.size(), 64 << 10));
  }
}

}  // namespace
}  // namespace gpuprof::symbolize::test
