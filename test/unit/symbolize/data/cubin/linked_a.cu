// Linked with linked_b.cu into one file with two line tables. Each line table has an inlined function.
__device__ __forceinline__ float square(float x) {
  return x * x + 1.0f;
}
__device__ float distant(float x) {
  return square(x) / 3.0f;
}
