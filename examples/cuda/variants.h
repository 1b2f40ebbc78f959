// The launches of variants.cu on the per-thread default stream. An nvcc flag selects that stream for an object file.
#pragma once

void launch_all_per_thread(float* data, long launches);
