#include <string>

#include "catch.h"
#include "cmd/common/describe.h"

namespace gpuprof::cmd {

// --help, the manual pages and the tables in docs/cli.md are generated from these phrases.
TEST_CASE("every option has a description of at most 80 characters") {
  constexpr size_t kLongest = 80;
  for (const CommandDescription& command : describe_commands()) {
    for (const OptionDescription& option : command.options) {
      INFO(command.name << " " << (option.is_positional() ? option.value : option.names().back()) << ": "
                        << option.text);
      CHECK_FALSE(option.text.empty());
      CHECK(option.text.size() <= kLongest);
      CHECK(option.text.find('\n') == std::string::npos);
      CHECK_FALSE(option.text.ends_with('.'));
      CHECK_FALSE(option.text.starts_with(' '));
    }
  }
}

}  // namespace gpuprof::cmd
