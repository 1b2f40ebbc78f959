#include "output/text.h"

#include <vector>

#include "catch.h"

using namespace gpuprof;
using analyze::Origin;
using output::Caller;

namespace {

std::string callers(const std::vector<Caller>& path, size_t width) {
  return output::callers_text("  from", path, width);
}

// The callers in a step of a training script, in which torch calls CUDA.
const std::vector<Caller> kStep = {{"<module> (train.py:90)", Origin::own},
                                   {"main (train.py:80)", Origin::own},
                                   {"fetch_batch (train.py:31)", Origin::own},
                                   {"_call_impl (torch/nn/modules/module.py:1747)", Origin::library},
                                   {"at::native::copy_(at::Tensor&)", Origin::library},
                                   {"c10::cuda::memcpy_and_sync", Origin::library},
                                   {"cudaMemcpyAsync", Origin::vendor},
                                   {"cuMemcpyHtoDAsync_v2", Origin::vendor}};

}  // namespace

TEST_CASE("a path that is too wide keeps the call and the user's innermost functions") {
  CHECK(callers(kStep, 300) ==
        "  from <module> (train.py:90) -> main (train.py:80) -> fetch_batch (train.py:31) -> "
        "_call_impl (torch/nn/modules/module.py:1747) -> at::native::copy_ -> c10::cuda::memcpy_and_sync -> "
        "cudaMemcpyAsync -> cuMemcpyHtoDAsync_v2");
  CHECK(callers(kStep, 100) ==
        "  from ... -> main (train.py:80) -> fetch_batch (train.py:31) -> ... -> cuMemcpyHtoDAsync_v2");
  CHECK(callers(kStep, 75) == "  from ... -> fetch_batch (train.py:31) -> ... -> cuMemcpyHtoDAsync_v2");
  CHECK(callers(kStep, 65).starts_with("  from ... -> fetch"));
  CHECK(callers(kStep, 65).ends_with("31) -> ... -> cuMemcpyHtoDAsync_v2"));
  CHECK(callers(kStep, 20) == "  from ... -> cuMemcpyHtoDAsync_v2");
  // A recursion is shown by its innermost frame.
  const Caller walk{"walk_the_tree", Origin::own};
  CHECK(callers({{"main", Origin::own}, walk, walk, walk, walk, {"clEnqueueNDRangeKernel", Origin::vendor}}, 70) ==
        "  from main -> ... -> walk_the_tree -> clEnqueueNDRangeKernel");
  // If no frame belongs to the program itself, the innermost frames are kept.
  CHECK(callers({kStep[4], kStep[5], kStep[6], kStep[7]}, 80) ==
        "  from ... -> c10::cuda::memcpy_and_sync -> ... -> cuMemcpyHtoDAsync_v2");
}

TEST_CASE("the launch of a graph has a line of its own") {
  CHECK(callers({{"main", Origin::own}, {"replay", Origin::own}, {"[captured at]"}, {"main", Origin::own}, {"gemm"}},
                80) == "  from main -> gemm\n  launched by main -> replay");
}
