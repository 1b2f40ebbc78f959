// One process that uses Level Zero and CUDA. usage: two_vendors LEVEL_ZERO_CASE COUNT [options of mock_cuda_app]
#include <cstdio>
#include <vector>

int ze_main(int argc, char** argv);
int cuda_main(int argc, char** argv);

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: two_vendors CASE COUNT [OPTION...]\n");
    return 2;
  }
  std::vector<char*> ze(argv, argv + 3);
  std::vector<char*> cuda(argv + 3, argv + argc);
  ze.push_back(nullptr);
  cuda.insert(cuda.begin(), argv[0]);
  cuda.push_back(nullptr);
  const int status = ze_main(3, ze.data());
  return status != 0 ? status : cuda_main(argc - 2, cuda.data());
}
