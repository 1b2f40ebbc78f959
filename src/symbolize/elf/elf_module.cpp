#include "symbolize/elf/elf_module.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "symbolize/elf/plt.h"
#include "symbolize/elf/unwind_functions.h"
#include "symbolize/symbolizer.h"

#if __has_include(<lzma.h>)
#include <lzma.h>
#define GPUPROF_HAVE_LZMA 1
#endif

namespace gpuprof::symbolize {
namespace {

constexpr uint64_t kMaxMiniDebugInfo = 64 << 20;
constexpr uint64_t kMaxUnpacker = uint64_t{256} << 20;  // limit of the unpacker's own memory

#ifdef GPUPROF_HAVE_LZMA
// Unpacks an .xz stream. Returns an empty vector on an error, if the result exceeds `most` bytes, or if the unpacker
// needs more than `most_memory` bytes.
std::vector<uint8_t> unpack_xz(const std::vector<uint8_t>& packed, uint64_t most, uint64_t most_memory) {
  std::vector<uint8_t> unpacked(std::min<uint64_t>(most, packed.size() * 4 + 4096));
  for (;;) {
    uint64_t memory_limit = most_memory;
    const uint64_t grown = unpacked.size() * 4;
    size_t in = 0;
    size_t out = 0;
    const lzma_ret status = lzma_stream_buffer_decode(&memory_limit, 0, nullptr, packed.data(), &in, packed.size(),
                                                      unpacked.data(), &out, unpacked.size());
    if (status == LZMA_OK) {
      unpacked.resize(out);
      return unpacked;
    }
    if (status != LZMA_BUF_ERROR || unpacked.size() >= most) {
      return {};
    }
    unpacked = {};
    unpacked.resize(std::min<uint64_t>(most, grown));
  }
}
#endif

std::string_view base_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace

std::string address_name(std::string_view module, uint64_t address) {
  // Names such as "[vdso]" already have brackets.
  if (module.starts_with('[') && module.ends_with(']')) {
    module = module.substr(1, module.size() - 2);
  }
  char digits[16];
  const char* end = std::to_chars(digits, digits + sizeof digits, address, 16).ptr;
  std::string name = "[";
  name.append(base_name(module)).append("+0x").append(digits, static_cast<size_t>(end - digits)).append("]");
  return name;
}

std::unique_ptr<ElfModule> ElfModule::of_file(std::shared_ptr<MappedFile> file, bool ours, const DebugSearch& search,
                                              ReadingBudget& budget) {
  if (!file || !file->fd) {
    return nullptr;
  }
  std::unique_ptr<ElfModule> module(new ElfModule(budget));
  module->image_ = ElfImage::parse(ByteSource::file(file->fd.get()));
  if (!module->image_) {
    return nullptr;
  }
  module->name_ = file->path;
  module->file_ = std::move(file);
  module->ours_ = ours;
  module->search_ = search;
  module->load_symbols();
  module->search_.files = nullptr;
  return module;
}

std::unique_ptr<ElfModule> ElfModule::of_memory(std::vector<uint8_t> bytes, std::string name, ReadingBudget& budget) {
  std::unique_ptr<ElfModule> module(new ElfModule(budget));
  module->memory_ = std::move(bytes);
  module->image_ = ElfImage::parse(ByteSource::memory(module->memory_));
  if (!module->image_) {
    return nullptr;
  }
  module->name_ = std::move(name);
  // Pretend that the DWARF was tried, because libdw reads only files.
  module->dwarf_tried_ = true;
  module->symbols_.add(*module->image_, SHT_DYNSYM, budget);
  module->symbols_.finish();
  return module;
}

void ElfModule::load_symbols() {
  const bool stripped = symbols_.add(*image_, SHT_SYMTAB, budget_) == 0;
  if (stripped || !DwarfLines::present_in(*image_)) {
    debug_file_ = find_debug_file(*image_, name_, search_, budget_);
    debug_image_ = ElfImage::parse(ByteSource::file(debug_file_.fd.get()));
  }
  if (stripped) {
    const bool complete = debug_image_ && symbols_.add(*debug_image_, SHT_SYMTAB, budget_) != 0;
    symbols_.add(*image_, SHT_DYNSYM, budget_);
    if (!complete) {
      load_mini_debug_info();
    }
  }
  symbols_.finish();
}

// .gnu_debugdata is an .xz-packed ELF file with the local functions that .dynsym lacks.
void ElfModule::load_mini_debug_info() {
#ifdef GPUPROF_HAVE_LZMA
  const ElfSection* section = image_->section(".gnu_debugdata");
  std::vector<uint8_t> packed;
  // The packed data, the unpacked data and the unpacker need memory at the same time.
  const uint64_t part = budget_.room() / 4;
  const uint64_t most = std::min(kMaxMiniDebugInfo, part);
  if (section == nullptr || !image_->read_section(*section, most, packed)) {
    return;
  }
  mini_debug_info_ = unpack_xz(packed, most, std::min(kMaxUnpacker, part));
  if (!budget_.take_debug_info(mini_debug_info_.size(), ours_)) {
    mini_debug_info_ = {};
  }
  if (const std::optional<ElfImage> image = ElfImage::parse(ByteSource::memory(mini_debug_info_)); image) {
    symbols_.add(*image, SHT_SYMTAB, budget_);
  }
#endif
}

void ElfModule::load_dwarf(DebugFileOpener* files) {
  dwarf_tried_ = true;
  DebugSearch search = search_;
  search.files = files;
  if (DwarfLines::present_in(*image_)) {
    const DebugFile self{.fd = {}, .ours = ours_, .path = name_, .in_target_root = true};
    dwarf_ = DwarfLines::open(*image_, self, search, budget_);
  } else if (debug_image_ && DwarfLines::present_in(*debug_image_)) {
    dwarf_ = DwarfLines::open(*debug_image_, debug_file_, search, budget_);
  }
}

std::vector<SymbolizedFrame> ElfModule::frames(uint64_t vaddr, DebugFileOpener* files) {
  if (!dwarf_tried_) {
    load_dwarf(files);
  }
  SymbolizedFrame outermost;
  outermost.module = name_;
  outermost.build_id = image_->build_id();
  outermost.address = vaddr;
  if (const std::optional<FoundSymbol> symbol = symbols_.find(vaddr); symbol && !symbol->name.empty()) {
    outermost.name = demangle(symbol->name);
  } else {
    outermost.name = plt_name(vaddr);
  }
  std::vector<SourceFrame> sources;
  if (dwarf_) {
    sources = dwarf_->find(vaddr);
  }
  if (!sources.empty()) {
    if (outermost.name.empty()) {
      outermost.name = std::move(sources[0].name);
    }
    outermost.file = std::move(sources[0].file);
    outermost.line = sources[0].line;
  }
  outermost.kind = outermost.name.empty() ? profile::FrameKind::unknown : profile::FrameKind::native;
  if (outermost.name.empty()) {
    outermost.name = address_name(name_, function_begin(*image_, vaddr).value_or(vaddr));
  }
  std::vector<SymbolizedFrame> frames;
  frames.push_back(std::move(outermost));
  for (size_t i = 1; i < sources.size(); ++i) {
    SymbolizedFrame inlined = frames[0];
    inlined.kind = profile::FrameKind::inlined;
    inlined.name = sources[i].name.empty() ? "[inlined]" : std::move(sources[i].name);
    inlined.file = std::move(sources[i].file);
    inlined.line = sources[i].line;
    frames.push_back(std::move(inlined));
  }
  return frames;
}

std::string ElfModule::plt_name(uint64_t vaddr) {
  const std::string function = plt_function(*image_, vaddr);
  return function.empty() ? std::string{} : function + "@plt";
}

}  // namespace gpuprof::symbolize
