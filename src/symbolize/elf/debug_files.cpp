#include "symbolize/elf/debug_files.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include "base/clock.h"
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
  Finder(const ElfImage& image, const DebugSearch& search, ReadingBudget& budget) : image_(image), budget_(budget) {
    if (search.target) {
      roots_.push_back(*search.target);
    }
    if (search.target && search.target->root_fd != kOwnRoot) {
      roots_.push_back({kOwnRoot, search.target->rights});
    }
  }

  // Tries `path` in every root. Checks `crc` if the module or the found file has no build id.
  bool attempt(const std::string& path, const uint32_t* crc) {
    for (const FileAccess& root : roots_) {
      UniqueFd fd = open_regular(root, path);
      if (fd && accept(fd, crc)) {
        found = {std::move(fd), path, root.root_fd != kOwnRoot};
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
  ReadingBudget& budget_;
  std::vector<FileAccess> roots_;
};

bool is_debuginfod_wanted(const std::string& build_id) {
  const char* servers = std::getenv("DEBUGINFOD_URLS");
  return servers != nullptr && *servers != '\0' && !build_id.empty();
}

// Opens libdebuginfod with dlopen, because it loads a network library that most runs do not need.
UniqueFd ask_debuginfod(const std::string& build_id) {
  using Begin = void* (*)();
  using Find = int (*)(void*, const unsigned char*, int, char**);
  using End = void (*)(void*);
  void* library = ::dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return UniqueFd{};
  }
  const auto begin = reinterpret_cast<Begin>(::dlsym(library, "debuginfod_begin"));
  const auto find = reinterpret_cast<Find>(::dlsym(library, "debuginfod_find_debuginfo"));
  const auto end = reinterpret_cast<End>(::dlsym(library, "debuginfod_end"));
  UniqueFd fd;
  if (begin != nullptr && find != nullptr && end != nullptr) {
    if (void* client = begin(); client != nullptr) {
      // A length of 0 means that the build id is text.
      fd.reset(find(client, reinterpret_cast<const unsigned char*>(build_id.c_str()), 0, nullptr));
      end(client);
    }
  }
  return fd;
}

}  // namespace

DebugFile find_debug_file(const ElfImage& image, const std::string& path, const DebugSearch& search,
                          ReadingBudget& budget) {
  Finder finder(image, search, budget);
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
  DebugFile downloaded;
  if (search.debuginfod && is_debuginfod_wanted(id) && budget.may_download()) {
    const uint64_t begun = monotonic_ns();
    downloaded.fd = ask_debuginfod(id);
    budget.downloaded(monotonic_ns() - begun);
  }
  return downloaded;
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
  if (!search.target) {
    return {};
  }
  const FileAccess access = debug_file.in_target_root ? *search.target : FileAccess{kOwnRoot, search.target->rights};
  for (const std::string& candidate : candidates) {
    UniqueFd fd = candidate.starts_with('/') ? open_regular(access, candidate) : UniqueFd{};
    const std::optional<ElfImage> image = fd ? ElfImage::parse(ByteSource::file(fd.get())) : std::nullopt;
    if (image && image->build_id() == id) {
      return {std::move(fd), candidate, debug_file.in_target_root};
    }
  }
  return {};
}

}  // namespace gpuprof::symbolize
