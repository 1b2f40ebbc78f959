#include "analyze/stalls/iaprof_lines.h"

#include <array>
#include <cstdio>
#include <string_view>
#include <unordered_map>

#include "base/hash.h"
#include "base/text/utf8.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

std::string hexadecimal(uint64_t value) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(value));
  return text.data();
}

class LineTexts {
 public:
  explicit LineTexts(const Aggregate& rows) : rows_(rows), tables_(rows.tables) {}

  std::string line(const SampleRow& row) {
    const p::Work& work = rows_.work(row);
    const p::Process* const process = tables_.process(work.process);
    const p::GpuPlace* const place = tables_.gpu_place(row.key.place);
    const p::GpuModule* const module = place == nullptr ? nullptr : tables_.gpu_module(place->module);
    std::string text = name(process == nullptr ? p::StringId{} : process->name) + ";" +
                       std::to_string(process == nullptr ? 0 : process->pid) + ";";
    text += frames(false, work.ustack) + frames(true, work.kstack) + "-;";
    text += name(module == nullptr ? p::StringId{} : module->name) + "_[G];" + name(work.name) + "_[G];";
    text += name(place == nullptr ? p::StringId{} : place->instruction) + "_[g];" + name(row.key.reason) + "_[g];";
    return text + hexadecimal(place == nullptr ? 0 : place->offset) + "_[g]";
  }

 private:
  // iaprof prints nothing for a text that is missing, since October 2025. Before, it printed "<missing string>".
  std::string name(p::StringId id) const { return index(id) == 0 ? std::string() : plain(tables_.text(id)); }

  // Removes line breaks and frame separators.
  static std::string plain(std::string_view text) {
    std::string out(text.empty() ? std::string_view("[unknown]") : text);
    for (char& c : out) {
      c = c == ';' ? ':' : static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    }
    return escaped(out);
  }

  // Returns the frames, each followed by a ';'.
  const std::string& frames(bool kernel, p::StackId id) {
    const auto [known, is_new] = stacks_.try_emplace(join_ids(kernel ? 1 : 0, index(id)));
    if (is_new && index(id) != 0) {
      for (const p::Element element : tables_.stack(kernel, id)) {
        known->second += plain(text_of(element)) + ";";
      }
    }
    return known->second;
  }

  // Imported profiles have labels and addresses instead of frames.
  [[nodiscard]] std::string_view text_of(p::Element element) const {
    return element.is_label ? tables_.label(element) : tables_.text(tables_.frame(element).name);
  }

  const Aggregate& rows_;
  const p::Tables& tables_;
  std::unordered_map<uint64_t, std::string> stacks_;
};

}  // namespace

Status add_iaprof_lines(const Aggregate& rows, IaprofLines& lines) {
  constexpr size_t kMostBytes = size_t{512} << 20;
  LineTexts texts(rows);
  size_t bytes = 0;
  for (const auto& [line, count] : lines) {
    bytes += line.size();
  }
  for (const SampleRow& row : rows.samples) {
    const auto [known, is_new] = lines.try_emplace(texts.line(row), 0);
    bytes += is_new ? known->first.size() : 0;
    if (bytes > kMostBytes) {
      return Error{"the folded lines are more than 512 MiB",
                   "import a profile instead, and fold it with `gpuprof flame`"};
    }
    if (__builtin_add_overflow(known->second, row.count, &known->second)) {
      return Error{"the sum of all samples exceeds 64 bits", "import the profiles one by one"};
    }
  }
  return {};
}

}  // namespace gpuprof::analyze
