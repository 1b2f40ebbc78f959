// Which kernels the user chose (record --kernel). The recorder decides, because it has the regular expression.
#pragma once

#include <cstdint>

namespace gpuprof::injection::cupti {

// Returns whether the kernel with this name id is chosen. At the first call for a name, waits for the recorder's next
// poll.
[[nodiscard]] bool is_chosen_kernel(uint32_t kernel);

}  // namespace gpuprof::injection::cupti
