#include "cupti/probes/fat_binary.h"

#include <elf.h>
#include <zstd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "cupti/probes/lz4_block.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr uint32_t kWrapperMagic = 0x466243b1;
constexpr uint32_t kFatBinaryMagic = 0xba55ed50;
constexpr uint32_t kLinkedWrapper = 2;
constexpr size_t kMostPtx = 256u << 20;

struct Wrapper {
  uint32_t magic;
  uint32_t version;
  const void* image;
  const void* prelinked;
};
static_assert(sizeof(Wrapper) == 24);

struct FatBinaryHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_size;
  uint64_t size;  // The entries have this size.
};
static_assert(sizeof(FatBinaryHeader) == 16);

enum EntryKind : uint16_t { kPtx = 1, kElf = 2 };
enum EntryFlags : uint64_t {
  kDebug = 0x2,
  kLz4 = 0x2000,
  kZstd = 0x8000,
  kExactArch = 0x100000,
  kFamilyArch = 0x200000,
};

struct EntryHeader {
  uint16_t kind;
  uint16_t version;
  uint32_t header_size;
  uint64_t payload_size;  // with padding
  uint32_t compressed_size;
  uint32_t options_at;  // offset in this header of OptionsHeader; 0: none
  uint32_t format_version;
  uint32_t arch;
  uint32_t name_at;
  uint32_t name_size;
  uint64_t flags;
  uint64_t unused;
  uint64_t uncompressed_size;
};
static_assert(sizeof(EntryHeader) == 64);

struct OptionsHeader {
  uint32_t text_at;  // offset in the header of the entry
  uint32_t text_size;
};

struct Entry {
  EntryHeader header;
  const char* begin;  // The header starts here.
};

FoundPtx none(NoPtx why) {
  return {{nullptr, 0}, 0, why};
}

ArchVariant variant_of(uint64_t flags) {
  return (flags & kExactArch) != 0    ? ArchVariant::exact
         : (flags & kFamilyArch) != 0 ? ArchVariant::family
                                      : ArchVariant::none;
}

bool elf_runs(uint32_t arch, ArchVariant variant, uint32_t device) {
  return variant == ArchVariant::exact ? arch == device : arch / 10 == device / 10 && arch <= device;
}

bool ptx_compiles(uint32_t arch, ArchVariant variant, uint32_t device) {
  return variant == ArchVariant::none ? arch <= device : elf_runs(arch, variant, device);
}

// Returns the newest version of PTX that a driver can compile (PTX ISA, "Release Notes"): 900 for 9.0. The minor
// version of PTX is that of CUDA, but 12.6 had no version of its own. Returns 0 for drivers before 11.0.
uint32_t newest_ptx(int driver_version) {
  constexpr uint32_t kNewestKnown = 905;                                                      // of CUDA 13.5
  const uint32_t cuda = driver_version < 0 ? 0 : static_cast<uint32_t>(driver_version) / 10;  // 1206 for 12.6
  if (cuda >= 1400) {
    return kNewestKnown;
  }
  const uint32_t ptx = cuda < 1100 ? 0 : cuda - 400;
  return ptx >= 806 && ptx < 900 ? ptx - 1 : ptx;
}

// Takes the next entry from the bytes. Returns false if its sizes do not fit.
bool take_entry(const char** at, size_t* left, Entry* entry) {
  EntryHeader& header = entry->header;
  if (*left < sizeof(header)) {
    return false;
  }
  memcpy(&header, *at, sizeof(header));
  if (header.header_size < sizeof(header) || header.header_size > *left ||
      header.payload_size > *left - header.header_size) {
    return false;
  }
  entry->begin = *at;
  *at += header.header_size + header.payload_size;
  *left -= header.header_size + header.payload_size;
  return true;
}

// Returns why the options of an entry forbid to compile its PTX without them.
NoPtx check_options(const Entry& entry) {
  if ((entry.header.flags & kDebug) != 0) {
    return NoPtx::has_options;
  }
  if (entry.header.options_at == 0) {
    return NoPtx::none;
  }
  OptionsHeader options;
  const size_t size = entry.header.header_size;
  if (entry.header.options_at > size - sizeof(options)) {
    return NoPtx::unreadable;
  }
  memcpy(&options, entry.begin + entry.header.options_at, sizeof(options));
  if (options.text_at > size || options.text_size > size - options.text_at) {
    return NoPtx::unreadable;
  }
  std::string_view text(entry.begin + options.text_at, options.text_size);
  text = text.substr(0, text.find('\0'));
  while (true) {
    const size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) {
      return NoPtx::none;
    }
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    if (word == "--compile-only" || word == "-c") {
      return NoPtx::linked;
    }
    if (word != "--generate-line-info" && word != "-lineinfo" && word != "--verbose" && word != "-v" && word != "-O3") {
      return NoPtx::has_options;
    }
  }
}

// Returns a copy of the text up to the first NUL.
PtxText copy_text(const char* text, size_t most) {
  const size_t bytes = strnlen(text, most);
  char* const copy = static_cast<char*>(malloc(bytes + 1));
  if (copy != nullptr) {
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
  }
  return {copy, bytes};
}

// Returns the text of an entry, or null.
PtxText unpack(const Entry& entry) {
  const EntryHeader& header = entry.header;
  const char* const payload = entry.begin + header.header_size;
  if ((header.flags & (kZstd | kLz4)) == 0) {
    return copy_text(payload, header.payload_size);
  }
  if (header.compressed_size > header.payload_size || header.uncompressed_size > kMostPtx) {
    return {nullptr, 0};
  }
  const size_t size = header.uncompressed_size;
  char* const text = static_cast<char*>(malloc(size + 1));
  if (text == nullptr) {
    return {nullptr, 0};
  }
  const size_t written = (header.flags & kZstd) != 0
                             ? ZSTD_decompress(text, size, payload, header.compressed_size)
                             : decompress_lz4(reinterpret_cast<const unsigned char*>(payload), header.compressed_size,
                                              reinterpret_cast<unsigned char*>(text), size);
  if (written != size) {  // errors of zstd are greater than any size
    free(text);
    return {nullptr, 0};
  }
  text[size] = '\0';
  return {text, strnlen(text, size)};
}

// Returns the found text if its header agrees with the architecture and the driver can compile it. Else frees it.
FoundPtx checked(PtxText ptx, uint32_t arch, int driver_version) {
  PtxHeader header;
  NoPtx why = NoPtx::none;
  if (ptx.text == nullptr || !read_header(ptx.text, ptx.bytes, &header) || header.arch != arch) {
    why = NoPtx::unreadable;
  } else if (header.debug) {
    why = NoPtx::has_options;
  } else if (header.version > newest_ptx(driver_version)) {
    why = NoPtx::too_new;
  }
  if (why != NoPtx::none) {
    free(ptx.text);
    return none(why);
  }
  return {ptx, arch, NoPtx::none};
}

// An entry is preferred to another if its architecture is higher or, for the same architecture, more specific.
bool better(const Entry& entry, const Entry& best) {
  if (best.begin == nullptr || entry.header.arch != best.header.arch) {
    return best.begin == nullptr || entry.header.arch > best.header.arch;
  }
  return variant_of(entry.header.flags) != ArchVariant::none && variant_of(best.header.flags) == ArchVariant::none;
}

FoundPtx find_in_fat_binary(const char* image, uint32_t device, int driver_version) {
  FatBinaryHeader header;
  memcpy(&header, image, sizeof(header));
  if (header.header_size < sizeof(header) || header.size > SIZE_MAX / 2) {
    return none(NoPtx::unreadable);
  }
  const char* at = image + header.header_size;
  size_t left = header.size;
  Entry elf = {};
  Entry compiled = {};  // the PTX that the driver would compile
  Entry entry;
  // Pass 1 finds the machine code that the driver would take.
  while (left != 0) {
    if (!take_entry(&at, &left, &entry)) {
      return none(NoPtx::unreadable);
    }
    const ArchVariant variant = variant_of(entry.header.flags);
    if (entry.header.kind == kElf && elf_runs(entry.header.arch, variant, device) && better(entry, elf)) {
      elf = entry;
    }
    if (entry.header.kind == kPtx && ptx_compiles(entry.header.arch, variant, device) && better(entry, compiled)) {
      compiled = entry;
    }
  }
  // Pass 2 finds the PTX of the same architecture.
  Entry found = elf.begin == nullptr ? compiled : Entry{};
  bool any_ptx = false;
  at = image + header.header_size;
  left = header.size;
  while (left != 0 && take_entry(&at, &left, &entry)) {
    any_ptx = any_ptx || entry.header.kind == kPtx;
    if (elf.begin != nullptr && entry.header.kind == kPtx && entry.header.arch == elf.header.arch &&
        variant_of(entry.header.flags) == ArchVariant::none && variant_of(elf.header.flags) == ArchVariant::none) {
      found = entry;
    }
  }
  if (found.begin == nullptr) {
    return none(elf.begin != nullptr && !any_ptx ? NoPtx::machine_code_only : NoPtx::other_architecture);
  }
  if (elf.begin != nullptr && (elf.header.flags & kDebug) != 0) {
    return none(NoPtx::has_options);
  }
  const NoPtx why = check_options(found);
  return why != NoPtx::none ? none(why) : checked(unpack(found), found.header.arch, driver_version);
}

FoundPtx find_in_text(const char* image, uint32_t device, int driver_version) {
  const size_t bytes = strlen(image);
  PtxHeader header;
  if (!read_header(image, bytes, &header)) {
    return none(NoPtx::unreadable);
  }
  if (!ptx_compiles(header.arch, header.variant, device)) {
    return none(NoPtx::other_architecture);
  }
  return checked(copy_text(image, bytes), header.arch, driver_version);
}

// Stops at the first difference, because a text may be shorter than the magic number.
bool begins_with(const char* image, const void* magic, size_t size) {
  const char* const expected = static_cast<const char*>(magic);
  for (size_t i = 0; i < size; ++i) {
    if (image[i] != expected[i]) {
      return false;
    }
  }
  return true;
}

}  // namespace

FoundPtx find_ptx(const void* image, uint32_t device_arch, int driver_version) {
  const char* bytes = static_cast<const char*>(image);
  if (bytes != nullptr && begins_with(bytes, &kWrapperMagic, sizeof(kWrapperMagic))) {
    Wrapper wrapper;
    memcpy(&wrapper, bytes, sizeof(wrapper));
    if (wrapper.version == kLinkedWrapper) {
      return none(NoPtx::linked);
    }
    bytes = static_cast<const char*>(wrapper.image);
  }
  if (bytes == nullptr) {
    return none(NoPtx::unreadable);
  }
  if (begins_with(bytes, &kFatBinaryMagic, sizeof(kFatBinaryMagic))) {
    return find_in_fat_binary(bytes, device_arch, driver_version);
  }
  if (begins_with(bytes, ELFMAG, SELFMAG)) {
    return none(NoPtx::machine_code_only);
  }
  return find_in_text(bytes, device_arch, driver_version);
}

}  // namespace gpuprof::injection::cupti
