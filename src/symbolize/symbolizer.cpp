#include "symbolize/symbolizer.h"

#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "symbolize/elf/elf_module.h"
#include "symbolize/perf_map.h"

namespace gpuprof::symbolize {
namespace {

using profile::FrameKind;

constexpr size_t kMaxCached = 1 << 20;  // addresses
constexpr uint64_t kMinHeadroomToCache = 32 << 20;

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
  explicit State(const SymbolizerOptions& options) : budget(options.limits, options.room) {
    names = options.names ? options.names(budget)
                          : std::make_unique<LocalNames>(options.debug_directories, options.debuginfod, budget);
  }

  using Frames = std::vector<SymbolizedFrame>;
  // The key is the address of `file`. No other file can get it, because the entry keeps the object alive.
  struct KnownFile {
    std::shared_ptr<MappedFile> file;
    bool is_elf = true;
    std::map<std::pair<uint64_t, uint64_t>, Frames> frames;  // by offset, and by offset of the mapping
  };

  ReadingBudget budget;
  std::unique_ptr<FileNames> names;
  std::unordered_map<const MappedFile*, KnownFile> files;
  size_t cached = 0;
  std::unique_ptr<ElfModule> vdso;

  const Frames* in_file(const Mapping& mapping, uint64_t offset, const ProcessMaps& maps, bool& is_elf);
  bool in_vdso(const ProcessMaps& maps, uint64_t offset, Frames& out);
  bool by_perf_map(const ProcessMaps& maps, uint64_t address, Frames& out);
  void limit_cache();
};

void Symbolizer::State::limit_cache() {
  if (cached >= kMaxCached || budget.room() < kMinHeadroomToCache) {
    for (auto& file : files) {
      file.second.frames.clear();
    }
    cached = 0;
  }
}

// Returns null if there are no names. After the time limit, only known addresses have names. A file that was
// overwritten has none, because they would belong to other code.
const Symbolizer::State::Frames* Symbolizer::State::in_file(const Mapping& mapping, uint64_t offset,
                                                            const ProcessMaps& maps, bool& is_elf) {
  const bool in_time = budget.in_time();
  const auto found = files.find(mapping.file.get());
  if (found == files.end() && !in_time) {
    return nullptr;
  }
  KnownFile& known = found != files.end() ? found->second : files[mapping.file.get()];
  known.file = mapping.file;
  if (!known.is_elf || !known.file->is_unchanged()) {
    return nullptr;
  }
  auto frames = known.frames.find({offset, mapping.offset});
  if (frames == known.frames.end() && in_time) {
    limit_cache();
    FileNames::Found names_there = names->find(known.file, maps, offset, mapping.offset);
    known.is_elf = names_there.is_elf;
    frames = known.frames.emplace(std::pair(offset, mapping.offset), std::move(names_there.frames)).first;
    ++cached;
  }
  is_elf = known.is_elf;
  return frames == known.frames.end() || frames->second.empty() ? nullptr : &frames->second;
}

// The vdso is the kernel's, so this process may read it.
bool Symbolizer::State::in_vdso(const ProcessMaps& maps, uint64_t offset, Frames& out) {
  if (!vdso && !maps.vdso().empty()) {
    vdso = ElfModule::of_memory(maps.vdso(), "[vdso]", budget);
  }
  const auto vaddr = vdso && !maps.vdso().empty() ? vdso->vaddr_of(offset, 0) : std::nullopt;
  if (vaddr) {
    out = vdso->frames(*vaddr, nullptr);
  }
  return vaddr.has_value();
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

Symbolizer::Symbolizer(const SymbolizerOptions& options) : state_(std::make_unique<State>(options)) {}
Symbolizer::~Symbolizer() = default;

void Symbolizer::user_in(const ProcessMaps& maps, const Mapping* mapping, uint64_t address,
                         std::vector<SymbolizedFrame>& out) {
  bool is_elf = false;
  std::vector<SymbolizedFrame> of_vdso;
  const std::vector<SymbolizedFrame>* frames = nullptr;
  if (mapping != nullptr && mapping->file) {
    frames = state_->in_file(*mapping, mapping->offset + (address - mapping->start), maps, is_elf);
  } else if (mapping != nullptr && mapping->name == "[vdso]") {
    is_elf = state_->in_vdso(maps, mapping->offset + (address - mapping->start), of_vdso);
    frames = is_elf ? &of_vdso : nullptr;
  }
  if (frames != nullptr) {
    out.insert(out.end(), frames->begin(), frames->end());
    return;
  }
  // If no mapping is known, the process may have ended before the recorder read its newest mappings.
  if (!is_elf && state_->by_perf_map(maps, address, out)) {
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
