// The per-thread default stream's half of variants.cu is an object of its own: nvcc chooses by compiler flag.
#pragma once

void launch_all_per_thread(float* data, long launches);
