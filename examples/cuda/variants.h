// The launches of variants.cu on the per-thread default stream, a separate object because it is an nvcc flag.
#pragma once

void launch_all_per_thread(float* data, long launches);
