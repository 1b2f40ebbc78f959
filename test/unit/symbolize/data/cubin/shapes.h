// Included by inlined.cu, so that inlined functions come from two files.
#pragma once
// clang-format off
template <int Factor>
__device__ __forceinline__ float scaled(float x) {
  return __sinf(x) * Factor;
}

struct Point {
  float x, y;
  __device__ __forceinline__ float norm() const {
    return sqrtf(x * x + y * y);
  }
};
