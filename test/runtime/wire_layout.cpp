// Prints the layouts of src/wire/wire.h as a Python module, for tests that speak the protocol: wire_layout >
// wire_layout.py. The Python structs treat members that this file does not list as padding.
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#include "wire/code.h"
#include "wire/wire.h"

namespace {

struct Field {
  const char* name;
  size_t offset;
  std::string format;
};

// Returns the format of Python's struct module: an integer, an array of integers, or bytes.
template <typename T>
std::string format_of() {
  constexpr size_t kBytes = sizeof(std::remove_all_extents_t<T>);
  constexpr bool kBlob = !std::is_integral_v<std::remove_all_extents_t<T>> || (std::is_array_v<T> && kBytes == 1);
  if (kBlob) {
    return std::to_string(sizeof(T)) + "s";
  }
  const char* const letter = kBytes == 1 ? "B" : kBytes == 2 ? "H" : kBytes == 4 ? "I" : "Q";
  return std::is_array_v<T> ? std::to_string(std::extent_v<T>) + letter : letter;
}

void print_layout(const char* name, size_t size, const std::vector<Field>& fields) {
  std::printf("%s = Layout(%zu", name, size);
  for (const Field& field : fields) {
    std::printf(", (\"%s\", %zu, \"%s\")", field.name, field.offset, field.format.c_str());
  }
  std::printf(")\n");
}

struct Enumerator {
  const char* name;
  unsigned value;
};

void print_names(const char* name, const std::vector<Enumerator>& values) {
  std::printf("%s = {", name);
  for (const Enumerator& each : values) {
    std::printf("%u: \"%s\".lower(), ", each.value, each.name);
  }
  std::printf("}\n");
}

// The module needs no other file of the tests, because some targets cannot read any.
constexpr const char* kLayout = R"(
import struct


class Layout(struct.Struct):
    """A struct of wire.h. `fields`: (name, offset, format) of each; what lies between them is padding."""

    def __init__(self, size, *fields):
        text, at = "<", 0
        for _, offset, form in fields:
            text += f"{offset - at}x{form}"
            at = offset + struct.calcsize("<" + form)
        super().__init__(f"{text}{size - at}x")
        self.names = [name for name, _, _ in fields]
        self.zeros = [b"" if form.endswith("s") else 0 for _, _, form in fields]
        self.places = {name: (offset, struct.Struct("<" + form)) for name, offset, form in fields}

    def make(self, **values):
        """Its bytes; what is not given is 0."""
        made = self.pack(*map(values.pop, self.names, self.zeros))
        if values:
            raise TypeError(f"no such field: {', '.join(values)}")
        return made

    def read(self, data, at=0):
        return dict(zip(self.names, self.unpack_from(data, at)))

    def offset(self, name):
        return self.places[name][0]

    def get(self, data, name, at=0):
        """One field; of an array, the tuple of its elements."""
        offset, form = self.places[name]
        values = form.unpack_from(data, at + offset)
        return values[0] if len(values) == 1 else values

    def put(self, data, name, value, at=0):
        offset, form = self.places[name]
        # In one piece: pack_into clears the field first, and a recorder that reads the field then sees it go back.
        data[at + offset:at + offset + form.size] = form.pack(value)


def record(kind, layout=None, tail=b"", **values):
    """A record with its header; `tail`: what follows the fixed fields."""
    fixed = (layout or RECORD).make(**values)
    size = -(-(len(fixed) + len(tail)) // 8) * 8
    head = RECORD.make(type=kind, bytes=size)
    return head + fixed[len(head):] + tail + bytes(size - len(fixed) - len(tail))


def ring(number):
    """Where a ring's struct is in the segment."""
    return RINGS_OFFSET + number * RING.size


)";

}  // namespace

#define FIELD(member)                                                          \
  Field {                                                                      \
#member, offsetof(Struct, member), format_of < decltype(Struct::member)>() \
  }
#define LAYOUT(name, type, ...)                        \
  {                                                    \
    using Struct = type;                               \
    print_layout(name, sizeof(Struct), {__VA_ARGS__}); \
  }
#define CONSTANT(name) std::printf("%s = %" PRIu64 "\n", #name, static_cast<uint64_t>(GPUPROF_##name))
#define RECORD_TYPE(name) std::printf("RECORD_%s = %u\n", #name, static_cast<unsigned>(GPUPROF_RECORD_##name))

namespace {

void print_constants() {
  CONSTANT(WIRE_MAGIC);
  CONSTANT(WIRE_VERSION);
  CONSTANT(RING_COUNT);
  CONSTANT(RING_BYTES);
  CONSTANT(SEGMENT_DATA_OFFSET);
  CONSTANT(SEGMENT_BYTES);
  std::printf("RINGS_OFFSET = %zu\n", offsetof(gpuprof_segment, rings));
  CONSTANT(CONTROL_ENABLED);
  CONSTANT(CONTROL_LAUNCH_RECORDS);
  CONSTANT(CONTROL_FLUSH);
  CONSTANT(CONTROL_CALLS);
  CONSTANT(CONTROL_RETRACT);
  CONSTANT(OPTION_LATENCY);
  CONSTANT(OPTION_WHOLE_GRAPHS);
  CONSTANT(OPTION_ATTACHED);
  CONSTANT(OPTION_STACKS);
  CONSTANT(OPTION_SAMPLES);
  CONSTANT(OPTION_CODE_ONLY);
  CONSTANT(OPTION_WINDOWS);
  CONSTANT(OPTION_CPU);
  CONSTANT(STATE_ACTIVE);
  CONSTANT(STATE_FINISHED);
  CONSTANT(WORD_PYTHON);
  CONSTANT(WORD_EVAL);
  CONSTANT(WORD_EXACT);
  CONSTANT(WORD_ADDRESS);
  CONSTANT(STACK_MAX_WORDS);
  CONSTANT(STACK_TRUNCATED);
  CONSTANT(STACK_NO_PYTHON);
  CONSTANT(MAX_MODULES);
  CONSTANT(CORRELATION_HOST);
  CONSTANT(CORRELATION_NODE);
  CONSTANT(CORRELATION_EXEC);
  CONSTANT(GPU_OP_MORE);
  CONSTANT(GRAPH_NODE_DESTROYED);
  CONSTANT(GRAPH_NODE_UPDATED);
}

void print_record_types() {
  RECORD_TYPE(PAD);
  RECORD_TYPE(NAME);
  RECORD_TYPE(DEVICE);
  RECORD_TYPE(GPU_OP);
  RECORD_TYPE(LAUNCH);
  RECORD_TYPE(META);
  RECORD_TYPE(HOST_OP);
  RECORD_TYPE(GRAPH_NODE);
  RECORD_TYPE(RANGE);
  RECORD_TYPE(CALL);
  RECORD_TYPE(SPAN);
  RECORD_TYPE(STACK);
  RECORD_TYPE(CODE);
  RECORD_TYPE(PYTHON);
  RECORD_TYPE(MODULE);
  RECORD_TYPE(MAPPINGS);
  RECORD_TYPE(GRAPH_LAUNCH);
  RECORD_TYPE(SAMPLES);
  RECORD_TYPE(SAMPLE_WINDOW);
  RECORD_TYPE(GPU_KERNEL);
}

#define NAMED(prefix, name)          \
  Enumerator {                       \
#name, GPUPROF_##prefix##_##name \
  }

void print_enums() {
  print_names("STATES", {NAMED(STATE, STARTING), NAMED(STATE, ACTIVE), NAMED(STATE, FINISHED), NAMED(STATE, DISABLED)});
  print_names("LOSSES", {NAMED(LOSS, RING_FULL), NAMED(LOSS, RING_BUSY), NAMED(LOSS, VENDOR_DROPPED),
                         NAMED(LOSS, INVALID_TIMESTAMP), NAMED(LOSS, NO_TIMING), NAMED(LOSS, OUT_OF_MEMORY),
                         NAMED(LOSS, REENTRANT), NAMED(LOSS, UNFINISHED), NAMED(LOSS, RANGE_LIMIT), NAMED(LOSS, STACK),
                         NAMED(LOSS, DETAIL), NAMED(LOSS, KERNEL_NAME)});
  print_names("COUNTS", {NAMED(COUNT, CAPTURED), NAMED(COUNT, FAILED), NAMED(COUNT, OUTSIDE), NAMED(COUNT, GPU_OPS),
                         NAMED(COUNT, PASSED)});
  print_names(
      "OPS", {NAMED(OP, KERNEL), NAMED(OP, COPY_HTOD), NAMED(OP, COPY_DTOH), NAMED(OP, COPY_DTOD), NAMED(OP, COPY_HTOH),
              NAMED(OP, COPY_PTOP), NAMED(OP, COPY), NAMED(OP, FILL), NAMED(OP, OTHER), NAMED(OP, GRAPH)});
  print_names("HOST_OPS", {NAMED(HOST, SYNC), NAMED(HOST, ALLOC), NAMED(HOST, FREE), NAMED(HOST, FAULT_GPU),
                           NAMED(HOST, FAULT_CPU), NAMED(HOST, MIGRATE_HTOD), NAMED(HOST, MIGRATE_DTOH),
                           NAMED(HOST, FAILED), NAMED(HOST, CPU), NAMED(HOST, CALL)});
}

void print_segment() {
  LAYOUT("HELLO", gpuprof_hello, FIELD(magic), FIELD(version), FIELD(token), FIELD(backend), FIELD(python));
  LAYOUT("WELCOME", gpuprof_welcome, FIELD(magic), FIELD(version), FIELD(source_id), FIELD(segment_bytes),
         FIELD(clock_offset_ns));
  LAYOUT("SEGMENT", gpuprof_segment, FIELD(magic), FIELD(version), FIELD(source_id), FIELD(control), FIELD(state),
         FIELD(flushed), FIELD(heartbeat_ns), FIELD(reason), FIELD(options));
  LAYOUT("SEGMENT_OPTIONS", gpuprof_options, FIELD(flags), FIELD(sampling_period), FIELD(nvtx_range));
  LAYOUT("RING", gpuprof_ring, FIELD(head), FIELD(launches), FIELD(overhead_samples), FIELD(overhead_ns), FIELD(lock),
         FIELD(tail), FIELD(lost), FIELD(counts));
  LAYOUT("RECORD", gpuprof_record, FIELD(type), FIELD(bytes));
}

void print_work() {
  LAYOUT("NAME", gpuprof_name, FIELD(id), FIELD(length));
  LAYOUT("DEVICE", gpuprof_device, FIELD(device), FIELD(name_id), FIELD(uuid_id));
  LAYOUT("GPU_OP", gpuprof_gpu_op, FIELD(correlation), FIELD(start_ns), FIELD(end_ns), FIELD(queued_ns),
         FIELD(submitted_ns), FIELD(bytes), FIELD(stream), FIELD(name_id), FIELD(device), FIELD(op), FIELD(flags),
         FIELD(context), FIELD(graph_node));
  LAYOUT("LAUNCH", gpuprof_launch, FIELD(correlation), FIELD(time_ns), FIELD(tid), FIELD(range), FIELD(thread),
         FIELD(stack));
  LAYOUT("HOST_OP", gpuprof_host_op, FIELD(correlation), FIELD(start_ns), FIELD(end_ns), FIELD(bytes), FIELD(count),
         FIELD(name_id), FIELD(device), FIELD(tid), FIELD(op));
  LAYOUT("GRAPH_NODE", gpuprof_graph_node, FIELD(node), FIELD(original), FIELD(launch), FIELD(time_ns), FIELD(flags),
         FIELD(name_id));
  LAYOUT("GRAPH_LAUNCH", gpuprof_graph_launch, FIELD(correlation), FIELD(time_ns), FIELD(finished), FIELD(exec),
         FIELD(stream), FIELD(flags));
  LAYOUT("RANGE", gpuprof_range, FIELD(id), FIELD(parent), FIELD(domain_id), FIELD(name_id));
  LAYOUT("CALL", gpuprof_call, FIELD(correlation), FIELD(start_ns), FIELD(end_ns), FIELD(name_id), FIELD(tid));
  LAYOUT("SPAN", gpuprof_span, FIELD(start_ns), FIELD(end_ns), FIELD(range), FIELD(tid));
  LAYOUT("META", gpuprof_meta, FIELD(length));
}

void print_stacks() {
  LAYOUT("STACK", gpuprof_stack, FIELD(stack), FIELD(count), FIELD(flags), FIELD(modules));
  LAYOUT("MODULE", gpuprof_module, FIELD(start), FIELD(end), FIELD(offset), FIELD(module), FIELD(path_bytes),
         FIELD(marks));
  LAYOUT("MODULE_MARK", gpuprof_module_mark, FIELD(offset), FIELD(bytes));
  LAYOUT("CODE", gpuprof_code, FIELD(id), FIELD(first_line), FIELD(version), FIELD(name_bytes), FIELD(file_bytes),
         FIELD(line_table_bytes));
  LAYOUT("PYTHON", gpuprof_python, FIELD(layout));
  LAYOUT("PYTHON_LAYOUT", gpuprof_python_layout, FIELD(version), FIELD(flags), FIELD(code_type), FIELD(eval_begin),
         FIELD(eval_end));
}

void print_samples() {
  LAYOUT("SAMPLES", gpuprof_samples, FIELD(module), FIELD(offset), FIELD(function_id), FIELD(window), FIELD(count),
         FIELD(flags));
  CONSTANT(SAMPLES_ADDRESS);
  CONSTANT(SAMPLES_LOW_ADDRESS);
  CONSTANT(SAMPLE_WINDOW_NS);
  LAYOUT("SAMPLE_REASON", gpuprof_sample_reason, FIELD(reason_id), FIELD(samples));
  LAYOUT("SAMPLE_WINDOW", gpuprof_sample_window, FIELD(start_ns), FIELD(end_ns), FIELD(handed), FIELD(dropped),
         FIELD(foreign), FIELD(period), FIELD(window), FIELD(device), FIELD(context), FIELD(whole), FIELD(flags));
  LAYOUT("GPU_KERNEL", gpuprof_gpu_kernel, FIELD(module), FIELD(address), FIELD(time_ns), FIELD(load), FIELD(name_id),
         FIELD(flags), FIELD(device));
  CONSTANT(GPU_KERNEL_GONE);
  CONSTANT(CODE_MAGIC);
  CONSTANT(CODE_CUBIN);
  CONSTANT(CODE_ZEBIN);
  CONSTANT(CODE_HAVE_IT);
  CONSTANT(CODE_SEND);
  CONSTANT(CODE_REFUSED);
  LAYOUT("CODE_OFFER", gpuprof_code_offer, FIELD(magic), FIELD(version), FIELD(token), FIELD(source_id), FIELD(kind),
         FIELD(module), FIELD(bytes));
  LAYOUT("CODE_ANSWER", gpuprof_code_answer, FIELD(magic), FIELD(word));
  LAYOUT("CODE_FILE", gpuprof_code_file, FIELD(magic));
}

}  // namespace

int main() {
  std::printf("# Made from src/wire/wire.h by test/runtime/wire_layout.cpp.%s", kLayout);
  print_constants();
  print_record_types();
  print_enums();
  print_segment();
  print_work();
  print_stacks();
  print_samples();
  return std::fflush(stdout) == 0 ? 0 : 1;
}
