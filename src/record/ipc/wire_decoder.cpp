#include "record/ipc/wire_decoder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "wire/log_buckets.h"
#include "wire/wire.h"

namespace gpuprof::record {
namespace {

// Larger values from a target are rejected, so that sums cannot overflow. The limits are 13 days for a duration, a
// petabyte for a size, 146 years since boot for a timestamp, and 10^15 for a count.
constexpr uint64_t kMaxDurationNs = uint64_t{1} << 50;
constexpr uint64_t kMaxBytes = uint64_t{1} << 50;
constexpr uint64_t kMaxTimeNs = uint64_t{1} << 62;
constexpr uint64_t kMaxCount = uint64_t{1} << 50;
constexpr uint32_t kMaxCode = 0x7fffffff;
constexpr uint32_t kMaxCodeText = 4096;
constexpr uint64_t kCorrelationBits = GPUPROF_CORRELATION_HOST | GPUPROF_CORRELATION_NODE;

// Copies the fixed part of a record, which may be unaligned. Copying reads it only once.
template <typename T>
bool fixed_part(std::span<const std::byte> record, T& out) {
  if (record.size() < sizeof(T)) {
    return false;
  }
  std::memcpy(&out, record.data(), sizeof(T));
  return true;
}

template <typename T>
bool text_part(std::span<const std::byte> record, uint32_t length, std::string_view& out) {
  if (length > GPUPROF_WIRE_MAX_TEXT || record.size() < sizeof(T) || record.size() - sizeof(T) < length) {
    return false;
  }
  out = {reinterpret_cast<const char*>(record.data()) + sizeof(T), length};
  return true;
}

struct Input {
  backend::SourceId source;
  std::span<const std::byte> record;
  backend::EventSink& sink;
};

bool is_interval(uint64_t start_ns, uint64_t end_ns) {
  return end_ns >= start_ns && end_ns - start_ns <= kMaxDurationNs && end_ns <= kMaxTimeNs;
}

bool is_time(uint64_t ns) {
  return ns <= kMaxTimeNs;
}

// Returns whether the id is the vendor's plain id. Other calls have an id with a mark bit.
bool is_launch_id(uint64_t correlation) {
  return (correlation & (kCorrelationBits | GPUPROF_CORRELATION_EXEC)) == 0;
}

// Returns whether the id belongs to a launch or to an executable graph. Work with an unknown launch has the id of its
// graph.
bool is_launch_of(uint64_t correlation) {
  const uint64_t exec = correlation & ~GPUPROF_CORRELATION_EXEC;
  return is_launch_id(correlation) || (exec != correlation && exec != 0 && exec <= UINT32_MAX);
}

bool text_of(const gpuprof_name& name, std::span<const std::byte> record, std::string_view& text) {
  return name.id != 0 && text_part<gpuprof_name>(record, name.length, text);
}

bool decode(const gpuprof_name& name, const Input& in) {
  std::string_view text;
  if (!text_of(name, in.record, text)) {
    return false;
  }
  in.sink.on_name(in.source, name.id, text);
  return true;
}

bool decode(const gpuprof_device& device, const Input& in) {
  if (device.device == UINT32_MAX) {
    return false;
  }
  in.sink.on_device(in.source, device.device, device.name_id, device.uuid_id);
  return true;
}

bool decode(const gpuprof_gpu_op& op, const Input& in) {
  if (op.op >= GPUPROF_OPS || (op.flags & ~GPUPROF_GPU_OP_MORE) != 0 || op.bytes > kMaxBytes ||
      !is_interval(op.start_ns, op.end_ns) || !is_time(op.queued_ns) || !is_time(op.submitted_ns) ||
      !is_launch_of(op.correlation)) {
    return false;
  }
  const bool of_exec = (op.correlation & GPUPROF_CORRELATION_EXEC) != 0;
  in.sink.on_gpu_op({.source = in.source,
                     .correlation = of_exec ? 0 : op.correlation,
                     .start_ns = op.start_ns,
                     .end_ns = op.end_ns,
                     .queued_ns = op.queued_ns,
                     .submitted_ns = op.submitted_ns,
                     .bytes = op.bytes,
                     .stream = op.stream,
                     .name_id = op.name_id,
                     .device = op.device,
                     .op = op.op,
                     .more = (op.flags & GPUPROF_GPU_OP_MORE) != 0,
                     .graph_node = op.graph_node,
                     .exec = of_exec ? static_cast<uint32_t>(op.correlation) : 0});
  return true;
}

bool decode(const gpuprof_launch& launch, const Input& in) {
  // Accept all kinds of calls. Without a launch probe, LAUNCH records also carry the stacks of calls that are not
  // launches.
  if (!is_time(launch.time_ns) || (launch.correlation & kCorrelationBits) == kCorrelationBits) {
    return false;
  }
  in.sink.on_launch(in.source, {.correlation = launch.correlation,
                                .stack = launch.stack,
                                .time_ns = launch.time_ns,
                                .tid = launch.tid,
                                .range = launch.range,
                                .thread = {launch.thread, ::strnlen(launch.thread, sizeof(launch.thread))}});
  return true;
}

bool decode(const gpuprof_host_op& op, const Input& in) {
  if (op.op >= GPUPROF_HOST_OPS || op.bytes > kMaxBytes || op.count > kMaxCount ||
      !is_interval(op.start_ns, op.end_ns)) {
    return false;
  }
  const bool of_launch = op.op == GPUPROF_HOST_FAILED && is_launch_id(op.correlation);
  if (op.correlation != 0 && !of_launch && (op.correlation & kCorrelationBits) != GPUPROF_CORRELATION_HOST) {
    return false;
  }
  in.sink.on_host_op({.source = in.source,
                      .correlation = op.correlation,
                      .start_ns = op.start_ns,
                      .end_ns = op.end_ns,
                      .bytes = op.bytes,
                      .count = op.count,
                      .name_id = op.name_id,
                      .device = op.device,
                      .tid = op.tid,
                      .op = op.op});
  return true;
}

bool decode(const gpuprof_graph_node& node, const Input& in) {
  constexpr uint32_t kFlags = GPUPROF_GRAPH_NODE_DESTROYED | GPUPROF_GRAPH_NODE_UPDATED;
  if (node.node == 0 || !is_launch_id(node.node) || !is_launch_id(node.original) || node.original == node.node ||
      !is_launch_id(node.launch) || !is_time(node.time_ns) || (node.flags & ~kFlags) != 0 || node.flags == kFlags) {
    return false;
  }
  in.sink.on_graph_node(in.source, {.node = node.node,
                                    .original = node.original,
                                    .launch = node.launch,
                                    .time_ns = node.time_ns,
                                    .name_id = node.name_id,
                                    .destroyed = (node.flags & GPUPROF_GRAPH_NODE_DESTROYED) != 0,
                                    .updated = (node.flags & GPUPROF_GRAPH_NODE_UPDATED) != 0});
  return true;
}

bool decode(const gpuprof_graph_launch& launch, const Input& in) {
  if (launch.exec == 0 || launch.correlation == 0 || !is_launch_id(launch.correlation) ||
      !is_launch_id(launch.finished) || !is_time(launch.time_ns) || (launch.flags & ~GPUPROF_GPU_OP_OUTSIDE) != 0) {
    return false;
  }
  in.sink.on_graph_launch(in.source, {.correlation = launch.correlation,
                                      .time_ns = launch.time_ns,
                                      .finished = launch.finished,
                                      .exec = launch.exec,
                                      .stream = launch.stream,
                                      .outside = (launch.flags & GPUPROF_GPU_OP_OUTSIDE) != 0});
  return true;
}

bool decode(const gpuprof_range& range, const Input& in) {
  if (range.id == 0 || range.parent == range.id) {
    return false;
  }
  in.sink.on_range(in.source,
                   {.id = range.id, .parent = range.parent, .domain_id = range.domain_id, .name_id = range.name_id});
  return true;
}

bool decode(const gpuprof_call& call, const Input& in) {
  if (!is_interval(call.start_ns, call.end_ns) || !is_launch_id(call.correlation)) {
    return false;
  }
  in.sink.on_call(in.source, {.correlation = call.correlation,
                              .start_ns = call.start_ns,
                              .end_ns = call.end_ns,
                              .name_id = call.name_id,
                              .tid = call.tid});
  return true;
}

bool decode(const gpuprof_span& span, const Input& in) {
  if (!is_interval(span.start_ns, span.end_ns) || span.range == 0) {
    return false;
  }
  in.sink.on_span(in.source, {.start_ns = span.start_ns, .end_ns = span.end_ns, .range = span.range, .tid = span.tid});
  return true;
}

bool decode(const gpuprof_meta& meta, const Input& in) {
  std::string_view text;
  if (!text_part<gpuprof_meta>(in.record, meta.length, text)) {
    return false;
  }
  in.sink.on_meta(in.source, text);
  return true;
}

// Clears unused bits of a native word. All bits of a Python word are used.
uint64_t clean_word(uint64_t word) {
  constexpr uint64_t kNative = GPUPROF_WORD_EVAL | GPUPROF_WORD_EXACT | GPUPROF_WORD_ADDRESS;
  return (word & GPUPROF_WORD_PYTHON) != 0 ? word : word & kNative;
}

bool is_module(uint64_t number) {
  return number != 0 && number < GPUPROF_MAX_MODULES;
}

bool decode(const gpuprof_stack& stack, const Input& in) {
  constexpr uint32_t kFlags = GPUPROF_STACK_TRUNCATED | GPUPROF_STACK_NO_PYTHON;
  if (stack.stack == 0 || stack.count == 0 || stack.count > GPUPROF_STACK_MAX_WORDS || (stack.flags & ~kFlags) != 0 ||
      stack.modules > GPUPROF_STACK_MAX_MODULES ||
      (in.record.size() - sizeof(stack)) / sizeof(uint64_t) < size_t{stack.count} + stack.modules) {
    return false;
  }
  std::vector<uint64_t> words(size_t{stack.count} + stack.modules);
  std::memcpy(words.data(), in.record.data() + sizeof(stack), words.size() * sizeof(uint64_t));
  std::vector<uint32_t> modules;
  for (size_t i = stack.count; i < words.size(); ++i) {
    if (!is_module(words[i])) {
      return false;
    }
    modules.push_back(static_cast<uint32_t>(words[i]));
  }
  words.resize(stack.count);
  for (uint64_t& word : words) {
    if ((word & GPUPROF_WORD_PYTHON) != 0 && GPUPROF_WORD_PYTHON_CODE(word) == 0) {
      return false;
    }
    word = clean_word(word);
  }
  in.sink.on_stack(in.source, {.id = stack.stack, .words = words, .flags = stack.flags, .modules = modules});
  return true;
}

bool decode(const gpuprof_module& module, const Input& in) {
  constexpr uint64_t kPageBits = 4095;
  std::string_view path;
  if (!is_module(module.module) || module.start >= module.end || module.end > GPUPROF_WORD_ADDRESS ||
      ((module.start | module.end | module.offset) & kPageBits) != 0 || module.offset > kMaxBytes ||
      module.path_bytes == 0 || module.path_bytes > GPUPROF_WIRE_MAX_PATH ||
      !text_part<gpuprof_module>(in.record, module.path_bytes, path) || path.find('\0') != std::string_view::npos) {
    return false;
  }
  std::vector<backend::Module::Mark> marks;
  for (const gpuprof_module_mark& mark : module.marks) {
    if (mark.offset == UINT64_MAX) {
      continue;
    }
    if (mark.offset > kMaxBytes) {
      return false;
    }
    std::memcpy(marks.emplace_back(backend::Module::Mark{.offset = mark.offset, .bytes = {}}).bytes.data(), mark.bytes,
                sizeof(mark.bytes));
  }
  in.sink.on_module(in.source, {.module = module.module,
                                .start = module.start,
                                .end = module.end,
                                .offset = module.offset,
                                .marks = marks,
                                .path = path});
  return true;
}

bool decode(const gpuprof_mappings& /*mappings*/, const Input& in) {
  in.sink.on_mappings(in.source);
  return true;
}

bool decode(const gpuprof_code& code, const Input& in) {
  if (code.id == 0 || code.id > kMaxCode || code.name_bytes > kMaxCodeText || code.file_bytes > kMaxCodeText ||
      code.line_table_bytes > GPUPROF_WIRE_MAX_TEXT) {
    return false;
  }
  const size_t bytes = size_t{code.name_bytes} + code.file_bytes + code.line_table_bytes;
  if (in.record.size() - sizeof(code) < bytes) {
    return false;
  }
  const std::byte* const name = in.record.data() + sizeof(code);
  const std::byte* const file = name + code.name_bytes;
  const std::byte* const lines = file + code.file_bytes;
  in.sink.on_code(in.source, {.id = code.id,
                              .version = code.version,
                              .first_line = code.first_line,
                              .name = {reinterpret_cast<const char*>(name), code.name_bytes},
                              .file = {reinterpret_cast<const char*>(file), code.file_bytes},
                              .line_table = {reinterpret_cast<const uint8_t*>(lines), code.line_table_bytes}});
  return true;
}

bool decode(const gpuprof_python& python, const Input& in) {
  if (!is_python_layout(python.layout)) {
    return false;
  }
  in.sink.on_python(in.source, python.layout);
  return true;
}

// Returns whether the location is valid: either a function with an offset, or an address.
bool says_where(const gpuprof_samples& samples) {
  if ((samples.flags & GPUPROF_SAMPLES_ADDRESS) == 0) {
    return samples.function_id != 0 && samples.offset <= kMaxBytes && samples.flags == 0;
  }
  constexpr uint32_t kFlags = GPUPROF_SAMPLES_ADDRESS | GPUPROF_SAMPLES_LOW_ADDRESS;
  const bool low = (samples.flags & GPUPROF_SAMPLES_LOW_ADDRESS) != 0;
  return (samples.flags & ~kFlags) == 0 && samples.function_id == 0 && samples.module == 0 &&
         samples.correlation == 0 && (!low || samples.offset <= UINT32_MAX);
}

bool decode(const gpuprof_samples& samples, const Input& in) {
  if (samples.window == 0 || !says_where(samples) || samples.count == 0 ||
      samples.count > GPUPROF_SAMPLES_MAX_REASONS ||
      (in.record.size() - sizeof(samples)) / sizeof(gpuprof_sample_reason) < samples.count) {
    return false;
  }
  std::vector<backend::LocationSamples::Reason> reasons;
  for (size_t i = 0; i < samples.count; ++i) {
    gpuprof_sample_reason reason;
    std::memcpy(&reason, in.record.data() + sizeof(samples) + i * sizeof(reason), sizeof(reason));
    if (reason.reason_id == 0) {
      return false;
    }
    reasons.push_back({reason.reason_id, reason.samples});
  }
  const bool at_address = (samples.flags & GPUPROF_SAMPLES_ADDRESS) != 0;
  in.sink.on_location_samples(in.source, {.module = samples.module,
                                          .offset = at_address ? 0 : samples.offset,
                                          .address = at_address ? samples.offset : 0,
                                          .function_id = samples.function_id,
                                          .window = samples.window,
                                          .correlation = samples.correlation,
                                          .reasons = reasons,
                                          .low_address = (samples.flags & GPUPROF_SAMPLES_LOW_ADDRESS) != 0});
  return true;
}

bool decode(const gpuprof_sampled_launch& launch, const Input& in) {
  if (launch.correlation == 0) {
    return false;
  }
  in.sink.on_sampled_launch(in.source, launch.correlation);
  return true;
}

// No device has more SMs, and no product of SMs and a duration overflows.
constexpr uint64_t kMaxSms = uint64_t{1} << 12;

// Returns whether the numbers are possible for a launch with recorded blocks.
bool is_possible(const gpuprof_blocks& r) {
  const bool counts = r.blocks <= r.grid && r.grid <= kMaxCount && r.sms >= 1 && r.sms <= r.used_sms &&
                      r.sms <= r.concurrent && r.used_sms <= kMaxSms && r.used_sms <= r.blocks &&
                      r.concurrent <= r.blocks && r.device_sms <= kMaxSms;
  const bool times = r.span_ns <= kMaxDurationNs && r.slowest_ns <= r.span_ns && r.busiest_ns <= r.span_ns &&
                     r.tail_ns <= r.span_ns && r.busiest_ns <= r.busy_ns && r.busy_ns <= r.sum_ns &&
                     r.sum_ns <= kMaxTimeNs;
  // The products do not overflow, because the factors have been checked.
  return counts && times && r.busy_ns <= r.busiest_ns * r.used_sms && r.busy_ns <= r.span_ns * r.sms &&
         r.tail_busy_ns <= r.busy_ns && r.tail_busy_ns <= r.tail_ns * r.sms;
}

// Returns whether the launch has no recorded blocks. Then only its size is known.
bool is_unrecorded(const gpuprof_blocks& r) {
  return r.grid <= kMaxCount && r.device_sms <= kMaxSms &&
         (r.blocks | r.span_ns | r.sum_ns | r.slowest_ns | r.busy_ns | r.busiest_ns | r.tail_ns | r.tail_busy_ns |
          r.concurrent | r.sms | r.used_sms | r.count) == 0;
}

bool decode(const gpuprof_blocks& blocks, const Input& in) {
  if (blocks.correlation == 0 || !is_launch_id(blocks.correlation) || blocks.grid == 0 ||
      !(is_possible(blocks) || is_unrecorded(blocks)) || blocks.count > GPUPROF_BLOCKS_MAX_BUCKETS ||
      (in.record.size() - sizeof(blocks)) / sizeof(gpuprof_block_bucket) < blocks.count) {
    return false;
  }
  std::vector<backend::LaunchBlocks::Bucket> buckets;
  uint64_t counted = 0;
  for (size_t i = 0; i < blocks.count; ++i) {
    gpuprof_block_bucket one;
    std::memcpy(&one, in.record.data() + sizeof(blocks) + i * sizeof(one), sizeof(one));
    if (one.blocks == 0 || one.bucket > gpuprof_duration_bucket(blocks.slowest_ns) ||
        (!buckets.empty() && one.bucket <= buckets.back().bucket)) {
      return false;
    }
    counted += one.blocks;
    buckets.push_back({one.bucket, one.blocks});
  }
  if (counted > blocks.blocks) {
    return false;
  }
  const uint64_t used = std::max<uint64_t>(blocks.used_sms, 1);
  const uint64_t width = std::max<uint64_t>(blocks.sms, 1);
  in.sink.on_blocks(in.source, {.launches = 1,
                                .grid = blocks.grid,
                                .blocks = blocks.blocks,
                                .span_ns = blocks.span_ns,
                                .sum_ns = blocks.sum_ns,
                                .busy_ns = blocks.busy_ns,
                                .sm_ns = blocks.span_ns * blocks.sms,
                                .busiest_ns = blocks.busiest_ns,
                                .mean_ns = (blocks.busy_ns + used / 2) / used,
                                .tail_ns = blocks.tail_ns,
                                .tail_busy_ns = blocks.tail_busy_ns,
                                .tail_sm_ns = blocks.tail_ns * blocks.sms,
                                .saved_ns = blocks.tail_ns - (blocks.tail_busy_ns + width - 1) / width,
                                .concurrent = blocks.concurrent,
                                .device_sms = blocks.device_sms,
                                .slowest_ns = blocks.slowest_ns,
                                .x = blocks.slowest[0],
                                .y = blocks.slowest[1],
                                .z = blocks.slowest[2],
                                .correlation = blocks.correlation,
                                .buckets = buckets});
  return true;
}

bool decode(const gpuprof_count_record& count, const Input& in) {
  if (count.function_id == 0 || count.name_id == 0 || count.offset > kMaxBytes || count.value > kMaxCount) {
    return false;
  }
  in.sink.on_location_count(in.source, {.module = count.module,
                                        .offset = count.offset,
                                        .value = count.value,
                                        .function_id = count.function_id,
                                        .name_id = count.name_id,
                                        .device = count.device});
  return true;
}

bool decode(const gpuprof_gpu_kernel& kernel, const Input& in) {
  if (kernel.load == 0) {
    return false;
  }
  const bool gone = (kernel.flags & GPUPROF_GPU_KERNEL_GONE) != 0;
  if (!gone && (kernel.name_id == 0 || kernel.address == 0)) {
    return false;
  }
  in.sink.on_loaded_kernel(in.source, {.module = kernel.module,
                                       .address = kernel.address,
                                       .time_ns = kernel.time_ns,
                                       .load = kernel.load,
                                       .name_id = kernel.name_id,
                                       .gone = gone,
                                       .device = kernel.device});
  return true;
}

bool decode(const gpuprof_sample_window& window, const Input& in) {
  if (window.window == 0 || !is_interval(window.start_ns, window.end_ns) || window.handed > kMaxCount ||
      window.dropped > kMaxCount || window.foreign > kMaxCount || window.period > kMaxCount) {
    return false;
  }
  in.sink.on_sample_window(in.source,
                           {.start_ns = window.start_ns,
                            .end_ns = window.end_ns,
                            .handed = window.handed,
                            .dropped = window.dropped,
                            .foreign = window.foreign,
                            .period = window.period,
                            .window = window.window,
                            .device = window.device,
                            .whole = window.whole,
                            .unit = (window.flags & GPUPROF_SAMPLE_WINDOW_NS) != 0 ? backend::SamplingUnit::ns
                                                                                   : backend::SamplingUnit::cycles});
  return true;
}

template <typename Record>
bool decode_as(const Input& in) {
  Record record;
  return fixed_part(in.record, record) && decode(record, in);
}

constexpr auto kDecoders = [] {
  std::array<bool (*)(const Input&), GPUPROF_RECORD_TYPES> by_type{};
  by_type[GPUPROF_RECORD_NAME] = decode_as<gpuprof_name>;
  by_type[GPUPROF_RECORD_DEVICE] = decode_as<gpuprof_device>;
  by_type[GPUPROF_RECORD_GPU_OP] = decode_as<gpuprof_gpu_op>;
  by_type[GPUPROF_RECORD_LAUNCH] = decode_as<gpuprof_launch>;
  by_type[GPUPROF_RECORD_META] = decode_as<gpuprof_meta>;
  by_type[GPUPROF_RECORD_HOST_OP] = decode_as<gpuprof_host_op>;
  by_type[GPUPROF_RECORD_GRAPH_NODE] = decode_as<gpuprof_graph_node>;
  by_type[GPUPROF_RECORD_GRAPH_LAUNCH] = decode_as<gpuprof_graph_launch>;
  by_type[GPUPROF_RECORD_RANGE] = decode_as<gpuprof_range>;
  by_type[GPUPROF_RECORD_CALL] = decode_as<gpuprof_call>;
  by_type[GPUPROF_RECORD_SPAN] = decode_as<gpuprof_span>;
  by_type[GPUPROF_RECORD_STACK] = decode_as<gpuprof_stack>;
  by_type[GPUPROF_RECORD_CODE] = decode_as<gpuprof_code>;
  by_type[GPUPROF_RECORD_PYTHON] = decode_as<gpuprof_python>;
  by_type[GPUPROF_RECORD_MODULE] = decode_as<gpuprof_module>;
  by_type[GPUPROF_RECORD_MAPPINGS] = decode_as<gpuprof_mappings>;
  by_type[GPUPROF_RECORD_SAMPLES] = decode_as<gpuprof_samples>;
  by_type[GPUPROF_RECORD_SAMPLED_LAUNCH] = decode_as<gpuprof_sampled_launch>;
  by_type[GPUPROF_RECORD_GPU_KERNEL] = decode_as<gpuprof_gpu_kernel>;
  by_type[GPUPROF_RECORD_COUNT] = decode_as<gpuprof_count_record>;
  by_type[GPUPROF_RECORD_BLOCKS] = decode_as<gpuprof_blocks>;
  by_type[GPUPROF_RECORD_SAMPLE_WINDOW] = decode_as<gpuprof_sample_window>;
  return by_type;
}();

}  // namespace

bool is_python_layout(const gpuprof_python_layout& layout) {
  constexpr unsigned kBitsOfState = 32;
  return layout.version != 0 && (layout.flags & ~GPUPROF_PYTHON_REFUSED) == 0 &&
         layout.boundary <= GPUPROF_PYTHON_SHIM && layout.eval_begin <= layout.eval_end &&
         (layout.eval_end & ~GPUPROF_WORD_ADDRESS) == 0 && (layout.code_type & ~GPUPROF_WORD_ADDRESS) == 0 &&
         layout.text_kind_shift < kBitsOfState && layout.code_tagged <= 1;
}

namespace {

// Calls `take` with the type and bytes of each record. Stops at a header with an invalid size, because the next record
// cannot be found. Returns the number of bytes before it.
template <typename Take>
size_t walk_records(std::span<const std::byte> bytes, const Take& take) {
  size_t at = 0;
  while (bytes.size() - at >= sizeof(gpuprof_record)) {
    gpuprof_record header;
    std::memcpy(&header, bytes.data() + at, sizeof(header));
    if (header.bytes < sizeof(header) || header.bytes % 8 != 0 || header.bytes > bytes.size() - at) {
      break;
    }
    take(header.type, bytes.subspan(at, header.bytes));
    at += header.bytes;
  }
  return at;
}

}  // namespace

size_t decode_records(backend::SourceId source, std::span<const std::byte> bytes, backend::EventSink& sink,
                      DecodeCounts& counts) {
  return walk_records(bytes, [&](uint16_t type, std::span<const std::byte> record) {
    if (type >= GPUPROF_RECORD_TYPES) {
      ++counts.unknown;
    } else if (type != GPUPROF_RECORD_PAD) {
      ++counts.records;
      const auto decoder = kDecoders[type];
      counts.malformed += decoder != nullptr && decoder({source, record, sink}) ? 0 : 1;
    }
  });
}

void decode_names(std::span<const std::byte> bytes, const std::function<void(uint32_t, std::string_view)>& take) {
  walk_records(bytes, [&](uint16_t type, std::span<const std::byte> record) {
    gpuprof_name name;
    std::string_view text;
    if (type == GPUPROF_RECORD_NAME && fixed_part(record, name) && text_of(name, record, text)) {
      take(name.id, text);
    }
  });
}

}  // namespace gpuprof::record
