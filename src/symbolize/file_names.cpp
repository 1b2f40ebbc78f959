#include "symbolize/file_names.h"

#include <optional>
#include <utility>

#include "symbolize/debug_opener.h"
#include "symbolize/elf/elf_module.h"

namespace gpuprof::symbolize {

LocalNames::LocalNames(std::vector<std::string> debug_directories, bool debuginfod, ReadingBudget& budget)
    : debug_directories_(std::move(debug_directories)), debuginfod_(debuginfod), budget_(budget) {}
LocalNames::~LocalNames() = default;

FileNames::Found LocalNames::find(const std::shared_ptr<MappedFile>& file, const ProcessMaps& maps, uint64_t offset,
                                  uint64_t mapping_offset) {
  DebugOpener files(maps.file_access(), debuginfod_, budget_);
  auto known = modules_.find(file.get());
  if (known == modules_.end()) {
    const bool ours = file->fd && counts_as_ours(file->fd.get());
    const DebugSearch search{.directories = debug_directories_, .files = &files};
    known = modules_.emplace(file.get(), ElfModule::of_file(file, ours, search, budget_)).first;
  }
  ElfModule* const module = known->second.get();
  const std::optional<uint64_t> vaddr = module == nullptr ? std::nullopt : module->vaddr_of(offset, mapping_offset);
  return {module != nullptr, vaddr ? module->frames(*vaddr, &files) : std::vector<SymbolizedFrame>()};
}

}  // namespace gpuprof::symbolize
