// Compares every row of real files with the output of binutils' readelf.
#include "readelf.h"

#include <fcntl.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "catch.h"
#include "loaded_image.h"
#include "own_modules.h"
#include "symbolize/elf/elf_image.h"
#include "unwind/table.h"

using namespace gpuprof;
using namespace gpuprof::unwind;

namespace {

struct Counts {
  uint64_t functions = 0;
  uint64_t rows = 0;
  uint64_t by_expression = 0;
  uint64_t not_expressible = 0;  // rows that no rule can express, in all files
  uint64_t wrong = 0;
  std::string first_wrong;
};

// Parses readelf's text function by function, and compares its rows at their first and last byte.
class Comparison {
 public:
  Comparison(const Table& table, const LoadedImage& image) : table_(table), image_(image) {}

  void line(const std::string& text) {
    const size_t pc = text.find(" pc=");
    if (text.find(" CIE ") != std::string::npos) {
      in_cie_ = true;
      current_cie_ = text.substr(0, text.find(' '));
      return;
    }
    if (pc != std::string::npos && text.find(" FDE ") != std::string::npos) {
      finish_function();
      in_cie_ = false;
      const size_t cie = text.find("cie=") + 4;
      cie_ = text.substr(cie, text.find(' ', cie) - cie);
      char* rest = nullptr;
      begin_ = std::strtoull(text.c_str() + pc + 4, &rest, 16);
      end_ = std::strtoull(rest + 2, nullptr, 16);
      has_function_ = true;
      return;
    }
    columns_or_row(text);
  }

  Counts finish() {
    finish_function();
    return counts_;
  }

 private:
  void columns_or_row(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> words;
    for (std::string word; in >> word;) {
      if (word.front() != '(') {  // "r9 (r9)": the second name of a register
        words.push_back(word);
      }
    }
    if (words.size() >= 3 && words[0] == "LOC") {
      columns_ = words;
      return;
    }
    if (words.size() < 3 || words[0].size() != 16 || words.size() != columns_.size()) {
      return;
    }
    std::string fp = "u";
    std::string ra = "u";
    for (size_t i = 2; i < words.size(); ++i) {
      fp = columns_[i] == readelf_fp ? words[i] : fp;
      ra = columns_[i] == "ra" ? words[i] : ra;
    }
    const ReadelfRule expected = readelf_rule(words[1], fp, ra);
    if (in_cie_) {
      initial_[current_cie_] = expected;
    } else {
      rows_[std::strtoull(words[0].c_str(), nullptr, 16)] = expected;
    }
  }

  void finish_function() {
    if (has_function_ && begin_ < end_) {
      ++counts_.functions;
      rows_.try_emplace(begin_, initial_[cie_]);
      for (auto row = rows_.begin(); row != rows_.end() && row->first < end_; ++row) {
        const auto next = std::next(row);
        check(row->first, row->second);
        check((next == rows_.end() ? end_ : std::min(end_, next->first)) - 1, row->second);
      }
    }
    rows_.clear();
    has_function_ = false;
  }

  void check(uint64_t pc, const ReadelfRule& expected) {
    const uint64_t found = table_.find(pc);
    const uint64_t loaded = image_.rule_at(pc);
    ++counts_.rows;
    counts_.by_expression += expected.rule ? 0 : 1;
    counts_.not_expressible += found == GPUPROF_UNWIND_NONE ? 1 : 0;
    // readelf's "exp" does not show the rule. For such rows, table_.find() and image_.rule_at() may differ, because the
    // table has a rule for each address of PLT entries that push at an unusual offset.
    const bool end = expected.may_end && GPUPROF_UNWIND_RULE_KIND(found) == GPUPROF_UNWIND_END;
    const bool right = (end || expected.rule.value_or(found) == found) && (found == loaded || !expected.rule);
    if (!right && ++counts_.wrong == 1) {
      std::ostringstream text;
      text << std::hex << pc << ": " << expected.text << "; the table has " << found << ", rule_of() says " << loaded;
      counts_.first_wrong = text.str();
    }
  }

  const Table& table_;
  const LoadedImage& image_;
  std::map<std::string, ReadelfRule> initial_;  // keyed by CIE
  std::map<uint64_t, ReadelfRule> rows_;
  std::vector<std::string> columns_;
  std::string cie_;
  std::string current_cie_;
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
  bool in_cie_ = false;
  bool has_function_ = false;
  Counts counts_;
};

std::optional<Counts> compare(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto elf = symbolize::ElfImage::parse(symbolize::ByteSource::file(fd.get()));
  const auto image = LoadedImage::of(path);
  const auto table = elf ? Table::build(*elf) : nullptr;
  if (!table || !image) {
    return std::nullopt;
  }
  const std::string command = "LC_ALL=C readelf --debug-dump=frames-interp '" + path + "' 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  Comparison comparison(*table, *image);
  char* line = nullptr;
  size_t capacity = 0;
  while (pipe && ::getline(&line, &capacity, pipe.get()) > 0) {
    comparison.line(line);
  }
  std::free(line);
  return comparison.finish();
}

// Returns the files in $GPUPROF_UNWIND_FILES (separated by ':'), or files that most machines have.
std::vector<std::string> files() {
  std::vector<std::string> found;
  const char* chosen = std::getenv("GPUPROF_UNWIND_FILES");
  std::istringstream in(chosen != nullptr
                            ? chosen
                            : own_file("/libc.so") + ":" + own_file("/ld-linux") + ":" + own_file("/libm.so") + ":" +
                                  own_file("/libstdc++.so") + ":/usr/local/cuda/lib64/libcudart.so:/usr/bin/python3");
  for (std::string path; std::getline(in, path, ':');) {
    if (::access(path.c_str(), R_OK) == 0) {
      found.push_back(path);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("rules of real files are equal to those that readelf shows", "[unwind]") {
  if (std::system("readelf --version >/dev/null 2>&1") != 0) {
    WARN("skipped: no readelf (package binutils)");
    return;
  }
  REQUIRE(!files().empty());
  for (const std::string& path : files()) {
    const auto counts = compare(path);
    if (!counts) {
      WARN("no table: " << path);
      continue;
    }
    CAPTURE(path, counts->first_wrong, counts->functions, counts->rows, counts->by_expression, counts->not_expressible);
    CHECK(counts->wrong == 0);
    CHECK(counts->functions > 10);
    CHECK(counts->not_expressible * 100 <= counts->rows);
    if (std::getenv("GPUPROF_UNWIND_FILES") != nullptr) {
      WARN(path << ": " << counts->functions << " functions, " << counts->rows << " places, " << counts->by_expression
                << " by expression, " << counts->not_expressible << " without a rule");
    }
  }
}
