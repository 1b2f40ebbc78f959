// Names of NVTX ranges and their domains, kept for ever: a label is one that stands for its text in its domain. Whoever
// makes them known may do so long before there is a connection. Safe from any thread; reading takes no lock.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuprof::injection {

// A name in a domain; never 0. Where too many are known already, one that stands for all further ones.
using RangeLabel = uint32_t;

constexpr uint32_t kDefaultDomain = 0;
constexpr RangeLabel kMoreRanges = 1;  // stands for those that could not be kept, as its name says

// So many names are kept as they are. Of further ones all numbers become "[N]", so that a program with endless new
// names ("step 4711", "XlaModule:#program_id=12#") has a few more of them only.
constexpr uint32_t kExactLabels = 16384;

// The id of a domain; the same for the same name. Where there are too many, one that stands for the others.
uint32_t range_domain(const char* name, size_t length);

// Texts longer than 4096 bytes are cut. A name that options()->nvtx_range asks for is kept as it is.
RangeLabel range_label(uint32_t domain, const char* text, size_t length);

// The same label where it is one of this domain; else kMoreRanges.
RangeLabel checked_label(uint32_t domain, RangeLabel label);

// The label of the same name with its numbers folded; the same label where there are none, or no room.
RangeLabel folded_label(RangeLabel label);

struct RangeText {
  const char* data;  // not terminated
  uint32_t length;
};
RangeText text_of(RangeLabel label);
RangeText domain_of(RangeLabel label);

// Whether it has the name that `wanted` gives: "NAME" in any domain, or "NAME@DOMAIN"; an empty DOMAIN is the default
// one. `connection` numbers the connections: what is wanted is the same in each.
bool is_wanted(RangeLabel label, const char* wanted, uint32_t connection);

// To be called before any of the above, by any number of threads.
void init_range_names();
// In the child of a fork, where whoever held the lock is not: what it was at is published last, or not at all.
void unlock_range_names();

}  // namespace gpuprof::injection
