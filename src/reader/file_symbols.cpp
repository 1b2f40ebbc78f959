#include "reader/file_symbols.h"

#include <algorithm>

#include "reader/requests.h"

namespace gpuprof::reader {
namespace {

constexpr uint64_t kSearchNs = 20'000'000'000;
constexpr size_t kSymbolBytes = 5 * sizeof(uint64_t);
constexpr size_t kMaxSymbols = 4096;  // a file has one or two for each name

}  // namespace

FileSymbols find_symbols(Process& process, int fd, const std::vector<std::string_view>& names,
                         uint64_t mapping_offset) {
  Process::Request request{.message = {}, .fd = fd, .time_ns = kSearchNs};
  request.message.number(static_cast<uint64_t>(Ask::symbols)).number(mapping_offset).number(names.size());
  for (const std::string_view name : names) {
    request.message.text(name);
  }
  // After a failure, the message is empty.
  Message answer = process.ask(request).message;
  FileSymbols symbols;
  const bool is_mapped = answer.number() != 0;
  const uint64_t mapped = answer.number();
  symbols.mapped = is_mapped ? std::optional(mapped) : std::nullopt;
  for (size_t left = std::min(answer.count(kSymbolBytes), kMaxSymbols); left > 0; --left) {
    symbolize::ElfSymbol symbol{
        .wanted = answer.number(), .vaddr = answer.number(), .size = answer.number(), .code = {}};
    const bool has_code = answer.number() != 0;
    const uint64_t code = answer.number();
    symbol.code = has_code ? std::optional(code) : std::nullopt;
    if (symbol.wanted < names.size()) {
      symbols.found.push_back(symbol);
    }
  }
  return answer.ok() ? symbols : FileSymbols();
}

}  // namespace gpuprof::reader
