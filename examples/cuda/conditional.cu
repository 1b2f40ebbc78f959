// Graphs with conditional nodes (WHILE, IF, SWITCH) and a known number of kernels. CUPTI reports kernels in the
// bodies of such nodes without the launch to which they belong.
//
//   example_cuda_conditional [--rounds N]
#include "conditional.h"
#include "setup.h"

__global__ void before(int* left) {
  atomicAdd(left, 0);
}

// Runs until `left` is 0.
__global__ void looped(cudaGraphConditionalHandle handle, int* left) {
  *left -= 1;
  cudaGraphSetConditional(handle, *left > 0 ? 1 : 0);
}

__global__ void chosen(int* left) {
  atomicAdd(left, 0);
}

__global__ void first_case(int* left) {
  atomicAdd(left, 0);
}

__global__ void second_case(int* left) {
  atomicAdd(left, 0);
}

namespace {

struct Work {
  cudaStream_t stream = nullptr;
  int* left = nullptr;  // memory of the GPU
  int* few = nullptr;   // page-locked memory of the host
  int* many = nullptr;
  cudaGraphExec_t loop = nullptr;
  cudaGraphExec_t kernel_and_loop = nullptr;
};

cudaGraphNode_t add_kernel(cudaGraph_t graph, void* kernel, void** arguments) {
  cudaKernelNodeParams params = {};
  params.func = kernel;
  params.gridDim = params.blockDim = dim3(1);
  params.kernelParams = arguments;
  cudaGraphNode_t node = nullptr;
  check(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params), "cudaGraphAddKernelNode");
  return node;
}

// Adds a conditional node after `first`; if that is null, the node has no dependency. Returns the array of the node's
// `size` body graphs.
cudaGraph_t* add_condition(cudaGraph_t graph, cudaGraphConditionalNodeType type, unsigned size, unsigned value,
                           const cudaGraphNode_t* first, cudaGraphConditionalHandle* handle) {
  check(cudaGraphConditionalHandleCreate(handle, graph, value, cudaGraphCondAssignDefault),
        "cudaGraphConditionalHandleCreate");
  cudaGraphNodeParams params = {};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = *handle;
  params.conditional.type = type;
  params.conditional.size = size;
  cudaGraphNode_t node = nullptr;
#if CUDART_VERSION >= 13000
  check(cudaGraphAddNode(&node, graph, first, nullptr, first == nullptr ? 0 : 1, &params), "cudaGraphAddNode");
#else
  check(cudaGraphAddNode(&node, graph, first, first == nullptr ? 0 : 1, &params), "cudaGraphAddNode");
#endif
  return params.conditional.phGraph_out;
}

cudaGraphExec_t instantiate(cudaGraph_t graph) {
  cudaGraphExec_t exec = nullptr;
  check(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
  return exec;
}

cudaGraphExec_t make_loop(int* left, bool with_kernel) {
  cudaGraph_t graph = nullptr;
  check(cudaGraphCreate(&graph, 0), "cudaGraphCreate");
  cudaGraphNode_t first = nullptr;
  void* first_arguments[] = {&left};
  if (with_kernel) {
    first = add_kernel(graph, reinterpret_cast<void*>(before), first_arguments);
  }
  cudaGraphConditionalHandle handle = 0;
  cudaGraph_t* bodies = add_condition(graph, cudaGraphCondTypeWhile, 1, 1, with_kernel ? &first : nullptr, &handle);
  void* arguments[] = {&handle, &left};
  add_kernel(bodies[0], reinterpret_cast<void*>(looped), arguments);
  return instantiate(graph);
}

cudaGraphExec_t make_choice(int* left, cudaGraphConditionalNodeType type, unsigned value, const void* kernels[],
                            unsigned count) {
  cudaGraph_t graph = nullptr;
  check(cudaGraphCreate(&graph, 0), "cudaGraphCreate");
  cudaGraphConditionalHandle handle = 0;
  cudaGraph_t* bodies = add_condition(graph, type, count, value, nullptr, &handle);
  void* arguments[] = {&left};
  for (unsigned i = 0; i < count; ++i) {
    add_kernel(bodies[i], const_cast<void*>(kernels[i]), arguments);
  }
  return instantiate(graph);
}

void launch_loops(const Work& work, const int* trips) {
  for (cudaGraphExec_t exec : {work.loop, work.kernel_and_loop}) {
    check(cudaMemcpyAsync(work.left, trips, sizeof(int), cudaMemcpyHostToDevice, work.stream), "cudaMemcpyAsync");
    check(cudaGraphLaunch(exec, work.stream), "cudaGraphLaunch");
  }
}

__attribute__((noinline)) void loop_few(const Work& work) {
  launch_loops(work, work.few);
  asm volatile("");  // keeps this function's frame on the stack
}

__attribute__((noinline)) void loop_many(const Work& work) {
  launch_loops(work, work.many);
  asm volatile("");
}

__attribute__((noinline)) void choose_here(cudaGraphExec_t exec, cudaStream_t stream) {
  check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

__attribute__((noinline)) void choose_there(cudaGraphExec_t exec, cudaStream_t stream) {
  check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

__attribute__((noinline)) void switch_to_second(cudaGraphExec_t exec, cudaStream_t stream) {
  check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
  asm volatile("");
}

int* pinned(int value) {
  int* memory = nullptr;
  check(cudaMallocHost(&memory, sizeof(int)), "cudaMallocHost");
  *memory = value;
  return memory;
}

}  // namespace

int main(int argc, char** argv) {
  const long rounds = option(argc, argv, "--rounds", 20);
  Work work;
  check(cudaMalloc(&work.left, sizeof(int)), "cudaMalloc");
  check(cudaStreamCreate(&work.stream), "cudaStreamCreate");
  work.few = pinned(conditional::kFewTrips);
  work.many = pinned(conditional::kManyTrips);
  work.loop = make_loop(work.left, false);
  work.kernel_and_loop = make_loop(work.left, true);
  for (long i = 0; i < rounds; ++i) {
    loop_few(work);
    loop_many(work);
  }
  check(cudaStreamSynchronize(work.stream), "cudaStreamSynchronize");

  const void* one[] = {reinterpret_cast<const void*>(chosen)};
  const void* cases[] = {reinterpret_cast<const void*>(first_case), reinterpret_cast<const void*>(second_case)};
  cudaGraphExec_t choice = make_choice(work.left, cudaGraphCondTypeIf, 1, one, 1);
  cudaGraphExec_t switched = make_choice(work.left, cudaGraphCondTypeSwitch, 1, cases, 2);
  for (long i = 0; i < rounds; ++i) {
    choose_here(choice, work.stream);
    choose_there(choice, work.stream);
    switch_to_second(switched, work.stream);
  }
  check(cudaStreamSynchronize(work.stream), "cudaStreamSynchronize");
  conditional::expect_all(rounds);
  return 0;
}
