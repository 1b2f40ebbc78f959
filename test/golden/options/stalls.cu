#include "math.cuh"

__device__ float softmax(float x, float y) { return exp_sum(x) / y; }

__global__ void attention(const float *in, float *out, int n) {
  __shared__ float rows[64];
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    sum += softmax(in[i], sum) * in[i];
  }
	__syncthreads();
  out[threadIdx.x] = rows[threadIdx.x] + sum;
}
