// The slow program of docs/tutorial.md: heat spreads over a plate until the plate hardly changes. It spends
// most of its GPU time on checking for this after each step, with a single work-item.
//
//   example_heat [--steps N] [--check-every N]
#include <cmath>
#include <vector>

#include "setup.h"

namespace {

constexpr size_t kSide = 512;
// The loop ends when a step changes the plate by less than this. The changes of all points are summed.
constexpr float kEnough = 1e-6F;

constexpr const char* kSource = R"(
kernel void spread(global const float* now, global float* next) {
  int side = get_global_size(0), x = get_global_id(0), y = get_global_id(1), at = y * side + x;
  bool edge = x == 0 || y == 0 || x == side - 1 || y == side - 1;
  next[at] = edge ? now[at] : 0.25f * (now[at - 1] + now[at + 1] + now[at - side] + now[at + side]);
}
kernel void total_change(global const float* now, global const float* next, int cells, global float* sum) {
  float change = 0;
  for (int at = 0; at < cells; ++at) change += fabs(next[at] - now[at]);
  *sum = change;
}
)";

class Plate {
 public:
  explicit Plate(const Session& session)
      : session_(session), spread_(make_kernel(session, "spread")), change_(make_kernel(session, "total_change")) {
    std::vector<float> cells(kSide * kSide, 0.0F);
    for (size_t x = 0; x < kSide; ++x) cells[x] = 100.0F;  // this edge is hot
    now_ = buffer(cells.size(), cells.data());
    next_ = buffer(cells.size(), cells.data());
    sum_ = buffer(1, cells.data());
  }
  Plate(const Plate&) = delete;
  Plate& operator=(const Plate&) = delete;
  ~Plate() {
    for (cl_mem memory : {now_, next_, sum_}) clReleaseMemObject(memory);
    for (cl_kernel kernel : {spread_, change_}) clReleaseKernel(kernel);
  }

  void step() {
    const size_t items[] = {kSide, kSide};
    arguments(spread_, now_, next_);
    launch(spread_, 2, items);
    std::swap(now_, next_);
  }

  bool has_settled() {
    const size_t one = 1;
    const cl_int cells = kSide * kSide;
    float change = 0;
    arguments(change_, now_, next_);
    check(clSetKernelArg(change_, 2, sizeof(cells), &cells), "clSetKernelArg");
    check(clSetKernelArg(change_, 3, sizeof(sum_), &sum_), "clSetKernelArg");
    launch(change_, 1, &one);
    check(clEnqueueReadBuffer(session_.queue, sum_, CL_TRUE, 0, sizeof(change), &change, 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
    return change < kEnough;
  }

 private:
  cl_mem buffer(size_t count, float* contents) const {
    cl_int status = CL_SUCCESS;
    cl_mem memory = clCreateBuffer(session_.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, count * sizeof(float),
                                   contents, &status);
    check(status, "clCreateBuffer");
    return memory;
  }

  static void arguments(cl_kernel kernel, cl_mem now, cl_mem next) {
    check(clSetKernelArg(kernel, 0, sizeof(now), &now), "clSetKernelArg");
    check(clSetKernelArg(kernel, 1, sizeof(next), &next), "clSetKernelArg");
  }

  void launch(cl_kernel kernel, cl_uint dimensions, const size_t* items) const {
    check(clEnqueueNDRangeKernel(session_.queue, kernel, dimensions, nullptr, items, nullptr, 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
  }

  const Session& session_;
  cl_kernel spread_;
  cl_kernel change_;
  cl_mem now_ = nullptr;
  cl_mem next_ = nullptr;
  cl_mem sum_ = nullptr;
};

long simulate(Plate& plate, long steps, long check_every) {
  for (long step = 1; step <= steps; ++step) {
    plate.step();
    if (step % check_every == 0 && plate.has_settled()) {
      return step;
    }
  }
  return steps;
}

}  // namespace

int main(int argc, char** argv) {
  const long steps = option(argc, argv, "--steps", 2000);
  const long check_every = option(argc, argv, "--check-every", 1);
  const Session session = open_session(kSource);
  {
    Plate plate(session);
    const long done = simulate(plate, steps, check_every);
    check(clFinish(session.queue), "clFinish");
    std::printf("%ld steps\n", done);
  }
  close_session(session);
  return 0;
}
