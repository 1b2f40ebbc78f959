// Compares the rules of hand-written functions with those that a processor's test expects.
#pragma once

#include <fcntl.h>
#include <link.h>

#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "catch.h"
#include "frame_bytes.h"
#include "own_modules.h"
#include "symbolize/elf/elf_image.h"
#include "unwind/table.h"

extern "C" {
extern const char snippet_frame_entry[], snippet_debug_frame[];
}

namespace gpuprof::unwind {

inline uint64_t address(const char* place) {
  return reinterpret_cast<uint64_t>(place);
}

// `in_debug_frame`: the rule of a function that only .debug_frame describes.
inline void check_snippets(const std::vector<std::pair<const char*, uint64_t>>& expected, uint64_t in_debug_frame) {
  const UniqueFd fd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const auto elf = symbolize::ElfImage::parse(symbolize::ByteSource::file(fd.get()));
  REQUIRE(elf);
  const auto table = Table::build(*elf);
  REQUIRE(table);
  const OwnModule module = OwnModule::at(address(snippet_frame_entry));
  REQUIRE(module.header != 0);
  for (const auto& [place, rule] : expected) {
    CAPTURE(&place - &expected.front().first, address(place) - module.bias);
    CHECK(table->find(address(place) - module.bias) == rule);
    CHECK(module.rule_at(address(place)) == rule);
  }
  // .debug_frame is only in the file, not in memory, so the module has no rule for this function.
  CHECK(module.rule_at(address(snippet_debug_frame)) == kNoRule);
  CHECK(table->find(address(snippet_debug_frame) - module.bias) == in_debug_frame);
}

}  // namespace gpuprof::unwind
