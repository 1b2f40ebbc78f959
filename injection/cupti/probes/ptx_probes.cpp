#include "cupti/probes/ptx_probes.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "cupti/probes/ptx_lexer.h"
#include "cupti/probes/ptx_module.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr uint64_t kMostShared = 48 * 1024;
constexpr uint64_t kProbeShared = 16;
// Programs that use large operands often rely on the alignment of dynamic shared memory without declaring it. A probe
// that takes 1024 bytes keeps this alignment.
constexpr uint64_t kAlignedProbeShared = 1024;
constexpr size_t kMostExits = 256;  // copies of the code at the end of a kernel

// Each thread begins with this code. Thread 0 stores the start in shared memory, so that no register holds it. Only its
// warp reads the timer, which takes long.
constexpr std::string_view kBegin = R"(
	.reg .pred %gpuprof_p;
	.reg .b32 %gpuprof_r<4>;
	.reg .b64 %gpuprof_d<6>;
	mov.u32 %gpuprof_r0, %tid.x;
	mov.u32 %gpuprof_r1, %tid.y;
	mov.u32 %gpuprof_r2, %tid.z;
	or.b32 %gpuprof_r0, %gpuprof_r0, %gpuprof_r1;
	or.b32 %gpuprof_r0, %gpuprof_r0, %gpuprof_r2;
	setp.ne.u32 %gpuprof_p, %gpuprof_r0, 0;
	@%gpuprof_p bra $gpuprof_begun;
	mov.u32 %gpuprof_r1, 0;
	mov.u64 %gpuprof_d0, %globaltimer;
	st.shared.u64 [gpuprof_block], %gpuprof_d0;
	st.shared.u32 [gpuprof_block+8], %gpuprof_r1;
$gpuprof_begun:
	bar.sync 0;
)";

// Each thread ends with a copy of this code. The highest lane of those that end together counts them. The thread that
// counts the last one writes the record.
constexpr std::string_view kCountThreads = R"(
	activemask.b32 %gpuprof_r0;
	mov.u32 %gpuprof_r1, %laneid;
	bfind.u32 %gpuprof_r2, %gpuprof_r0;
	setp.ne.u32 %gpuprof_p, %gpuprof_r1, %gpuprof_r2;
	@%gpuprof_p ret;
	popc.b32 %gpuprof_r0, %gpuprof_r0;
	atom.shared.add.u32 %gpuprof_r1, [gpuprof_block+8], %gpuprof_r0;
	add.u32 %gpuprof_r1, %gpuprof_r1, %gpuprof_r0;
	mov.u32 %gpuprof_r0, %ntid.x;
	mov.u32 %gpuprof_r2, %ntid.y;
	mul.lo.u32 %gpuprof_r0, %gpuprof_r0, %gpuprof_r2;
	mov.u32 %gpuprof_r2, %ntid.z;
	mul.lo.u32 %gpuprof_r0, %gpuprof_r0, %gpuprof_r2;
	setp.ne.u32 %gpuprof_p, %gpuprof_r0, %gpuprof_r1;
	@%gpuprof_p ret;
	ld.param.u64 %gpuprof_d0, [)";
constexpr std::string_view kWriteRecord = R"(];
	setp.eq.u64 %gpuprof_p, %gpuprof_d0, 0;
	@%gpuprof_p ret;
	mov.u64 %gpuprof_d2, %globaltimer;
	ld.shared.u64 %gpuprof_d1, [gpuprof_block];
	mov.u32 %gpuprof_r0, %ctaid.z;
	mov.u32 %gpuprof_r1, %nctaid.y;
	mov.u32 %gpuprof_r2, %ctaid.y;
	mad.lo.u32 %gpuprof_r0, %gpuprof_r0, %gpuprof_r1, %gpuprof_r2;
	mov.u32 %gpuprof_r1, %nctaid.x;
	mov.u32 %gpuprof_r2, %ctaid.x;
	cvt.u64.u32 %gpuprof_d3, %gpuprof_r2;
	mad.wide.u32 %gpuprof_d3, %gpuprof_r0, %gpuprof_r1, %gpuprof_d3;
	shl.b64 %gpuprof_d4, %gpuprof_d3, 5;
	add.u64 %gpuprof_d0, %gpuprof_d0, %gpuprof_d4;
	st.global.v2.u64 [%gpuprof_d0], {%gpuprof_d1, %gpuprof_d2};
	mov.u32 %gpuprof_r0, %smid;
	cvt.u32.u64 %gpuprof_r1, %gpuprof_d3;
	mov.b64 %gpuprof_d4, {%gpuprof_r0, %gpuprof_r1};
	mov.u64 %gpuprof_d5, %gridid;
	st.global.v2.u64 [%gpuprof_d0+16], {%gpuprof_d4, %gpuprof_d5};
	ret;
)";
constexpr std::string_view kParameterSuffix = "__gpuprof_param_blocks";
constexpr std::string_view kExitLabel = "$gpuprof_exit_";

// Text that grows. When memory is exhausted, it stays failed.
class Output {
 public:
  explicit Output(size_t capacity) : text_(static_cast<char*>(malloc(capacity))), capacity_(capacity) {}
  ~Output() { free(text_); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void add(std::string_view text) {
    if (text_ != nullptr && text.size() >= capacity_ - bytes_) {
      const size_t capacity = (bytes_ + text.size() + 1) * 2;
      char* const larger = static_cast<char*>(realloc(text_, capacity));
      if (larger == nullptr) {
        free(text_);
      }
      text_ = larger;
      capacity_ = capacity;
    }
    if (text_ != nullptr && !text.empty()) {
      memcpy(text_ + bytes_, text.data(), text.size());
      bytes_ += text.size();
    }
  }

  void add(size_t number) {
    char digits[20];
    add({digits, static_cast<size_t>(std::to_chars(digits, digits + sizeof(digits), number).ptr - digits)});
  }

  size_t bytes() const { return bytes_; }
  void cut(size_t bytes) { bytes_ = bytes; }

  PtxText release() {
    if (text_ == nullptr) {
      return {nullptr, 0};
    }
    text_[bytes_] = '\0';
    const PtxText result = {text_, bytes_};
    text_ = nullptr;
    return result;
  }

 private:
  char* text_;
  size_t capacity_;
  size_t bytes_ = 0;
};

bool returns(const PtxStatement& statement) {
  return statement.opcode == "ret" || statement.opcode == "ret.uni" || statement.opcode == "exit";
}

// The labels directly before a `ret` of a kernel. nvcc sends all early returns of a kernel to such a label.
class ReturnLabels {
 public:
  ReturnLabels() = default;
  ~ReturnLabels() { free(labels_); }
  ReturnLabels(const ReturnLabels&) = delete;
  ReturnLabels& operator=(const ReturnLabels&) = delete;

  // Returns false if memory is exhausted.
  bool find(const PtxKernel& kernel) {
    labels_ = static_cast<std::string_view*>(malloc((kernel.labels + 1) * sizeof(std::string_view)));
    if (labels_ == nullptr) {
      return false;
    }
    PtxLexer lexer(kernel.body);
    size_t last = 0;  // with the labels that may be followed by a `ret`
    size_t depth = 0;
    for (PtxStatement statement = next_statement(&lexer); statement.kind != PtxStatement::end;
         statement = next_statement(&lexer)) {
      if (statement.kind == PtxStatement::label && depth == 1) {
        labels_[last++] = statement.opcode;
      } else if (statement.kind != PtxStatement::source_line) {
        depth += statement.kind == PtxStatement::open;
        depth -= statement.kind == PtxStatement::close;
        if (statement.kind == PtxStatement::instruction && returns(statement) && !statement.predicated) {
          count_ = last;
        }
        last = count_;
      }
    }
    std::sort(labels_, labels_ + count_);
    return true;
  }

  bool has(std::string_view label) const { return std::binary_search(labels_, labels_ + count_, label); }

 private:
  std::string_view* labels_ = nullptr;
  size_t count_ = 0;
};

// Writes the probed copy of a kernel's body.
//
// Each way to the end of the kernel gets its own copy of the code at the end. If threads of a warp came together
// there, ptxas would let those that end early wait for the others. The others may wait at a barrier, which counts
// threads that have ended, but not threads that wait. So the kernel would hang.
class BodyWriter {
 public:
  BodyWriter(const PtxKernel& kernel, const ReturnLabels& labels, Output* output)
      : kernel_(kernel), labels_(labels), output_(output), copied_(kernel.body.data()) {}

  // Returns false if the kernel must be left alone.
  bool write(uint64_t shared_bytes) {
    PtxLexer lexer(kernel_.body);
    next_statement(&lexer);  // the first brace
    copy_to(lexer.position());
    output_->add("\n\t.shared .align 8 .b8 gpuprof_block[");
    output_->add(shared_bytes);
    output_->add("];");
    output_->add(kBegin);
    bool ended = false;
    for (size_t depth = 1; depth != 0;) {
      if (inlined_exits_ + exits_ > kMostExits) {
        return false;
      }
      const PtxStatement statement = next_statement(&lexer);
      if (statement.kind == PtxStatement::close && --depth == 0) {
        copy_to(statement.text.data());
      } else if (statement.kind == PtxStatement::open) {
        ++depth;
      } else if (statement.kind == PtxStatement::label && depth > 1 && labels_.has(statement.opcode)) {
        return false;  // one name, two labels
      } else if (statement.kind == PtxStatement::instruction) {
        write_instruction(statement);
      } else if (statement.kind == PtxStatement::declaration && statement.opcode == ".branchtargets") {
        write_targets(statement.text);
      }
      if (statement.kind != PtxStatement::source_line && depth != 0) {
        ended = statement.kind == PtxStatement::instruction && returns(statement) && !statement.predicated;
      }
    }
    if (!ended) {
      write_exit();
    }
    for (size_t i = 0; i < exits_; ++i) {
      output_->add(kExitLabel);
      output_->add(i);
      output_->add(":");
      write_exit();
    }
    output_->add("}\n");
    return true;
  }

 private:
  // Copies the body up to a position.
  void copy_to(const char* position) {
    output_->add({copied_, static_cast<size_t>(position - copied_)});
    copied_ = position;
  }

  void write_exit() {
    output_->add(kCountThreads);
    output_->add(kernel_.name);
    output_->add(kParameterSuffix);
    output_->add(kWriteRecord);
  }

  void write_new_label() {
    output_->add(kExitLabel);
    output_->add(exits_++);
  }

  void write_instruction(const PtxStatement& statement) {
    if (returns(statement)) {
      copy_to(statement.predicated ? statement.opcode.data() : statement.text.data());
      copied_ = statement.text.data() + statement.text.size();
      if (statement.predicated) {
        output_->add(statement.opcode == "ret.uni" ? "bra.uni " : "bra ");
        write_new_label();
        output_->add(";");
      } else {
        write_exit();
        ++inlined_exits_;
      }
    } else if (statement.opcode == "bra" || statement.opcode == "bra.uni") {
      const char* const operands = statement.opcode.data() + statement.opcode.size();
      write_targets({operands, static_cast<size_t>(statement.text.data() + statement.text.size() - operands)});
    }
  }

  // Replaces labels before a `ret` by own labels.
  void write_targets(std::string_view targets) {
    PtxLexer lexer(targets);
    for (PtxToken token = lexer.next(); token.kind != PtxToken::end; token = lexer.next()) {
      if (token.kind == PtxToken::word && labels_.has(token.text)) {
        copy_to(token.text.data());
        copied_ = token.text.data() + token.text.size();
        write_new_label();
      }
    }
  }

  const PtxKernel& kernel_;
  const ReturnLabels& labels_;
  Output* output_;
  const char* copied_;  // the body before this position is written
  size_t exits_ = 0;    // labels that replace others
  size_t inlined_exits_ = 0;
};

// Returns whether the copy was written.
bool write_copy(const PtxKernel& kernel, uint64_t shared_bytes, Output* output) {
  ReturnLabels labels;
  if (!labels.find(kernel)) {
    return false;
  }
  const size_t begin = output->bytes();
  output->add("\n.visible .entry ");
  output->add(kernel.name);
  output->add(kProbedSuffix);
  output->add("(");
  output->add(kernel.parameters);
  output->add(kernel.params == 0 ? "\n\t.param .u64 " : ",\n\t.param .u64 ");
  output->add(kernel.name);
  output->add(kParameterSuffix);
  output->add("\n)");
  output->add(kernel.limits);
  if (BodyWriter(kernel, labels, output).write(shared_bytes)) {
    return true;
  }
  output->cut(begin);
  return false;
}

// Returns why a kernel of this module cannot be probed.
NotProbed check(const PtxKernel& kernel, const PtxModule& module, uint64_t shared_bytes) {
  if (!kernel.is_known || !module.is_known) {
    return NotProbed::cannot_parse;
  }
  if (kernel.limits_registers) {
    return NotProbed::has_maxnreg;
  }
  if (kernel.has_cluster) {
    return NotProbed::has_cluster;
  }
  if (module.launches_kernels) {
    return NotProbed::launches_kernels;
  }
  if (module.exits_in_function) {
    return NotProbed::exits_in_function;
  }
  if (module.shared_bytes + kernel.shared_bytes + shared_bytes > kMostShared) {
    return NotProbed::too_much_shared;
  }
  return NotProbed::no;
}

// Returns whether the probe can use this PTX. `activemask` needs version 6.2, and the pointer has 64 bits. Code for
// debuggers reaches each `ret` over several jumps, which BodyWriter does not follow.
bool can_probe(std::string_view text) {
  PtxHeader header;
  return read_header(text.data(), text.size(), &header) && header.version >= 602 && header.arch >= 30 &&
         header.has_64_bits && !header.debug;
}

// Reads the whole module. Returns false if it cannot be probed.
bool read_module(std::string_view text, PtxModule* module) {
  PtxLexer lexer(text);
  PtxKernel kernel;
  PtxStep step = PtxStep::kernel;
  while (step == PtxStep::kernel) {
    step = next_kernel(&lexer, &kernel, module);
    if (step == PtxStep::kernel && kernel.name.ends_with(kProbedSuffix)) {
      return false;
    }
  }
  return step == PtxStep::end && can_probe(text);
}

}  // namespace

size_t list_entries(const PtxText& ptx, PtxEntry* entries, size_t most) {
  PtxLexer lexer({ptx.text, ptx.bytes});
  PtxModule module;
  PtxKernel kernel;
  size_t count = 0;
  while (true) {
    switch (next_kernel(&lexer, &kernel, &module)) {
      case PtxStep::error:
        return SIZE_MAX;
      case PtxStep::end:
        return count;
      case PtxStep::kernel:
        if (count < most) {
          entries[count++] = {kernel.name.data(), kernel.name.size(), kernel.params};
        }
    }
  }
}

PtxText add_block_probes(const PtxText& ptx, const PtxEntry* entries, size_t count, const bool* chosen,
                         NotProbed* why) {
  std::fill(why, why + count, NotProbed::no);
  const std::string_view text(ptx.text, ptx.bytes);
  PtxModule module;
  if (!read_module(text, &module)) {
    for (size_t i = 0; i < count; ++i) {
      why[i] = chosen[i] ? NotProbed::cannot_parse : NotProbed::no;
    }
    return {nullptr, 0};
  }
  Output output(text.size() * 2 + 4096);
  PtxLexer lexer(text);
  PtxModule again;
  PtxKernel kernel;
  const char* copied = text.data();
  size_t probed = 0;
  for (size_t i = 0; i < count && next_kernel(&lexer, &kernel, &again) == PtxStep::kernel; ++i) {
    if (!chosen[i]) {
      continue;
    }
    if (kernel.name.data() != entries[i].name) {  // the entries belong to another text
      why[i] = NotProbed::cannot_parse;
      continue;
    }
    const uint64_t shared_bytes = module.large_operands || kernel.large_operands ? kAlignedProbeShared : kProbeShared;
    why[i] = check(kernel, module, shared_bytes);
    if (why[i] != NotProbed::no) {
      continue;
    }
    output.add({copied, static_cast<size_t>(lexer.position() - copied)});
    copied = lexer.position();
    if (write_copy(kernel, shared_bytes, &output)) {
      ++probed;
    } else {
      why[i] = NotProbed::cannot_parse;
    }
  }
  output.add({copied, static_cast<size_t>(text.data() + text.size() - copied)});
  return probed == 0 ? PtxText{nullptr, 0} : output.release();
}

}  // namespace gpuprof::injection::cupti
