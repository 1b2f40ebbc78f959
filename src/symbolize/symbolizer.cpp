#include "symbolize/symbolizer.h"

#include <optional>
#include <unordered_map>
#include <utility>

#include "symbolize/elf_module.h"
#include "symbolize/kernel_symbols.h"
#include "symbolize/perf_map.h"

namespace gpuprof::symbolize {
namespace {

using profile::FrameKind;

constexpr size_t kMaxVdsos = 16;  // one a kernel and personality

SymbolizedFrame unknown_frame(const Mapping* mapping, uint64_t address) {
  SymbolizedFrame frame;
  frame.address = address;
  if (mapping == nullptr || mapping->name.empty()) {
    frame.name = "[unknown]";
    return frame;
  }
  frame.module = mapping->name;
  // Without the file's headers the offset in the file is the best name for the place.
  frame.address = mapping->offset + (address - mapping->start);
  frame.name = address_name(mapping->name, frame.address);
  return frame;
}

}  // namespace

struct Symbolizer::State {
  explicit State(SymbolizerOptions given) : options(std::move(given)) {}

  // The key stays unique while the entry lives: it holds the file.
  struct LoadedFile {
    std::shared_ptr<MappedFile> file;
    std::unique_ptr<ElfModule> module;  // null: not ELF
  };

  SymbolizerOptions options;
  std::unordered_map<const MappedFile*, LoadedFile> files;
  std::vector<std::pair<std::vector<uint8_t>, std::unique_ptr<ElfModule>>> vdsos;
  std::optional<KernelSymbols> kernel;

  ElfModule* module_of(const std::shared_ptr<MappedFile>& file, int target_root_fd);
  ElfModule* vdso_of(const ProcessMaps& maps);
};

ElfModule* Symbolizer::State::module_of(const std::shared_ptr<MappedFile>& file, int target_root_fd) {
  const auto known = files.find(file.get());
  if (known != files.end()) {
    return known->second.module.get();
  }
  DebugSearch search;
  search.directories = options.debug_directories;
  search.target_root_fd = target_root_fd;
  search.debuginfod = options.debuginfod;
  LoadedFile loaded{file, ElfModule::of_file(file, search)};
  return files.emplace(file.get(), std::move(loaded)).first->second.module.get();
}

ElfModule* Symbolizer::State::vdso_of(const ProcessMaps& maps) {
  for (const auto& [bytes, module] : vdsos) {
    if (bytes == maps.vdso()) {
      return module.get();
    }
  }
  if (vdsos.size() >= kMaxVdsos) {
    vdsos.clear();
  }
  vdsos.emplace_back(maps.vdso(), ElfModule::of_memory(maps.vdso(), "[vdso]"));
  return vdsos.back().second.get();
}

Symbolizer::Symbolizer(SymbolizerOptions options) : state_(std::make_unique<State>(std::move(options))) {}
Symbolizer::~Symbolizer() = default;

void Symbolizer::user(const ProcessMaps& maps, uint64_t address, bool is_return_address,
                      std::vector<SymbolizedFrame>& out) {
  // A call may be the last instruction of its function, and the next line may follow it: the byte before counts.
  if (is_return_address && address > 0) {
    --address;
  }
  user_in(maps, maps.find(address), address, out);
}

void Symbolizer::user_in(const ProcessMaps& maps, const Mapping* mapping, uint64_t address,
                         std::vector<SymbolizedFrame>& out) {
  ElfModule* module = nullptr;
  if (mapping != nullptr && mapping->file) {
    module = state_->module_of(mapping->file, maps.root_fd());
  } else if (mapping != nullptr && mapping->name == "[vdso]") {
    module = state_->vdso_of(maps);
  }
  if (module != nullptr) {
    const uint64_t offset = mapping->offset + (address - mapping->start);
    if (const std::optional<uint64_t> vaddr = module->vaddr_of(offset, mapping->offset); vaddr) {
      const std::vector<SymbolizedFrame>& frames = module->frames(*vaddr, maps.root_fd());
      out.insert(out.end(), frames.begin(), frames.end());
      return;
    }
  }
  // Compiled code lies in anonymous memory, or in a file without name or headers (memfd).
  if (PerfMap* perf_map = maps.perf_map(); perf_map != nullptr && mapping != nullptr && module == nullptr) {
    perf_map->refresh(maps.root_fd());
    if (const std::string_view name = perf_map->find(address); !name.empty()) {
      SymbolizedFrame frame;
      frame.kind = FrameKind::native;
      frame.name = name;
      frame.module = perf_map->path().substr(perf_map->path().rfind('/') + 1);
      frame.address = address;
      out.push_back(std::move(frame));
      return;
    }
  }
  out.push_back(unknown_frame(mapping, address));
}

void Symbolizer::kernel(uint64_t address, std::vector<SymbolizedFrame>& out) {
  if (!state_->kernel) {
    state_->kernel = KernelSymbols::load(state_->options.kallsyms);
  }
  const KernelSymbols::Found found = state_->kernel->find(address);
  SymbolizedFrame frame;
  frame.kind = FrameKind::kernel;
  frame.name = found.name.empty() ? address_name("[kernel]", address) : std::string(found.name);
  frame.module = found.name.empty() ? "[kernel]" : std::string(found.module);
  frame.address = address;
  out.push_back(std::move(frame));
}

}  // namespace gpuprof::symbolize
