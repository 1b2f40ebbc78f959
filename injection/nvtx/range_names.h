// Stores names of NVTX ranges and domains. They are never freed. A label is a name in a domain. Names may be registered
// long before there is a connection. Callable from any thread; reading takes no lock.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuprof::injection {

// Identifies a name in a domain; never 0. If the storage is full, kMoreRanges is the label of all new names.
using RangeLabel = uint32_t;

constexpr uint32_t kDefaultDomain = 0;
// The label of ranges whose names could not be stored; its text is "[more ranges]".
constexpr RangeLabel kMoreRanges = 1;

// This many names are stored exactly. In later names, numbers become "[N]". So a program with endless new names ("step
// 4711", "XlaModule:#program_id=12#") adds only a few of them.
constexpr uint32_t kExactLabels = 16384;

// Returns the domain's id. If there are too many domains, the new ones share one id.
uint32_t range_domain(const char* name, size_t length);

// Returns a name's label. Cuts texts that are longer than 4096 bytes. The name of the wanted range always keeps its
// numbers.
RangeLabel range_label(uint32_t domain, const char* text, size_t length);

// Returns `label` if it belongs to this domain, else kMoreRanges.
RangeLabel checked_label(uint32_t domain, RangeLabel label);

// Returns the label of the name with "[N]" for each number. Returns `label` itself if the name has no numbers or the
// table is full.
RangeLabel folded_label(RangeLabel label);

struct RangeText {
  const char* data;  // The text is not terminated by a NUL.
  uint32_t length;
};
RangeText text_of(RangeLabel label);
// Returns whether the text differs from the name that the program gave.
bool is_renamed(RangeLabel label);
RangeText domain_of(RangeLabel label);

// Returns the range to which the recording is limited, also before there is a connection. Null: it is not limited.
const char* wanted_range();

// Returns whether a label matches `wanted`, which is "NAME" (any domain) or "NAME@DOMAIN" (an empty DOMAIN is the
// default domain). `connection` is the number of the connection; 0: none yet. `wanted` must not change within one.
bool is_wanted(RangeLabel label, const char* wanted, uint32_t connection);

// Call it before all other functions of this file. Several threads may call it.
void init_range_names();
// Releases the lock in a forked child, where the thread that holds it may not exist. An unfinished change is not
// visible yet.
void unlock_range_names();

}  // namespace gpuprof::injection
