// The launches of variants.cu on the per-thread default stream, in their own object because nvcc selects it by a flag.
#pragma once

void launch_all_per_thread(float* data, long launches);
