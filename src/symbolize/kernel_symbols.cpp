#include "symbolize/kernel_symbols.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/unique_fd.h"

namespace gpuprof::symbolize {
namespace {

constexpr size_t kMaxText = size_t{256} << 20;
constexpr size_t kMaxReach = size_t{1} << 20;  // kallsyms has no sizes; no kernel function is larger
constexpr size_t kChunk = 256 << 10;

bool is_code(char type) {
  return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

}  // namespace

KernelSymbols KernelSymbols::load(const std::string& path) {
  KernelSymbols table;
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    return table;
  }
  std::string pending;
  std::vector<char> chunk(kChunk);
  while (table.text_.size() < kMaxText && pending.size() < kMaxText) {
    const ssize_t got = ::read(fd.get(), chunk.data(), chunk.size());
    if (got <= 0) {
      break;
    }
    pending.append(chunk.data(), static_cast<size_t>(got));
    size_t start = 0;
    for (size_t end = pending.find('\n'); end != std::string::npos; end = pending.find('\n', start)) {
      table.add_line(std::string_view(pending).substr(start, end - start));
      start = end + 1;
    }
    pending.erase(0, start);
  }
  std::stable_sort(table.symbols_.begin(), table.symbols_.end(),
                   [](const Symbol& a, const Symbol& b) { return a.address < b.address; });
  table.symbols_.shrink_to_fit();
  return table;
}

// "ffffffff81000000 T _stext" or "ffffffffc0000000 t name\t[module]".
void KernelSymbols::add_line(std::string_view line) {
  uint64_t address = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
  line.remove_prefix(static_cast<size_t>(end - line.data()));
  if (error != std::errc{} || address == 0 || line.size() < 4 || line[0] != ' ' || line[2] != ' ' ||
      !is_code(line[1])) {
    return;
  }
  line.remove_prefix(3);
  const size_t tab = line.find('\t');
  const std::string_view name = line.substr(0, tab);
  const std::string_view module = tab == std::string_view::npos ? "[kernel]" : line.substr(tab + 1);
  if (name == "_etext" || name == "_einittext") {
    symbols_.push_back({address, 0, 0});
    return;
  }
  const uint32_t module_offset = intern_module(module);
  symbols_.push_back({address, static_cast<uint32_t>(text_.size()), module_offset});
  text_ += name;
  text_ += '\0';
}

// Lines of one module stand together, so that remembering the last one is enough.
uint32_t KernelSymbols::intern_module(std::string_view module) {
  if (last_module_offset_ == 0 || module != last_module_) {
    last_module_ = module;
    last_module_offset_ = static_cast<uint32_t>(text_.size());
    text_ += module;
    text_ += '\0';
  }
  return last_module_offset_;
}

KernelSymbols::Found KernelSymbols::find(uint64_t address) const {
  const auto after = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                                      [](uint64_t wanted, const Symbol& symbol) { return wanted < symbol.address; });
  if (after == symbols_.begin()) {
    return {};
  }
  // Of several names of one address the first in the file: the sort is stable.
  const uint64_t start = std::prev(after)->address;
  const auto symbol = std::lower_bound(symbols_.begin(), after, start,
                                       [](const Symbol& one, uint64_t wanted) { return one.address < wanted; });
  if (symbol->name == 0 || address - start > kMaxReach) {
    return {};
  }
  return {text_.c_str() + symbol->name, text_.c_str() + symbol->module};
}

}  // namespace gpuprof::symbolize
