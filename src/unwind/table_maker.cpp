#include "unwind/table_maker.h"

#include "symbolize/elf/elf_image.h"
#include "unwind/cache/table_file.h"
#include "unwind/frame_sections.h"

namespace gpuprof::unwind {

std::optional<TableInput> read_table_input(int fd) {
  const auto image = symbolize::ElfImage::parse(symbolize::ByteSource::file(fd));
  const auto sections = image ? read_frame_sections(*image) : std::nullopt;
  return sections ? std::optional(TableInput{sections->digest(), image->segments()}) : std::nullopt;
}

std::vector<uint8_t> make_table(int fd) {
  const auto image = symbolize::ElfImage::parse(symbolize::ByteSource::file(fd));
  const auto sections = image ? read_frame_sections(*image) : std::nullopt;
  const auto table = sections ? Table::build(*image) : nullptr;
  return table ? TableFile::encode(*table, sections->digest()) : std::vector<uint8_t>();
}

std::optional<TableInput> LocalTables::read(const symbolize::MappedFile& file) {
  return read_table_input(file.fd.get());
}

std::vector<uint8_t> LocalTables::make(const symbolize::MappedFile& file) {
  return make_table(file.fd.get());
}

}  // namespace gpuprof::unwind
