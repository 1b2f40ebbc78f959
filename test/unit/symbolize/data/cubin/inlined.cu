// Functions inlined three deep, templates, a lambda, and a function that is not inlined. Compiled by make_cubins.sh.
#include "shapes.h"
// clang-format off
namespace app {

template <class T>
__device__ __forceinline__ T middle(T x) {
  T y = scaled<3>(x);
  return y + scaled<5>(y);
}

__device__ __forceinline__ float outer(float x) {
  return middle<float>(x) + 1.0f;
}

template <class Function>
__device__ __forceinline__ float apply(Function function, float x) {
  return function(x) + function(x + 2.0f);
}

}  // namespace app

__device__ __noinline__ float callee(float x) {
  return x / app::outer(x);
}

template <class T>
__global__ void kernel(T* values, int count) {
  const int i = threadIdx.x;
  if (i < count) {
    values[i] = app::outer(values[i]);
    values[i] += callee(values[i]);
  }
}
template __global__ void kernel<float>(float*, int);

extern "C" __global__ void plain(float* values) {
  const auto norm = [&](float x) {
    return Point{x, values[1]}.norm();
  };
  values[threadIdx.x] = app::apply(norm, values[blockIdx.x]);
}

extern "C" __global__ void looped(float* values, int count) {
  float sum = 0;
#pragma unroll 4
  for (int i = 0; i < count; ++i) {
    sum += app::middle(values[i]);
  }
  values[0] = sum;
}
