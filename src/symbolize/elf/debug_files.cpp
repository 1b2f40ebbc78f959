#include "symbolize/elf/debug_files.h"

#include <array>
#include <cstring>
#include <span>
#include <string_view>

#include "base/text/hex.h"

namespace gpuprof::symbolize {
namespace {

constexpr uint64_t kMaxLinkSection = 8192;

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string{} : path.substr(0, slash);
}

// Computes the CRC-32 of .gnu_debuglink (polynomial 0xedb88320, reflected). nullopt: the budget's time was over.
std::optional<uint32_t> crc32_of(const ByteSource& source, const ReadingBudget& budget) {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) {
      value = (value >> 1) ^ ((value & 1) != 0 ? 0xedb88320U : 0U);
    }
    table[i] = value;
  }
  uint32_t crc = ~0U;
  std::vector<uint8_t> chunk(size_t{256} << 10);
  uint64_t at = 0;
  while (const size_t got = source.read_some(at, chunk.data(), chunk.size())) {
    if (!budget.in_time()) {
      return std::nullopt;
    }
    for (size_t i = 0; i < got; ++i) {
      crc = table[(crc ^ chunk[i]) & 0xff] ^ (crc >> 8);
    }
    at += got;
  }
  return ~crc;
}

struct Link {
  std::string name;
  uint32_t crc = 0;
};

// .gnu_debuglink: a file name, NUL, padding to 4 bytes, the file's CRC.
std::optional<Link> debug_link(const ElfImage& image) {
  const ElfSection* section = image.section(".gnu_debuglink");
  std::vector<uint8_t> bytes;
  if (section == nullptr || !image.read_section(*section, kMaxLinkSection, bytes) || bytes.empty()) {
    return std::nullopt;
  }
  const size_t length = ::strnlen(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const size_t crc_at = (length + 4) & ~size_t{3};
  if (length == 0 || bytes.size() < 4 || crc_at > bytes.size() - 4) {
    return std::nullopt;
  }
  Link link;
  link.name.assign(reinterpret_cast<const char*>(bytes.data()), length);
  std::memcpy(&link.crc, bytes.data() + crc_at, sizeof link.crc);
  // The link must be a plain file name. A path in it could lead out of the directories that are searched.
  if (link.name.find('/') != std::string::npos || link.name == "." || link.name == "..") {
    return std::nullopt;
  }
  return link;
}

class Finder {
 public:
  Finder(const ElfImage& image, DebugFileOpener& files, ReadingBudget& budget)
      : image_(image), files_(files), budget_(budget) {}

  // Tries `path` in both roots. The target chose the name, so its root comes first. Checks `crc` if the module or the
  // found file has no build id.
  bool attempt(const std::string& path, const uint32_t* crc) {
    for (const bool in_target_root : {true, false}) {
      found = files_.open(path, in_target_root);
      if (found.fd && accept(found.fd, crc)) {
        return true;
      }
    }
    return false;
  }

  DebugFile found;

 private:
  bool accept(const UniqueFd& fd, const uint32_t* crc) {
    const std::optional<ElfImage> candidate = ElfImage::parse(ByteSource::file(fd.get()));
    if (!candidate) {
      return false;
    }
    if (!image_.build_id().empty() && !candidate->build_id().empty()) {
      return image_.build_id() == candidate->build_id();
    }
    return crc != nullptr && budget_.take_checksum(candidate->source().size()) &&
           crc32_of(candidate->source(), budget_) == *crc;
  }

  const ElfImage& image_;
  DebugFileOpener& files_;
  ReadingBudget& budget_;
};

}  // namespace

DebugFile find_debug_file(const ElfImage& image, const std::string& path, const DebugSearch& search,
                          ReadingBudget& budget) {
  if (search.files == nullptr) {
    return {};
  }
  Finder finder(image, *search.files, budget);
  const std::string& id = image.build_id();
  if (id.size() > 2) {
    for (const std::string& directory : search.directories) {
      if (finder.attempt(directory + "/.build-id/" + id.substr(0, 2) + '/' + id.substr(2) + ".debug", nullptr)) {
        return std::move(finder.found);
      }
    }
  }
  if (const std::optional<Link> link = debug_link(image); link && path.starts_with('/')) {
    const std::string beside = directory_of(path);
    std::vector<std::string> candidates = {beside + '/' + link->name, beside + "/.debug/" + link->name};
    for (const std::string& directory : search.directories) {
      candidates.push_back(directory + beside + '/' + link->name);
    }
    for (const std::string& candidate : candidates) {
      if (candidate != path && finder.attempt(candidate, &link->crc)) {
        return std::move(finder.found);
      }
    }
  }
  return id.empty() ? DebugFile() : search.files->download(id);
}

DebugFile find_alternate_file(const ElfImage& debug_image, const DebugFile& debug_file, const DebugSearch& search) {
  const ElfSection* section = debug_image.section(".gnu_debugaltlink");
  std::vector<uint8_t> bytes;
  if (section == nullptr || !debug_image.read_section(*section, kMaxLinkSection, bytes) || bytes.empty()) {
    return {};
  }
  // .gnu_debugaltlink: a file name, NUL, the build id of that file.
  const size_t length = ::strnlen(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (length == 0 || length + 1 >= bytes.size()) {
    return {};
  }
  const std::string name(reinterpret_cast<const char*>(bytes.data()), length);
  const std::string id = hex_text(std::span(bytes).subspan(length + 1));
  std::vector<std::string> candidates;
  candidates.push_back(name.starts_with('/') ? name : directory_of(debug_file.path) + '/' + name);
  if (id.size() > 2) {
    for (const std::string& directory : search.directories) {
      candidates.push_back(directory + "/.build-id/" + id.substr(0, 2) + '/' + id.substr(2) + ".debug");
    }
  }
  if (search.files == nullptr) {
    return {};
  }
  for (const std::string& candidate : candidates) {
    DebugFile file =
        candidate.starts_with('/') ? search.files->open(candidate, debug_file.in_target_root) : DebugFile();
    const std::optional<ElfImage> image = file.fd ? ElfImage::parse(ByteSource::file(file.fd.get())) : std::nullopt;
    if (image && image->build_id() == id) {
      return file;
    }
  }
  return {};
}

}  // namespace gpuprof::symbolize
