// The launches of variants.cu on the per-thread default stream. An nvcc flag selects this stream for a complete object
// file.
#pragma once

void launch_all_per_thread(float* data, long launches);
