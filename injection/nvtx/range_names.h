// Stores names of NVTX ranges and domains forever; a label is a name in a domain. Names may be registered long before
// there is a connection. Callable from any thread; reading takes no lock.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuprof::injection {

// A name in a domain; never 0. If too many names are known, one label represents all other names.
using RangeLabel = uint32_t;

constexpr uint32_t kDefaultDomain = 0;
constexpr RangeLabel kMoreRanges = 1;  // "[more ranges]": represents ranges that could not be stored

// Limit of exactly stored names. In later names, numbers become "[N]", so that programs with endless new names ("step
// 4711", "XlaModule:#program_id=12#") add only a few.
constexpr uint32_t kExactLabels = 16384;

// Returns the domain's id. If there are too many domains, one id represents all others.
uint32_t range_domain(const char* name, size_t length);

// Returns a name's label. Cuts texts longer than 4096 bytes. Always stores the name in options()->nvtx_range exactly.
RangeLabel range_label(uint32_t domain, const char* text, size_t length);

// Returns `label` if it belongs to this domain, else kMoreRanges.
RangeLabel checked_label(uint32_t domain, RangeLabel label);

// Returns the label of the name with folded numbers. Returns `label` if the name has no numbers or the table is full.
RangeLabel folded_label(RangeLabel label);

struct RangeText {
  const char* data;  // not terminated
  uint32_t length;
};
RangeText text_of(RangeLabel label);
RangeText domain_of(RangeLabel label);

// Returns whether a label matches "NAME" (any domain) or "NAME@DOMAIN"; an empty DOMAIN is the default domain. `wanted`
// must not change within a connection. `connection`: the number of the connection.
bool is_wanted(RangeLabel label, const char* wanted, uint32_t connection);

// Call it before all other functions of this file. Several threads may call it.
void init_range_names();
// Releases the lock in a forked child, where its holder may not exist. An unfinished change is not yet visible.
void unlock_range_names();

}  // namespace gpuprof::injection
