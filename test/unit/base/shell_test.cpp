#include "base/text/shell.h"

#include <string>
#include <vector>

#include "catch.h"

using namespace gpuprof;

TEST_CASE("a word is quoted if a shell would interpret it") {
  CHECK(shell_word("gpuprof.0.txt") == "gpuprof.0.txt");
  CHECK(shell_word("a b") == "'a b'");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK(shell_word("$HOME") == "'$HOME'");
  CHECK(shell_word("~") == "'~'");
  CHECK(shell_words(std::vector<std::string>{"env", "A=1", "x y"}) == "env A=1 'x y'");
}
