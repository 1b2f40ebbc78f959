/* The parts of xe that gpuprof observes, without hardware: the fake GPU behind the real scheduler, and the functions of
 * xe that gpuprof probes. */
#define FAKE_XE
#include "fake_gpu.c"
