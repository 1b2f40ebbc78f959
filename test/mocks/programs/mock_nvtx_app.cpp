// A program for the mock driver with NVTX ranges of every kind around its launches. It prints the number of launches
// per range path as JSON: "outer/domain:inner". Ranges begin before CUDA is used.
//   mock_nvtx_app [--many N]
//   mock_nvtx_app --registered N    N ranges with names that are registered before CUDA is used
//   mock_nvtx_app --xla N    only N of the range pairs that XLA makes; the output then holds no paths
#include <cuda.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

std::map<std::string, uint64_t> expected;
CUfunction kernel = nullptr;
CUcontext context = nullptr;

void check(bool good, const char* what) {
  if (!good) {
    std::fprintf(stderr, "mock_nvtx_app: %s\n", what);
    std::exit(1);
  }
}

void launch(const std::string& path, int times = 1) {
  for (int i = 0; i < times; ++i) {
    check(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr) == CUDA_SUCCESS, "a launch failed");
  }
  expected[path] += static_cast<uint64_t>(times);
}

nvtxEventAttributes_t event_of(const char* text) {
  nvtxEventAttributes_t event = {};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = text;
  return event;
}

nvtxEventAttributes_t event_of(nvtxStringHandle_t text) {
  nvtxEventAttributes_t event = event_of("");
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = text;
  return event;
}

void set_up() {
  CUdevice device = 0;
  CUmodule module = nullptr;
  check(cuInit(0) == CUDA_SUCCESS, "cuInit failed");
  check(cuDeviceGet(&device, 0) == CUDA_SUCCESS && cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS &&
            cuCtxSetCurrent(context) == CUDA_SUCCESS && cuModuleLoadData(&module, "step 4000\n") == CUDA_SUCCESS &&
            cuModuleGetFunction(&kernel, module, "step") == CUDA_SUCCESS,
        "no kernel");
}

void nested() {
  check(nvtxRangePushA("inner") == 1, "the level of an inner push");
  launch("early/inner", 3);
  check(nvtxRangePop() == 1, "the level of an inner pop");
  launch("early", 2);
  check(nvtxRangePop() == 0, "the level of an outer pop");
  check(nvtxRangePop() < 0, "a pop without a push");
  launch("");
}

void domains() {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("lib");
  check(domain == nvtxDomainCreateW(L"lib"), "one domain for one name");
  const nvtxEventAttributes_t op = event_of(nvtxDomainRegisterStringA(domain, "op"));
  check(nvtxDomainRangePushEx(domain, &op) == 0, "the level in a domain");
  launch("lib:op", 2);
  check(nvtxRangePushW(L"Gr\u00f6\u00dfe") == 0, "the level in the default domain");
  launch("lib:op/Größe");
  check(nvtxDomainRangePop(domain) == 0, "a pop in a domain");  // ends a range that is not the innermost one
  launch("Größe");
  nvtxRangePop();
  nvtxDomainRangePushEx(domain, nullptr);
  launch("lib:[unnamed range]");
  nvtxDomainRangePop(domain);
  nvtxDomainDestroy(domain);
  nvtxMarkA("nothing to do with ranges");
  launch("");
}

// NCCL begins ranges with a name and ends them with a payload.
void payloads() {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("NCCL");
  const nvtxEventAttributes_t event = event_of("init");
  nvtxDomainRangePushEx(domain, &event);
  launch("NCCL:init");
  check(nvtxRangePopPayload(domain, nullptr, 0) == 0, "a pop with a payload");
  launch("");
  check(nvtxRangePushPayload(domain, nullptr, 0) == 0, "a push with a payload");
  launch("NCCL:[unnamed range]");
  nvtxDomainRangePop(domain);
  const nvtxRangeId_t range = nvtxRangeStartPayload(domain, nullptr, 0);
  launch("NCCL:[unnamed range]");
  nvtxRangeEndPayload(domain, range, nullptr, 0);
  launch("");
}

void on_a_thread() {
  check(cuCtxSetCurrent(context) == CUDA_SUCCESS, "no context on the thread");
  launch("whole/lib:part", 2);
  const nvtxEventAttributes_t event = event_of("on thread");
  nvtxRangePushEx(&event);
  launch("whole/lib:part/on thread", 4);  // the range is open when the thread ends
}

void process_wide() {
  const nvtxRangeId_t whole = nvtxRangeStartA("whole");
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("lib");
  const nvtxEventAttributes_t part = event_of("part");
  const nvtxRangeId_t inner = nvtxDomainRangeStartEx(domain, &part);
  std::thread(on_a_thread).join();
  launch("whole/lib:part");
  nvtxRangeEnd(whole);  // ranges need not end in the reverse order of their starts
  launch("lib:part");
  nvtxDomainRangeEnd(domain, inner);
  nvtxRangeEnd(4711);
  launch("");
}

void deep() {
  constexpr int kDepth = 80;
  constexpr int kKept = 64;
  std::string path;
  for (int i = 0; i < kDepth; ++i) {
    const std::string name = "d" + std::to_string(i);
    nvtxRangePushA(name.c_str());
    if (i < kKept) {
      path += (path.empty() ? "" : "/") + name;
    }
  }
  launch(path);
  for (int i = 0; i < kDepth; ++i) {
    nvtxRangePop();
  }
  check(nvtxRangePop() < 0, "as many pops as pushes");
  launch("");
}

void many(int count) {
  for (int i = 0; i < count; ++i) {
    nvtxRangePushA(("step " + std::to_string(i)).c_str());
    launch("step N");
    nvtxRangePop();
  }
}

// Registers names, then uses CUDA, then launches once in a range of each name.
void registered(int count) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("lib");
  std::vector<nvtxStringHandle_t> names;
  for (int i = 0; i < count; ++i) {
    names.push_back(nvtxDomainRegisterStringA(domain, ("step " + std::to_string(i)).c_str()));
  }
  set_up();
  for (const nvtxStringHandle_t name : names) {
    const nvtxEventAttributes_t event = event_of(name);
    nvtxDomainRangePushEx(domain, &event);
    launch("lib:step N");
    nvtxDomainRangePop(domain);
  }
}

void print_expected() {
  check(cuCtxSynchronize() == CUDA_SUCCESS, "the end of the work");
  const char* separator = "{";
  for (const auto& [path, count] : expected) {
    std::printf("%s\"%s\": %lu", separator, path.c_str(), count);
    separator = ", ";
  }
  std::printf("}\n");
}

uint64_t anonymous_kib() {
  uint64_t kib = 0;
  char line[256];
  std::FILE* status = std::fopen("/proc/self/status", "r");
  while (status != nullptr && std::fgets(line, sizeof(line), status) != nullptr) {
    if (std::strncmp(line, "RssAnon:", 8) == 0) {
      kib = std::strtoull(line + 8, nullptr, 10);
    }
  }
  std::fclose(status);
  return kib;
}

// Makes nested ranges of a module and a thunk whose names never repeat, like a program that compiles again and again.
void xla(int pairs) {
  constexpr int kLaunchesEach = 1;
  uint64_t halfway = 0;
  for (int i = 0; i < pairs; ++i) {
    if (i == pairs / 2) {
      halfway = anonymous_kib();
    }
    const std::string number = std::to_string(i);
    nvtxRangePushA(("XlaModule:#hlo_module=jit_f,program_id=" + number + "#").c_str());
    nvtxRangePushA(("Thunk:#name=fusion." + number + ",hlo_op=a1b2c3d4" + number + "#").c_str());
    launch("", kLaunchesEach);
    nvtxRangePop();
    nvtxRangePop();
  }
  check(cuCtxSynchronize() == CUDA_SUCCESS, "the end of the work");
  std::printf("{\"launches\": %d, \"grown_kib\": %ld}\n", pairs * kLaunchesEach,
              static_cast<long>(anonymous_kib()) - static_cast<long>(halfway));
}

}  // namespace

int main(int argc, char** argv) {
  int distinct = 0;
  if (argc == 3 && std::strcmp(argv[1], "--many") == 0) {
    distinct = std::atoi(argv[2]);
  } else if (argc == 3 && std::strcmp(argv[1], "--xla") == 0) {
    set_up();
    xla(std::atoi(argv[2]));
    return 0;
  } else if (argc == 3 && std::strcmp(argv[1], "--registered") == 0) {
    registered(std::atoi(argv[2]));
    print_expected();
    return 0;
  } else if (argc != 1) {
    std::fprintf(stderr, "usage: mock_nvtx_app [--many N | --registered N | --xla N]\n");
    return 2;
  }
  check(nvtxRangePushA("early") <= 0, "the level of the first push");
  set_up();
  nvtxRangePushA("twice");
  launch("early/twice");
  nvtxRangePop();
  nvtxRangePushA("twice");
  launch("early/twice");
  nvtxRangePop();
  nested();
  domains();
  payloads();
  process_wide();
  deep();
  many(distinct);
  print_expected();
  return 0;
}
