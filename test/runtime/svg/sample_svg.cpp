// Writes flame graphs for the browser test and for inspection: `sample_svg DIR`.
//   deep.svg     Python, C++, kernel space and GPU frames, about 700, the deepest path 40 levels
//   hostile.svg  names that try to break out of the text in which they are printed
//   narrow.svg   frames that are invisible until zoomed
//   graphs.svg   NVTX ranges, CUDA graphs and ranks
//   empty.svg    no GPU work
//   large.svg    100,000 frames
//   inverted.svg deep.svg, inverted
//   page.html    a page with tables, whose names try to break out of their cells
#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/paths/flame_tree.h"
#include "analyze/paths/inverted.h"
#include "analyze/rows/summarize.h"
#include "output/picture/html.h"
#include "output/picture/svg.h"

namespace {

using gpuprof::analyze::FlameTree;
using gpuprof::analyze::FrameClass;
using gpuprof::analyze::NodeId;
using Path = std::vector<std::pair<std::string, FrameClass>>;

NodeId grow(FlameTree& tree, NodeId from, const Path& path) {
  for (const auto& [name, cls] : path) from = tree.child(from, name, cls);
  return from;
}

// Gives the same numbers on every machine and run.
class Numbers {
 public:
  uint64_t below(uint64_t bound) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state_ >> 33) % bound;
  }

 private:
  uint64_t state_ = 42;
};

const std::array<std::string_view, 6> kLayers{"Linear", "LayerNorm", "MultiheadAttention",
                                              "GELU",   "Dropout",   "Embedding"};

Path python_path(std::string_view step) {
  return {{"_start", FrameClass::native},
          {"__libc_start_main@@GLIBC_2.34", FrameClass::native},
          {"Py_BytesMain", FrameClass::native},
          {"Py_RunMain", FrameClass::native},
          {"<module> (train.py:212)", FrameClass::python},
          {"main (train.py:188)", FrameClass::python},
          {"train_epoch (train.py:141)", FrameClass::python},
          {std::string(step), FrameClass::python}};
}

std::string elementwise(uint64_t which) {
  static constexpr std::array<std::string_view, 4> kFunctors{
      "CUDAFunctor_add<float>", "AUnaryFunctor<float, MulFunctor>", "BinaryFunctor<c10::BFloat16, DivFunctor>",
      "FillFunctor<float>"};
  return "void at::native::vectorized_elementwise_kernel<4, at::native::" + std::string(kFunctors[which % 4]) +
         ", std::array<char*, 3ul>>(int, at::native::" + std::string(kFunctors[which % 4]) +
         ", std::array<char*, 3ul>)";
}

void add_layer(FlameTree& tree, NodeId from, std::string_view layer, uint64_t block, Numbers& numbers) {
  NodeId at = grow(
      tree, from,
      {{"_call_impl (torch/nn/modules/module.py:1773)", FrameClass::python},
       {"forward (model.py:" + std::to_string(40 + 7 * block) + ")", FrameClass::python},
       {"_wrapped_call_impl (torch/nn/modules/module.py:1762)", FrameClass::python},
       {"forward (torch/nn/modules/" + std::string(layer) + ".py:125)", FrameClass::python},
       {"torch::autograd::THPVariable_method(_object*, _object*, _object*)", FrameClass::native},
       {"at::_ops::" + std::string(layer) + "::call(at::Tensor const&, at::Tensor const&)", FrameClass::native},
       {"c10::Dispatcher::callBoxed(c10::OperatorHandle const&, std::vector<c10::IValue>*) const", FrameClass::inlined},
       {"at::native::structured_" + std::string(layer) + "_out_cuda::impl(at::Tensor const&)", FrameClass::native}});
  const uint64_t kernels = 2 + numbers.below(5);
  for (uint64_t k = 0; k < kernels; ++k) {
    const NodeId launch = grow(tree, at,
                               {{"at::native::launch_vectorized_kernel<" + std::to_string(k) + ">", FrameClass::native},
                                {"cudaLaunchKernel", FrameClass::native}});
    const NodeId kernel =
        tree.child(launch, k == 0 ? "ampere_bf16_s16816gemm_128x128_ldg8_f2f_stages_32x5_tn" : elementwise(k + block),
                   FrameClass::gpu);
    tree.add(kernel, {40'000 + numbers.below(k == 0 ? 9'000'000 : 700'000), 60 + numbers.below(40), 0});
  }
}

FlameTree deep_tree() {
  FlameTree tree;
  Numbers numbers;
  const NodeId process = grow(tree, FlameTree::kRoot, {{"python3 train.py --model llama-60m", FrameClass::process}});
  const NodeId forward = grow(tree, process, python_path("forward_step (train.py:97)"));
  const NodeId backward = grow(tree, process, python_path("backward_step (train.py:109)"));
  for (uint64_t block = 0; block < 6; ++block) {
    for (const std::string_view layer : kLayers) {
      add_layer(tree, forward, layer, block, numbers);
      if (block % 2 == 0) {
        add_layer(tree, grow(tree, backward, {{"torch::autograd::Engine::evaluate_function(...)", FrameClass::native}}),
                  layer, block + 9, numbers);
      }
    }
  }
  const NodeId copy = grow(tree, process, python_path("load_batch (data.py:33)"));
  const NodeId ioctl = grow(tree, copy,
                            {{"cudaMemcpyAsync", FrameClass::native},
                             {"ioctl", FrameClass::native},
                             {"-", FrameClass::separator},
                             {"entry_SYSCALL_64_after_hwframe", FrameClass::kernel},
                             {"do_syscall_64", FrameClass::kernel},
                             {"__x64_sys_ioctl", FrameClass::kernel},
                             {"nvidia_unlocked_ioctl", FrameClass::kernel}});
  tree.add(tree.child(ioctl, "memcpy HtoD pageable", FrameClass::gpu), {14'200'000, 64, 268'435'456});
  const NodeId flash =
      grow(tree, forward,
           {{"flash_attention (ops.py:12)", FrameClass::python}, {"flash_fwd_kernel<64, 128, 128>", FrameClass::gpu}});
  for (const auto& [stall, ns] : std::array<std::pair<const char*, uint64_t>, 4>{{{"stall_long_scoreboard", 9'100'000},
                                                                                  {"stall_wait", 3'400'000},
                                                                                  {"stall_barrier", 2'000'000},
                                                                                  {"selected", 5'200'000}}}) {
    tree.add(tree.child(flash, stall, FrameClass::gpu_detail), {ns, 96, 0});
  }
  const NodeId note = tree.child(FlameTree::kRoot, "[no CPU stack]", FrameClass::note);
  tree.add(tree.child(note, "memset", FrameClass::gpu), {3'100'000, 31, 1'048'576});
  return tree;
}

FlameTree hostile_tree() {
  FlameTree tree;
  const std::array<std::string, 11> names{
      "<script>window.pwned=1</script>",
      "]]><script>window.pwned=2</script>",
      "</metadata></svg>\"'&amp;<!--",
      "${window.pwned=3}`'\\",
      "line\nbreak\x01\x02",
      "bad \xff\xfe utf8 \xc3",
      "\xe2\x80\xa8separators\xe2\x80\xa9",
      "std::map<std::string, std::vector<int>>::operator[](std::string const&) const &&",
      "IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;",
      "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e kernel \xf0\x9f\x94\xa5",
      std::string(65'536, 'A')};
  for (const std::string& name : names) {
    const NodeId caller = tree.child(FlameTree::kRoot, name, FrameClass::native);
    tree.add(tree.child(caller, name, FrameClass::gpu), {1'000'000, 1, 0});
  }
  return tree;
}

FlameTree narrow_tree() {
  FlameTree tree;
  const NodeId app = tree.child(FlameTree::kRoot, "app", FrameClass::process);
  tree.add(tree.child(app, "wide", FrameClass::gpu), {1'000'000'000, 10, 0});
  const NodeId rare = tree.child(app, "rare", FrameClass::native);
  tree.add(rare, {1'000, 1, 0});
  tree.add(tree.child(rare, "tiny_a", FrameClass::gpu), {6'000, 1, 0});
  tree.add(tree.child(rare, "tiny_b", FrameClass::gpu), {3'000, 3, 4'096});
  return tree;
}

FlameTree graphs_tree() {
  FlameTree tree;
  for (const std::string_view rank : {"rank 0", "rank 1"}) {
    const NodeId app = grow(tree, FlameTree::kRoot,
                            {{std::string(rank), FrameClass::process},
                             {"python3", FrameClass::process},
                             {"epoch 1", FrameClass::mark},
                             {"torch:replay", FrameClass::mark},
                             {"replay (train.py:40)", FrameClass::python},
                             {"cudaGraphLaunch", FrameClass::native}});
    const NodeId captured = grow(tree, app,
                                 {{"[captured at]", FrameClass::mark},
                                  {"capture (train.py:31)", FrameClass::python},
                                  {"at::mm", FrameClass::native}});
    tree.add(tree.child(captured, "gemm", FrameClass::gpu), {3'000'000, 50, 0});
    const NodeId before = tree.child(app, "[captured before recording]", FrameClass::note);
    tree.add(tree.child(before, "layernorm", FrameClass::gpu), {1'000'000, 50, 0});
  }
  return tree;
}

FlameTree large_tree() {
  FlameTree tree;
  Numbers numbers;
  while (tree.nodes().size() < 100'000) {
    NodeId at = FlameTree::kRoot;
    for (int level = 0; level < 24; ++level) {
      at = tree.child(at,
                      "library::component::function_number_" + std::to_string(level * 40 + numbers.below(4)) + "(int)",
                      FrameClass::native);
    }
    at = tree.child(at, elementwise(numbers.below(4)), FrameClass::gpu);
    tree.add(at, {1'000 + numbers.below(90'000), 1, 0});
  }
  return tree;
}

bool write(const std::string& path, const FlameTree& tree, const gpuprof::output::SvgOptions& options) {
  std::ofstream file(path, std::ios::binary);
  file << gpuprof::output::svg(tree, options);
  file.close();
  if (!file) std::fprintf(stderr, "sample_svg: cannot write %s\n", path.c_str());
  return static_cast<bool>(file);
}

bool write_page(const std::string& path) {
  gpuprof::analyze::Summary summary;
  summary.timed = true;
  summary.total = {600, 6, 0};
  summary.work.push_back({.work = "<script>window.pwned=1</script>", .weight = {100, 3, 0}});
  summary.work.push_back({.work = "heavy", .weight = {300, 1, 0}});
  summary.work.push_back({.work = "light", .weight = {200, 2, 0}});
  std::ofstream file(path, std::ios::binary);
  file << gpuprof::output::html(hostile_tree(), summary, {});
  file.close();
  return static_cast<bool>(file);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: sample_svg DIR\n");
    return 2;
  }
  const std::string dir = argv[1];
  gpuprof::output::SvgOptions options;
  bool ok = write(dir + "/narrow.svg", narrow_tree(), options);
  ok = write(dir + "/empty.svg", FlameTree(), options) && ok;
  ok = write(dir + "/large.svg", large_tree(), options) && ok;
  ok = write(dir + "/graphs.svg", graphs_tree(), options) && ok;
  options.title = "</title><script>window.pwned=4</script>";
  options.notice = "lost <b>1</b>";
  ok = write(dir + "/hostile.svg", hostile_tree(), options) && ok;
  options.title = "GPU flame graph";
  options.subtitle =
      "python3 train.py --model llama-60m --batch-size 32 --sequence-length 2048 --precision bf16 --steps 64";
  options.notice = "1.2% of launches have no CPU stack; 318 GPU records were lost (ring full)";
  options.width_note = "Below kernels: their time, apportioned among 1,234 samples.";
  ok = write(dir + "/deep.svg", deep_tree(), options) && ok;
  options.inverted = true;
  ok = write(dir + "/inverted.svg", gpuprof::analyze::inverted(deep_tree()).tree, options) && ok;
  ok = write_page(dir + "/page.html") && ok;
  return ok ? 0 : 1;
}
