// The source file that stalls.txt refers to by line numbers. One line contains a tab.
// clang-format off
#include "kernels.h"














void step(float* data, int n) {
	const int blocks = (n + 255) / 256;

	reduce<<<blocks, 256>>>(data, n);  // waits for memory
}







void evaluate(float* data, float* out, int n) {
  attention<<<n, 128>>>(data, out, n);
}





int main() {
  float* data = allocate();
  for (int i = 0; i < 10; ++i) step(data, 1 << 20);
}
