#include "symbolize/python_lines.h"

#include <glob.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "catch.h"

namespace gpuprof::symbolize {
namespace {

// One line of output of data/python_tables.py.
struct Sample {
  uint32_t version = 0;
  uint32_t first_line = 0;
  std::vector<uint8_t> table;
  std::map<uint32_t, uint32_t> changes;  // offset -> line from that offset on
  uint32_t size = 0;

  [[nodiscard]] PythonLines lines() const { return {version, first_line, table}; }
};

bool parse(const std::string& line, Sample* sample) {
  std::istringstream words(line);
  std::string table;
  std::string changes;
  if (!(words >> std::hex >> sample->version >> std::dec >> sample->first_line >> table >> changes >> sample->size)) {
    return false;
  }
  for (size_t i = 0; table != "-" && i + 1 < table.size(); i += 2) {
    sample->table.push_back(static_cast<uint8_t>(std::stoul(table.substr(i, 2), nullptr, 16)));
  }
  std::istringstream parts(changes);
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t colon = part.find(':');
    sample->changes[static_cast<uint32_t>(std::stoul(part))] =
        static_cast<uint32_t>(std::stoul(part.substr(colon + 1)));
  }
  return !sample->changes.empty() && sample->size != 0;
}

// Returns the number of instructions whose line differs from that of the interpreter.
uint32_t wrong_lines(const Sample& sample) {
  uint32_t wrong = 0;
  for (uint32_t offset = 0; offset < sample.size; offset += 2) {
    const uint32_t expected = std::prev(sample.changes.upper_bound(offset))->second;
    wrong += python_line(sample.lines(), offset) == expected ? 0 : 1;
  }
  return wrong;
}

std::vector<std::string> interpreters() {
  std::vector<std::string> found;
  std::vector<std::string> patterns = {"/usr/bin/python3.?", "/usr/bin/python3.??", "/usr/local/bin/python3.??"};
  if (const char* home = std::getenv("HOME"); home != nullptr) {
    patterns.push_back(std::string(home) + "/.pyenv/versions/3.*/bin/python3");
  }
  for (const std::string& pattern : patterns) {
    glob_t paths = {};
    if (glob(pattern.c_str(), 0, nullptr, &paths) == 0) {
      found.insert(found.end(), paths.gl_pathv, paths.gl_pathv + paths.gl_pathc);
    }
    globfree(&paths);
  }
  return found;
}

std::vector<std::string> output_lines(const std::string& command) {
  std::string all;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) {
    return {};
  }
  char part[65536];
  for (size_t got = 0; (got = fread(part, 1, sizeof(part), pipe)) > 0;) {
    all.append(part, got);
  }
  std::vector<std::string> lines;
  if (pclose(pipe) == 0) {
    std::istringstream text(all);
    for (std::string line; std::getline(text, line);) {
      lines.push_back(line);
    }
  }
  return lines;
}

}  // namespace

TEST_CASE("lines of tables from each CPython version are correct") {
  std::ifstream file(GPUPROF_TEST_DATA "/python_tables.txt");
  std::set<uint32_t> versions;
  uint32_t instructions = 0;
  for (std::string line; std::getline(file, line);) {
    Sample sample;
    REQUIRE(parse(line, &sample));
    INFO(line);
    CHECK(wrong_lines(sample) == 0);
    versions.insert(sample.version >> 16U);
    instructions += sample.size / 2;
  }
  CHECK(versions == std::set<uint32_t>{0x309, 0x30a, 0x30b, 0x30c, 0x30d, 0x30e});
  CHECK(instructions > 2000);
}

TEST_CASE("lines of the standard library are those of the installed interpreters") {
  for (const std::string& python : interpreters()) {
    const auto lines =
        output_lines(python + " " GPUPROF_TEST_DATA "/python_tables.py argparse asyncio.base_events 2>/dev/null");
    uint32_t codes = 0;
    uint32_t wrong = 0;
    for (const std::string& line : lines) {
      Sample sample;
      REQUIRE(parse(line, &sample));
      if (sample.version < 0x03090000 || sample.version >= 0x030f0000) {
        continue;
      }
      ++codes;
      wrong += wrong_lines(sample);
    }
    if (codes == 0) {
      std::cerr << "skipped: " << python << " is not of 3.9 to 3.14, or does not run\n";
      continue;
    }
    INFO(python);
    CHECK(wrong == 0);
    CHECK(codes > 200);
  }
}

TEST_CASE("a frame that has not begun, and code without a table, have the first line") {
  const std::vector<uint8_t> table = {0x02, 0x05};
  CHECK(python_line({0x030a0df0, 40, table}, UINT32_MAX) == 40);
  CHECK(python_line({0x030a0df0, 40, table}, 0) == 45);
  CHECK(python_line({0x030b0df0, 40, {}}, 10) == 40);
}

TEST_CASE("an offset beyond the table has no line") {
  const std::vector<uint8_t> ranges = {0x02, 0x05};
  CHECK(python_line({0x030a0df0, 40, ranges}, 2) == 0);
  const std::vector<uint8_t> locations = {0x80 | 11 << 3, 0x00, 0x00};
  CHECK(python_line({0x030c0df0, 40, locations}, 0) == 41);
  CHECK(python_line({0x030c0df0, 40, locations}, 2) == 0);
}

TEST_CASE("random tables are read without a crash") {
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> table(random() % 40);
    for (uint8_t& byte : table) {
      byte = static_cast<uint8_t>(random());
    }
    const auto version = static_cast<uint32_t>(0x03090000 + (random() % 6 << 16U));
    const auto first = static_cast<uint32_t>(random());
    for (const uint32_t offset : {0U, 2U, 100U, 0x7fffffffU, 0xfffffffeU}) {
      CHECK(python_line({version, first & 0x7fffffffU, table}, offset) <= 0x7fffffffU);
    }
  }
}

}  // namespace gpuprof::symbolize
