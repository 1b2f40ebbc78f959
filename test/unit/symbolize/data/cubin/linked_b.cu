extern __device__ float distant(float x);
__device__ __forceinline__ float twice(float x) {
  return distant(x) + distant(x + 2.0f);
}
__global__ void far_kernel(float* values) {
  values[threadIdx.x] = twice(values[threadIdx.x]);
}
