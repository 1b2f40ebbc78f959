// Compiled with -G, so nothing is inlined.
__device__ float add(float a, float b) {
  return a + b;
}
__global__ void sum(float* values) {
  values[0] = add(values[1], values[2]);
}
