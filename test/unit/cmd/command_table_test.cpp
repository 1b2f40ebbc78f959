#include <string>

#include "catch.h"
#include "cmd/command.h"

namespace gpuprof::cmd {
namespace {

std::string similar(std::string_view name) {
  const Entry* const entry = similar_command(name);
  return entry == nullptr ? "none" : entry->name;
}

}  // namespace

TEST_CASE("every command is found by its exact name") {
  for (const Entry& entry : command_table()) {
    CHECK(find_command(entry.name) == &entry);
    CHECK(command_names().find(entry.name) != std::string::npos);
    CHECK(help_text().find(std::string("  ") + entry.name + " ") != std::string::npos);
  }
  CHECK(find_command("") == nullptr);
  CHECK(find_command("recor") == nullptr);
  CHECK(find_command("RECORD") == nullptr);
}

TEST_CASE("a similar command is suggested for a misspelt one, but not for a different word") {
  CHECK(similar("recrod") == "record");
  CHECK(similar("recor") == "record");
  CHECK(similar("records") == "record");
  CHECK(similar("falme") == "flame");
  CHECK(similar("docter") == "doctor");
  CHECK(similar("reprot") == "report");
  CHECK(similar("dmup") == "dump");
  CHECK(similar("") == "none");
  CHECK(similar("du") == "none");
  CHECK(similar("stat") == "none");
  CHECK(similar("frobnicate") == "none");
  CHECK(similar(std::string(100000, 'r')) == "none");
}

}  // namespace gpuprof::cmd
