#include "record/bpf/loader_probe.h"

#include <link.h>

#include <cstddef>

#include "reader/file_symbols.h"

namespace gpuprof::record {
namespace {

enum Symbol : size_t { notice, state };

}  // namespace

bool is_loader(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("ld-linux") || (name.starts_with("ld-2.") && name.ends_with(".so"));  // before glibc 2.34
}

std::optional<LoaderProbe> find_loader_probe(reader::Process& reader, int fd) {
  const auto symbols = reader::find_symbols(reader, fd, {"_dl_debug_state", "_r_debug"});
  const symbolize::ElfSymbol* function = nullptr;
  const symbolize::ElfSymbol* debug = nullptr;
  for (const symbolize::ElfSymbol& symbol : symbols.found) {
    (symbol.wanted == notice ? function : debug) = &symbol;
  }
  if (function == nullptr || debug == nullptr || !function->code) {
    return std::nullopt;
  }
  return LoaderProbe{*function->code, debug->vaddr + offsetof(r_debug, r_state) - function->vaddr};
}

}  // namespace gpuprof::record
