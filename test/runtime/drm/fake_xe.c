/*
 * What gpuprof sees of xe, without hardware: the fake GPU behind the real scheduler, with the functions of the real xe
 * that say which exec queue a job is for.
 */
#define FAKE_XE
#include "fake_gpu.c"
