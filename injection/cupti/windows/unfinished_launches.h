// The recorded launches whose records CUPTI has not yet delivered, by their correlation ids. At most 65,536 are known.
#pragma once

#include <cstdint>

namespace gpuprof::injection::cupti {

void forget_launches();
// Forgets the launches that were unfinished already at the call before this one: their records will not come.
void forget_old_launches();
void launch_begun(uint32_t correlation);
void launch_ended(uint32_t correlation);  // its record has come, or will not come
[[nodiscard]] bool any_unfinished();

}  // namespace gpuprof::injection::cupti
