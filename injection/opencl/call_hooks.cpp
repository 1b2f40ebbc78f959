// Times calls that compile, load or initialize, and enqueue nothing. The files that hook enqueues and allocations also
// time those calls.
#include "opencl/dispatch.h"
#include "runtime/work.h"

namespace gpuprof::injection::opencl {
namespace {

template <auto Entry, const char* Function, bool IsSlow, typename Type>
struct Timed;
template <auto Entry, const char* Function, bool IsSlow, typename Result, typename... Parameters>
struct Timed<Entry, Function, IsSlow, Result (CL_API_CALL* cl_icd_dispatch::*)(Parameters...)> {
  static Result CL_API_CALL hook(Parameters... parameters) {
    HostCall call;
    const Result result = (target.*Entry)(parameters...);
    call.end(Function, IsSlow);
    return result;
  }
};

// `slow`: every call of the function is reported. Otherwise, only calls that last GPUPROF_LONG_CALL_NS are reported.
#define GPUPROF_HOOK_TIMED(table, entry, slow)                                                       \
  do {                                                                                               \
    static constexpr char kFunction[] = #entry;                                                      \
    using Hook = Timed<&cl_icd_dispatch::entry, kFunction, slow, decltype(&cl_icd_dispatch::entry)>; \
    GPUPROF_HOOK(table, entry, Hook::hook);                                                          \
  } while (false)

}  // namespace

void hook_calls(cl_icd_dispatch& table) {
  GPUPROF_HOOK_TIMED(table, clBuildProgram, true);
  GPUPROF_HOOK_TIMED(table, clCompileProgram, true);
  GPUPROF_HOOK_TIMED(table, clLinkProgram, true);
  GPUPROF_HOOK_TIMED(table, clCreateProgramWithBinary, true);
  GPUPROF_HOOK_TIMED(table, clCreateProgramWithIL, true);
  GPUPROF_HOOK_TIMED(table, clCreateProgramWithBuiltInKernels, true);
  GPUPROF_HOOK_TIMED(table, clCreateContext, true);
  GPUPROF_HOOK_TIMED(table, clCreateContextFromType, true);
  GPUPROF_HOOK_TIMED(table, clGetDeviceIDs, false);
  GPUPROF_HOOK_TIMED(table, clCreateKernel, false);
  GPUPROF_HOOK_TIMED(table, clCreateKernelsInProgram, false);
  GPUPROF_HOOK_TIMED(table, clGetProgramInfo, false);
}

}  // namespace gpuprof::injection::opencl
