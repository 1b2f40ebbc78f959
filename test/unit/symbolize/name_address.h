// Names an address of a stack in the same way as the recorder.
#pragma once

#include <cstdint>
#include <vector>

#include "symbolize/process_maps.h"
#include "symbolize/symbolizer.h"

namespace gpuprof::symbolize::test {

inline void name_address(Symbolizer& symbolizer, const ProcessMaps& maps, uint64_t address, bool is_return_address,
                         std::vector<SymbolizedFrame>& out) {
  const uint64_t at = address - (is_return_address ? 1 : 0);
  symbolizer.user_in(maps, maps.find(at), at, out);
}

}  // namespace gpuprof::symbolize::test
