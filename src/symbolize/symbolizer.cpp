#include "symbolize/symbolizer.h"

#include <optional>
#include <unordered_map>
#include <utility>

#include "symbolize/elf/elf_module.h"
#include "symbolize/perf_map.h"

namespace gpuprof::symbolize {
namespace {

using profile::FrameKind;

SymbolizedFrame unknown_frame(const Mapping* mapping, uint64_t address) {
  SymbolizedFrame frame;
  frame.address = address;
  if (mapping == nullptr || mapping->name.empty()) {
    frame.name = "[unknown]";
    return frame;
  }
  frame.module = mapping->name;
  // The headers of the file are unknown, so this uses the file offset and not the virtual address.
  frame.address = mapping->offset + (address - mapping->start);
  frame.name = address_name(mapping->name, frame.address);
  return frame;
}

}  // namespace

struct Symbolizer::State {
  explicit State(SymbolizerOptions given) : options(std::move(given)), budget(options.limits, options.room) {}

  // The key is the address of `file`. No other file can get it, because the entry keeps the object alive.
  struct LoadedFile {
    std::shared_ptr<MappedFile> file;
    std::unique_ptr<ElfModule> module;  // null: not ELF
  };

  SymbolizerOptions options;
  ReadingBudget budget;
  std::unordered_map<const MappedFile*, LoadedFile> files;
  std::unique_ptr<ElfModule> vdso;

  ElfModule* module_of(const std::shared_ptr<MappedFile>& file, const ProcessMaps& maps);
  ElfModule* vdso_of(const ProcessMaps& maps);
  const std::vector<SymbolizedFrame>* frames_of(ElfModule& module, uint64_t vaddr, const ProcessMaps& maps);
  bool by_perf_map(const ProcessMaps& maps, uint64_t address, std::vector<SymbolizedFrame>& out);
};

// Returns the module of a file. After the time limit for naming addresses, opens no more files and returns null for
// those not yet known. Drops a file that was overwritten, because its names now belong to other code.
ElfModule* Symbolizer::State::module_of(const std::shared_ptr<MappedFile>& file, const ProcessMaps& maps) {
  auto known = files.find(file.get());
  if (known == files.end()) {
    if (!budget.in_time()) {
      return nullptr;
    }
    DebugSearch search;
    search.directories = options.debug_directories;
    search.target = maps.file_access();
    search.debuginfod = options.debuginfod;
    LoadedFile loaded{file, ElfModule::of_file(file, search, budget)};
    known = files.emplace(file.get(), std::move(loaded)).first;
  }
  if (known->second.module && !file->is_unchanged()) {
    known->second.module.reset();
  }
  return known->second.module.get();
}

ElfModule* Symbolizer::State::vdso_of(const ProcessMaps& maps) {
  if (!vdso && !maps.vdso().empty()) {
    vdso = ElfModule::of_memory(maps.vdso(), "[vdso]", budget);
  }
  return maps.vdso().empty() ? nullptr : vdso.get();
}

// After the time limit for naming addresses, returns cached frames, or null if none are cached.
const std::vector<SymbolizedFrame>* Symbolizer::State::frames_of(ElfModule& module, uint64_t vaddr,
                                                                 const ProcessMaps& maps) {
  return budget.in_time() ? &module.frames(vaddr, maps) : module.known_frames(vaddr);
}

// Names code of a just-in-time compiler. It is in anonymous memory, or in a memfd whose file has no name or no ELF
// headers.
bool Symbolizer::State::by_perf_map(const ProcessMaps& maps, uint64_t address, std::vector<SymbolizedFrame>& out) {
  PerfMap* perf_map = maps.perf_map();
  if (perf_map == nullptr) {
    return false;
  }
  if (budget.in_time()) {
    if (const auto access = perf_map->is_open() ? std::nullopt : maps.file_access(); access) {
      perf_map->open(*access);
    }
    perf_map->refresh(budget);
  }
  const std::string_view name = perf_map->find(address);
  if (name.empty()) {
    return false;
  }
  SymbolizedFrame frame;
  frame.kind = FrameKind::native;
  frame.name = name;
  frame.module = perf_map->path().substr(perf_map->path().rfind('/') + 1);
  frame.address = address;
  out.push_back(std::move(frame));
  return true;
}

Symbolizer::Symbolizer(SymbolizerOptions options) : state_(std::make_unique<State>(std::move(options))) {}
Symbolizer::~Symbolizer() = default;

void Symbolizer::user_in(const ProcessMaps& maps, const Mapping* mapping, uint64_t address,
                         std::vector<SymbolizedFrame>& out) {
  ElfModule* module = nullptr;
  if (mapping != nullptr && mapping->file) {
    module = state_->module_of(mapping->file, maps);
  } else if (mapping != nullptr && mapping->name == "[vdso]") {
    module = state_->vdso_of(maps);
  }
  if (module != nullptr) {
    const uint64_t offset = mapping->offset + (address - mapping->start);
    const std::optional<uint64_t> vaddr = module->vaddr_of(offset, mapping->offset);
    if (const auto* frames = vaddr ? state_->frames_of(*module, *vaddr, maps) : nullptr; frames != nullptr) {
      out.insert(out.end(), frames->begin(), frames->end());
      return;
    }
  }
  // If no mapping is known, the process may have ended before the recorder read its newest mappings.
  if (module == nullptr && state_->by_perf_map(maps, address, out)) {
    return;
  }
  if (mapping != nullptr && !state_->budget.in_time()) {
    state_->budget.leave_out_address();
  }
  out.push_back(unknown_frame(mapping, address));
}

ReadingBudget& Symbolizer::budget() {
  return state_->budget;
}

}  // namespace gpuprof::symbolize
