#include "ipc/process_state.h"

namespace gpuprof::injection {

extern const uint32_t always_alive = 1;

constinit ProcessState process_state = {
    kNotStarted, 0, nullptr, &always_alive, nullptr, false, {}, {}, {}, 0,
};

}  // namespace gpuprof::injection
