"""Builds the profile of a PyTorch training as `record` would write it: two ranks, Python frames of the model, autograd
threads with deep native stacks, 40 kernels with templated names, waits, copies and allocations.
"""

AT = "at::native::"
LAMBDA = "(at::TensorIteratorBase&)::{lambda()#1}::operator()() const::{lambda()#2}::operator()() const::"
FUNCTORS = {
    "CUDAFunctor_add": "add", "FillFunctor": "fill_", "BinaryFunctor": "mul", "AUnaryFunctor": "mul",
    "ReluFunctor": "relu", "GeluCUDAKernelImpl": "gelu", "tanh_kernel_cuda": "tanh", "exp_kernel_cuda": "exp",
    "sqrt_kernel_cuda": "sqrt", "reciprocal_kernel_cuda": "reciprocal", "where_kernel_impl": "where",
    "rsqrt_kernel_cuda": "rsqrt",
}


def elementwise(functor, kind="float"):
    array = "std::array<char*, 3ul>"
    return (f"void {AT}vectorized_elementwise_kernel<4, {AT}{functor}<{kind}>, {array} >"
            f"(int, {AT}{functor}<{kind}>, {array})")


def unrolled(function, kind="float"):
    inner = f"{AT}{function}{LAMBDA}{{lambda({kind})#1}}"
    return (f"void {AT}elementwise_kernel<128, 2, {AT}gpu_kernel_impl_nocast<{inner}>(at::TensorIteratorBase&, "
            f"{inner} const&)::{{lambda(int)#1}}>(int, {AT}gpu_kernel_impl_nocast<{inner}>)")


def reduction(functor, kind):
    return (f"void {AT}reduce_kernel<512, 1, {AT}ReduceOp<{kind}, {AT}{functor}<{kind}, float, int>, unsigned int, "
            f"{kind}, 4> >({AT}ReduceOp<{kind}>)")


def gemm(layout, tile):
    return (f"sm90_xmma_gemm_bf16bf16_bf16f32_f32_{layout}_n_tilesize{tile}_warpgroupsize1x1x1_execute_segment_k_off_"
            "kernel__5x_cublas")


def flash(direction, head):
    traits = f"Flash_{direction}_kernel_traits<{head}, 128, 64, 8, 4, 4, 4, false, false, cutlass::bfloat16_t>"
    return f"void pytorch_flash::flash_{direction}_kernel<{traits}, false, true>(pytorch_flash::Flash_{direction}_params)"


ADAM = (f"void {AT}(anonymous namespace)::multi_tensor_apply_kernel<{AT}(anonymous namespace)::FusedOptimizerTensor"
        f"ListMetadata<4>, {AT}(anonymous namespace)::FusedAdamMathFunctor<float, 4, true> >(int)")
NORM = (f"void {AT}(anonymous namespace)::multi_tensor_apply_kernel<{AT}(anonymous namespace)::TensorListMetadata<1>, "
        f"{AT}(anonymous namespace)::LpNormFunctor<float, 2, float, 1, 1> >(int)")

PYTHON_START = ["native _start", "native main", "interpreter Py_RunMain", "python <module> train.py 97",
                "python main train.py 90", "python train_epoch train.py 61", "python train_step train.py 42"]
CALL = ["python Module._wrapped_call_impl torch/nn/modules/module.py 1739",
        "python Module._call_impl torch/nn/modules/module.py 1750"]
FORWARD = PYTHON_START + CALL + ["python Transformer.forward model.py 133"] + CALL
BACKWARD = ["unknown [no Python frames]", "native clone3", "native start_thread", "library execute_native_thread_routine",
            "library torch::autograd::python::PythonEngine::thread_init(int, std::shared_ptr<torch::autograd::ReadyQueue> "
            "const&, bool)", "library torch::autograd::Engine::thread_init(int, bool)",
            "library torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)",
            "library torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::GraphTask>&, "
            "torch::autograd::Node*)", "library torch::autograd::call_function(std::shared_ptr<torch::autograd::GraphTask>&)",
            "library torch::autograd::Node::operator()(std::vector<at::Tensor>&&)"]
OPTIMIZER = PYTHON_START + ["python LRScheduler.step.<locals>.wrapper torch/optim/lr_scheduler.py 140",
                            "python AdamW.step torch/optim/adamw.py 220", "python _fused_adamw torch/optim/adam.py 671"]
BLOCK = FORWARD + ["python Block.forward model.py 88"] + CALL


def operator(name, *inner):
    """Returns the frames of a call of an ATen operator: dispatcher, autograd, backend."""
    return [f"library at::_ops::{name}::call(at::Tensor const&)",
            f"library c10::impl::wrap_kernel_functor_unboxed_<torch::autograd::VariableType::{name}>::call(c10::OperatorKernel*)",
            f"library at::(anonymous namespace)::wrapper_CUDA_{name}(at::Tensor const&)",
            *(f"library {AT}{frame}" for frame in inner), "vendor cudaLaunchKernel",
            "address [libcuda.so.580.65.06+0x2b01c4]"]


def pointwise(name):
    return operator(name, f"{name}_kernel_cuda(at::TensorIteratorBase&)",
                    f"gpu_kernel_impl_nocast<{name}_functor>(at::TensorIteratorBase&)",
                    f"launch_vectorized_kernel<{name}_functor>(long)")


def matmul(name):
    return operator(name, f"structured_{name}_out_cuda::impl(at::Tensor const&)", "addmm_out_cuda_impl(at::Tensor&)",
                    "bgemm_internal_cublas<c10::BFloat16>(char, char)")[:-2] + [
                        "library cublasLtMatmul", "address [libcublasLt.so.12+0x9f1c20]", "vendor cudaLaunchKernelExC"]


def work_of_a_step():
    """Yields (stack, operation, name, ns of a call, calls)."""
    attention = BLOCK + ["python CausalSelfAttention.forward model.py 52"]
    mlp = BLOCK + ["python MLP.forward model.py 71"]
    linear = CALL + ["python Linear.forward torch/nn/modules/linear.py 125"]
    yield attention + linear + matmul("addmm"), "kernel", gemm("tn", "128x128x64"), 81000, 288
    yield mlp + linear + matmul("addmm"), "kernel", gemm("tn", "256x128x64"), 163000, 288
    yield attention + operator("_flash_attention_forward", "mha_fwd"), "kernel", flash("fwd", 64), 121000, 144
    yield mlp + pointwise("gelu"), "kernel", elementwise("GeluCUDAKernelImpl", "c10::BFloat16"), 31000, 144
    for function in ("add", "mul", "relu"):
        yield mlp + pointwise(function), "kernel", unrolled(f"{function}_kernel_cuda"), 3100, 144
    yield BLOCK + CALL + ["python LayerNorm.forward torch/nn/modules/normalization.py 217"] + operator(
        "native_layer_norm", "LayerNormKernelImplInternal<float>"), "kernel", (
            f"void {AT}(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float)"), 11000, 300
    yield FORWARD + pointwise("embedding"), "kernel", (
        f"void {AT}(anonymous namespace)::indexSelectLargeIndex<float, long, unsigned int, 2, 2, -2, true>(int)"), 9100, 12
    loss = PYTHON_START + ["python cross_entropy torch/nn/functional.py 3479"]
    yield loss + operator("_log_softmax", "host_softmax"), "kernel", (
        f"void {AT}(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float>(float*, float*, int)"), 140000, 12
    yield loss + operator("nll_loss_forward", "nll_loss"), "kernel", (
        f"void {AT}(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>(float*)"), 21000, 12
    for node, name, kernel, ns in (
            ("AddmmBackward0", "mm", gemm("nn", "128x128x64"), 84000),
            ("AddmmBackward0", "mm", gemm("nt", "128x128x64"), 97000),
            ("MmBackward0", "mm", gemm("nt", "256x128x64"), 201000)):
        yield BACKWARD + [f"library torch::autograd::generated::{node}::apply(std::vector<at::Tensor>&&)",
                          f"library torch::autograd::generated::details::{name}_backward(at::Tensor const&)"] + matmul(
                              name), "kernel", kernel, ns, 288
    nodes = {"GeluBackward0": elementwise("GeluBackwardCUDAKernelImpl", "c10::BFloat16"),
             "NativeLayerNormBackward0": f"void {AT}(anonymous namespace)::layer_norm_grad_input_kernel<float>(float*)",
             "MulBackward0": elementwise("BinaryFunctor", "float, float, float, binary_internal::MulFunctor<float>"),
             "EmbeddingBackward0": f"void {AT}(anonymous namespace)::compute_grad_weight<float, long>(long*, float*)",
             "LogSoftmaxBackward0": f"void {AT}(anonymous namespace)::cunn_SoftMaxBackward<4, float, float, float>(float*)",
             "ToCopyBackward0": unrolled("direct_copy_kernel_cuda", "c10::BFloat16"),
             "ScaledDotProductFlashAttentionBackward0": flash("bwd", 64),
             "SumBackward1": reduction("MeanOps", "float"), "MeanBackward0": reduction("func_wrapper_t", "float")}
    for at, (node, kernel) in enumerate(nodes.items()):
        yield BACKWARD + [f"library torch::autograd::generated::{node}::apply(std::vector<at::Tensor>&&)"] + pointwise(
            node.lower()), "kernel", kernel, 63000 // (at + 1), 144
    accumulate = BACKWARD + ["library torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor>&&)"]
    yield accumulate + pointwise("add"), "kernel", elementwise("CUDAFunctor_add"), 5200, 1200
    yield accumulate + pointwise("add"), "kernel", elementwise("CUDAFunctor_add", "c10::BFloat16"), 2100, 1200
    yield accumulate + ["library c10d::Reducer::autograd_hook(unsigned long)",
                        "library c10d::ProcessGroupNCCL::allreduce(std::vector<at::Tensor>&)", "library ncclAllReduce",
                        "vendor cudaLaunchKernelExC"], "kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgs)", 410000, 60
    yield OPTIMIZER + operator("_fused_adamw_", "_fused_adamw_cuda_impl_"), "kernel", ADAM, 620000, 36
    clip = PYTHON_START + ["python clip_grad_norm_ torch/nn/utils/clip_grad.py 82"]
    yield clip + operator("_foreach_norm", "foreach_tensor_norm_cuda"), "kernel", NORM, 88000, 12
    for functor, name in FUNCTORS.items():
        for kind in ("float", "c10::BFloat16"):
            yield clip + pointwise(name), "kernel", elementwise(functor, kind), 1500 + 10 * len(functor), 24
    data = PYTHON_START[:-1] + ["python get_batch data.py 31"]
    yield data + ["library at::_ops::_to_copy::call(at::Tensor const&)", "vendor cudaMemcpyAsync"], "copy_htod", "", 210000, 24
    log = PYTHON_START[:-1] + ["python log_metrics train.py 77", "library at::_ops::item::call(at::Tensor const&)"]
    yield log + ["vendor cudaMemcpyAsync"], "copy_dtoh", "", 1500, 36
    yield OPTIMIZER + ["library at::_ops::zero_::call(at::Tensor&)", "vendor cudaMemsetAsync"], "fill", "", 8000, 48


def host_work():
    """Yields (stack, operation, name, ns, bytes, calls)."""
    log = PYTHON_START[:-1] + ["python log_metrics train.py 77"]
    yield log + ["library at::_ops::item::call(at::Tensor const&)", "vendor cudaStreamSynchronize"], "sync", (
        "cudaStreamSynchronize"), 90_000_000, 0, 36
    yield PYTHON_START + ["python synchronize torch/cuda/__init__.py 985", "vendor cudaDeviceSynchronize"], "sync", (
        "cudaDeviceSynchronize"), 210_000_000, 0, 12
    for stack in (FORWARD, BLOCK, OPTIMIZER, BACKWARD):
        yield stack + ["library c10::cuda::CUDACachingAllocator::malloc(void**, int, unsigned long)",
                       "vendor cudaMalloc"], "alloc", "", 4_000_000, 512 << 20, 10
    yield OPTIMIZER + ["vendor cudaFree"], "free", "", 2_000_000, 256 << 20, 4


class Profile:
    def __init__(self):
        self.lines = ["GPUPROF;3.0"]
        self.ids = {"STRING": {}, "FRAME": {}, "USTACK": {}}
        self.works = 0
        self.records = [0, 0]  # number of records and their sum in ns

    def define(self, kind, fields):
        ids = self.ids[kind]
        if fields not in ids:
            ids[fields] = len(ids) + 1
            self.lines.append(f"{kind};{ids[fields]};{fields}")
        return ids[fields]

    def text(self, value):
        return self.define("STRING", value) if value else 0

    def frame(self, frame):
        kind, name = frame.split(" ", 1)
        file, line, module = "", "0", "/opt/train/bin/python3.12"
        if kind == "python":
            name, file, line = name.rsplit(" ", 2)
            file = ("/opt/train/lib/python3.12/site-packages/" if file.startswith("torch/") else "/home/me/gpt/") + file
            module = ""
        elif kind in ("library", "vendor", "address"):
            library = {"library": "libtorch_cuda.so", "vendor": "libcudart.so.12", "address": "libcuda.so.580.65.06"}[kind]
            module = "/opt/train/lib/" + library
        elif kind == "native" and name != "main":
            module = "/usr/lib/x86_64-linux-gnu/libc.so.6"
        kind = {"library": "native", "vendor": "native", "address": "unknown"}.get(kind, kind)
        fields = [kind, self.text(name), self.text(file), line, self.text(module), 0, "0x10"]
        return self.define("FRAME", ";".join(map(str, fields)))

    def work(self, process, stack, operation, name, device):
        ids = ";".join(str(self.frame(frame)) for frame in stack)
        stack_id = self.define("USTACK", ids)
        name_id = self.text(name)
        self.works += 1
        self.lines.append(f"WORK;{self.works};{process};{process}00;0;{stack_id};0;0;0;{device};7;{operation};{name_id};0")
        return self.works

    def gpu(self, work, count, ns):
        self.lines.append(f"GPU;0;{work};{count};{count * ns};{ns};{ns};{count * ns * ns};0;0")
        self.records = [self.records[0] + count, self.records[1] + count * ns]


def profile():
    made = Profile()
    for key, value in (("command", "torchrun --nproc-per-node 2 train.py --config gpt2-medium.yaml"), ("host", "node17"),
                       ("start_unix_ns", "1763906400000000000"), ("gpuprof_version", "1.0.0"), ("stack_engine", "inproc"),
                       ("target.exit_status", "0"), ("stack_depth.native_median", "24"), ("stack_depth.native_max", "61"),
                       ("stack_depth.python_median", "11"), ("stack_depth.python_max", "19")):
        made.lines.append(f"META;{key};{value}")
    launches = 0
    for rank in (0, 1):
        process = rank + 1
        name, command, number, host = map(made.text, ("python3", "python3 train.py", str(rank), "node17"))
        made.lines.append(f"PROCESS;{process};{4100 + rank};4000;5;{name};{command};{number};{host}")
        backend, device, uuid = made.text("cuda"), made.text("NVIDIA H200"), made.text(f"GPU-{rank}")
        made.lines.append(f"DEVICE;{process};{backend};{rank};{device};{uuid}")
        for stack, operation, kernel, ns, calls in work_of_a_step():
            work = made.work(process, stack, operation, kernel, process)
            made.gpu(work, calls, ns + ns * rank // 20)
            launches += calls
        for stack, operation, function, ns, size, calls in host_work():
            work = made.work(process, stack, operation, function, process)
            made.lines.append(f"HOST;0;{work};{calls};{calls * ns};{ns};{ns};{calls * size}")
    for what, count in (("launches", launches + 8), ("matched", launches), ("without_record", 8), ("stack_whole", launches),
                        ("stack_truncated", 8)):
        made.lines.append(f"COVERAGE;0;{what};{count}")
    count, ns = made.records
    made.lines.append(f"END;9;{launches + 8};{count};{ns};{count};0;0")
    return "\n".join(made.lines) + "\n"
