#include "symbolize/gpu/disassembler.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

namespace gpuprof::symbolize {
namespace {

constexpr std::string_view kSection = "\t.section\t.text.";
constexpr size_t kMaxInstructionText = 1024;

std::optional<std::string_view> next_line(std::string_view& text) {
  if (text.empty()) {
    return std::nullopt;
  }
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// Parses "        /*0010*/              @P0 EXIT ;". The offset counts from the start of the section.
std::optional<GpuInstruction> parse_instruction(std::string_view line) {
  const size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos || !line.substr(begin).starts_with("/*")) {
    return std::nullopt;
  }
  line.remove_prefix(begin + 2);
  GpuInstruction result;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), result.offset, 16);
  line.remove_prefix(static_cast<size_t>(end - line.data()));
  if (error != std::errc() || !line.starts_with("*/")) {
    return std::nullopt;
  }
  line.remove_prefix(2);
  line = line.substr(0, std::min(line.find(';'), kMaxInstructionText));
  // Removes formatting: repeated spaces, and the braces around instructions that are issued together.
  for (const char c : line) {
    const bool blank = c == ' ' || c == '\t' || c == '{' || c == '}';
    if (!blank) {
      result.text += c;
    } else if (!result.text.empty() && result.text.back() != ' ') {
      result.text += ' ';
    }
  }
  if (result.text.ends_with(' ')) {
    result.text.pop_back();
  }
  return result.text.empty() ? std::nullopt : std::optional(std::move(result));
}

// A label ".L_x_1:" stands for the offset of the next instruction.
std::optional<std::string_view> parse_label(std::string_view line) {
  const bool is_label = line.ends_with(':') && line.find_first_of(" \t") == std::string_view::npos;
  return is_label ? std::optional(line.substr(0, line.size() - 1)) : std::nullopt;
}

// Returns the label in "BRA `(.L_x_1)".
std::string_view label_in(std::string_view text) {
  const size_t begin = text.find("`(");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin + 2, text.rfind(')') - begin - 2);
}

class Labels {
 public:
  void name_next(std::string_view label) { waiting_.push_back(label); }
  void end_section() { waiting_.clear(); }
  void at(uint64_t offset) {
    for (const std::string_view label : waiting_) {
      offsets_.try_emplace(label, offset);
    }
    waiting_.clear();
  }

  void resolve(const CubinFunction& function, std::vector<GpuInstruction>& instructions) const {
    for (GpuInstruction& each : instructions) {
      const auto found = offsets_.find(label_in(each.text));
      if (found != offsets_.end() && found->second >= function.begin &&
          found->second - function.begin < function.size) {
        each.target = found->second - function.begin;
      }
    }
  }

 private:
  std::vector<std::string_view> waiting_;
  std::unordered_map<std::string_view, uint64_t> offsets_;
};

}  // namespace

std::vector<GpuInstruction> parse_disassembly(std::string_view text, const CubinFunction& function) {
  std::vector<GpuInstruction> instructions;
  std::vector<GpuInstruction> named;
  size_t sections = 0;
  bool is_named = false;
  Labels labels;
  while (const auto line = next_line(text)) {
    if (line->starts_with("\t.section\t")) {
      const bool code = line->starts_with(kSection);
      sections += code ? 1 : 0;
      labels.end_section();
      const std::string_view name = code ? line->substr(kSection.size()) : std::string_view();
      is_named = name.substr(0, name.find(',')) == function.name;
    } else if (const auto label = parse_label(*line)) {
      labels.name_next(*label);
    } else if (auto instruction = parse_instruction(*line)) {
      labels.at(instruction->offset);
      if (instruction->offset >= function.begin && instruction->offset - function.begin < function.size) {
        instruction->offset -= function.begin;
        (is_named ? named : instructions).push_back(std::move(*instruction));
      }
    }
  }
  labels.resolve(function, named.empty() ? instructions : named);
  if (!named.empty()) {
    return named;
  }
  return sections == 1 ? instructions : std::vector<GpuInstruction>();
}

std::optional<Disassembler> Disassembler::find(std::string_view search_path) {
  while (!search_path.empty()) {
    const size_t end = std::min(search_path.find(':'), search_path.size());
    const std::string program = std::string(search_path.substr(0, end)) + "/nvdisasm";
    search_path.remove_prefix(std::min(end + 1, search_path.size()));
    struct stat info {};
    if (program.front() == '/' && ::stat(program.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
        ::access(program.c_str(), X_OK) == 0) {
      return Disassembler(program);
    }
  }
  return std::nullopt;
}

std::vector<GpuInstruction> Disassembler::run(int cubin, const CubinFunction& function, const Limits& limits) const {
  const std::string index = std::to_string(function.symbol);
  return parse_disassembly(run_on_code(program_, {"-c", "-fun", index, std::string(kCodeFile)}, cubin, limits),
                           function);
}

}  // namespace gpuprof::symbolize
