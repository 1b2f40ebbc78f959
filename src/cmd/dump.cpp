#include <unistd.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "base/files/file.h"
#include "base/log.h"
#include "base/return_if_error.h"
#include "base/utf8.h"
#include "cmd/command.h"
#include "cmd/common/input.h"
#include "profile/latency_bucket.h"
#include "profile/tables.h"
#include "profile/words.h"
#include "profile/writer.h"

namespace gpuprof::cmd {
namespace {

namespace p = gpuprof::profile;

// "kind key=value key=value ...": ids are shown with what they stand for.
class Printer {
 public:
  Printer(const p::Tables& tables, TextStream& stream) : tables_(tables), stream_(stream), out_(stream.text()) {}

  void print(const p::Record& record) {
    std::visit([this](const auto& r) { put(r); }, record);
    out_ += '\n';
  }

 private:
  Printer& kind(std::string_view name) {
    out_ += name;
    return *this;
  }
  Printer& key(std::string_view name) {
    out_.append(" ").append(name).append("=");
    return *this;
  }
  Printer& word(std::string_view name, std::string_view value) {
    key(name).out_ += value;
    return *this;
  }
  Printer& text(std::string_view name, std::string_view value) {
    key(name).out_ += '"';
    append_escaped(value, "\"\\", out_);
    out_ += '"';
    return *this;
  }
  Printer& number(std::string_view name, uint64_t value) { return word(name, std::to_string(value)); }
  Printer& hex(std::string_view name, uint64_t value) {
    char digits[24];
    std::snprintf(digits, sizeof digits, "0x%llx", static_cast<unsigned long long>(value));
    return word(name, digits);
  }
  Printer& string(std::string_view name, p::StringId id) {
    return index(id) == 0 ? word(name, "-") : text(name, tables_.text(id));
  }
  Printer& stack(std::string_view name, p::StackId id) {
    return index(id) == 0 ? word(name, "-") : number(name, index(id));
  }
  Printer& process(p::ProcessId id) {
    const p::Process* process = tables_.process(id);
    number("process", index(id));
    return process == nullptr ? *this : number("pid", process->pid);
  }
  // What is hardly ever there is shown only where it is.
  Printer& optional_stack(std::string_view name, p::StackId id) { return index(id) == 0 ? *this : stack(name, id); }
  Printer& optional_string(std::string_view name, p::StringId id) { return index(id) == 0 ? *this : string(name, id); }
  Printer& optional_number(std::string_view name, uint64_t value) { return value == 0 ? *this : number(name, value); }

  // The work's id and all that it says.
  Printer& work(p::WorkId id) {
    number("work", index(id));
    const p::Work* work = tables_.work(id);
    return work == nullptr ? *this : work_fields(*work);
  }
  // Enough to know it by, for the many lines that come besides its GPU or HOST line.
  Printer& short_work(p::WorkId id) {
    number("work", index(id));
    const p::Work* work = tables_.work(id);
    return work == nullptr ? *this : word("op", p::word(work->op)).string("name", work->name);
  }
  Printer& place(p::GpuPlaceId id) {
    number("place", index(id));
    const p::GpuPlace* place = tables_.gpu_place(id);
    return place == nullptr ? *this
                            : string("function", place->function)
                                  .hex("offset", place->offset)
                                  .string("insn", tables_.instruction(id).text);
  }
  Printer& work_fields(const p::Work& r) {
    process(r.process).optional_number("tid", r.tid).string("thread", r.thread).stack("ustack", r.ustack);
    stack("kstack", r.kstack).optional_stack("capture", r.capture).optional_number("range", index(r.range));
    if (r.op == p::Op::launch) {
      return string("function", r.name);
    }
    number("device", index(r.device)).number("stream", r.stream).word("op", p::word(r.op)).string("name", r.name);
    if ((r.flags & p::kWorkGraphNode) != 0) {
      word("graph_node", (r.flags & p::kWorkAttached) != 0 ? "attached" : "yes");
    }
    return (r.flags & p::kWorkUnsampled) != 0 ? word("unsampled", "yes") : *this;
  }
  template <typename Interval>
  Printer& interval(const Interval& r) {
    return number("start_ns", r.start_ns).number("end_ns", r.end_ns);
  }

  void put(const p::Meta& r) { kind("meta").text("key", r.key).text("value", r.value); }
  void put(const p::String& r) { kind("string").number("id", index(r.id)).text("value", r.value); }
  void put(const p::Frame& r) {
    kind("frame").number("id", index(r.id)).word("kind", p::word(r.kind)).string("name", r.name);
    string("file", r.file).number("line", r.line).string("module", r.module).string("build_id", r.build_id);
    hex("address", r.address);
  }
  void put(const p::Stack& r) {
    kind(r.kernel ? "kstack" : "ustack").number("id", index(r.id)).number("depth", r.elements.size());
    for (const p::StackElement& element : r.elements) {
      if (element.is_address) {
        hex("address", element.address);
      } else if (!element.text.empty()) {
        text("frame", element.text);
      } else {
        const p::Frame* frame = tables_.frame(element.frame);
        text("frame", frame == nullptr ? std::string_view() : tables_.text(frame->name));
      }
      stream_.checkpoint();  // a frame takes a few bytes of the profile, and its name any number
    }
  }
  void put(const p::Process& r) {
    kind("process").number("id", index(r.id)).number("pid", r.pid).number("ppid", r.ppid);
    number("start_ns", r.start_ns).string("name", r.name).string("command", r.command);
    optional_string("rank", r.rank).optional_string("host", r.host);
  }
  void put(const p::Device& r) {
    kind("device").number("id", index(r.id)).string("backend", r.backend).number("index", r.index);
    string("name", r.name).optional_string("uuid", r.uuid);
  }
  void put(const p::Range& r) {
    kind("range").number("id", index(r.id)).number("parent", index(r.parent)).string("domain", r.domain);
    string("name", r.name);
  }
  void put(const p::Work& r) { kind("work").number("id", index(r.id)).work_fields(r); }
  void put(const p::Gpu& r) {
    kind("gpu").number("slice", r.slice).work(r.work).number("count", r.count).number("sum_ns", r.sum_ns);
    number("min_ns", r.min_ns).number("max_ns", r.max_ns).word("sum_squares_ns2", wide(r.sum_squares_ns2));
    number("queue_ns", r.queue_ns).number("bytes", r.bytes);
  }
  void put(const p::Host& r) {
    kind("host").number("slice", r.slice).work(r.work).number("count", r.count).number("sum_ns", r.sum_ns);
    number("min_ns", r.min_ns).number("max_ns", r.max_ns).number("bytes", r.bytes);
  }
  void put(const p::Launch& r) { kind("launch").number("slice", r.slice).work(r.work).number("count", r.count); }
  void put(const p::Share& r) {
    kind("share").number("slice", r.slice).short_work(r.work).number("busy_ns", r.busy_ns);
    number("exclusive_ns", r.exclusive_ns);
  }
  void put(const p::Idle& r) {
    kind("idle").number("slice", r.slice).number("device", index(r.device)).short_work(r.work).number("ns", r.ns);
  }
  void put(const p::Window& r) { kind("window").interval(r); }
  void put(const p::Latency& r) {
    kind("latency")
        .short_work(r.work)
        .word("phase", p::word(r.phase))
        .number("count", r.count)
        .number("sum_ns", r.sum_ns);
    number("min_ns", r.min_ns).number("max_ns", r.max_ns);
    for (const p::Latency::Bucket& bucket : r.buckets) {
      // The reader lets no bucket through that is not one.
      const std::string range =
          std::to_string(p::bucket_low(bucket.bucket)) + ".." + std::to_string(p::bucket_high(bucket.bucket)) + "ns";
      number(range, bucket.count);
    }
  }
  void put(const p::Event& r) {
    kind("event").short_work(r.work).number("correlation", r.correlation).interval(r).number("queued_ns", r.queued_ns);
    number("submitted_ns", r.submitted_ns).number("bytes", r.bytes);
  }
  void put(const p::Call& r) {
    kind("call").process(r.process).number("tid", r.tid).stack("ustack", r.ustack).string("function", r.function);
    number("correlation", r.correlation).interval(r);
  }
  void put(const p::Span& r) {
    const p::Range* range = tables_.range(r.range);
    kind("span").process(r.process).number("tid", r.tid).number("range", index(r.range));
    string("name", range == nullptr ? p::StringId{} : range->name).interval(r);
  }
  void put(const p::Coverage& r) { kind("coverage").process(r.process).text("what", r.what).number("count", r.count); }
  void put(const p::GpuModule& r) {
    kind("gpu_module").number("id", index(r.id)).string("name", r.name).string("hash", r.hash);
  }
  void put(const p::GpuPlace& r) {
    kind("gpu_place").number("id", index(r.id)).number("module", index(r.module)).string("function", r.function);
    hex("offset", r.offset).string("insn", r.instruction);
    for (const p::FrameId id : r.frames) {
      const p::Frame* frame = tables_.frame(id);
      text("frame", frame == nullptr ? std::string_view() : tables_.text(frame->name));
      stream_.checkpoint();
    }
  }
  void put(const p::GpuInstruction& r) {
    kind("gpu_instruction").place(r.place).string("text", r.text);
    optional_number("waits_for", index(r.waits_for)).optional_string("what", r.what);
  }
  void put(const p::GpuCount& r) {
    kind("gpu_count").process(r.process);
    optional_number("device", index(r.device)).place(r.place).string("name", r.name).number("value", r.value);
  }
  void put(const p::Sampling& r) {
    kind("sampling").number("id", index(r.id)).number("period", r.period).string("unit", r.unit);
  }
  void put(const p::EuStall& r) {
    kind("eustall").number("slice", r.slice).short_work(r.work).place(r.place).string("reason", r.reason);
    optional_number("sampling", index(r.sampling)).number("count", r.count);
    if ((r.flags & p::kSampleEstimated) != 0) {
      word("estimated", "yes");
    }
  }
  void put(const p::Loss& r) { kind("loss").process(r.process).text("reason", r.reason).number("count", r.count); }
  void put(const p::End& r) {
    kind("end").number("end_ns", r.end_ns).number("launches", r.launches).number("gpu_records", r.gpu_records);
    number("gpu_ns", r.gpu_ns).number("with_stack", r.with_stack).number("samples", r.samples);
    number("lost", r.lost);
  }
  void put(const p::Unknown& r) { kind("unknown").word("kind", r.kind); }

  static std::string wide(p::Uint128 value) {
    std::string text;
    do {
      text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
      value /= 10;
    } while (value != 0);
    return text;
  }

  const p::Tables& tables_;
  TextStream& stream_;
  std::string& out_;
};

class Dump : public Command {
 public:
  void declare(CLI::App& app) override {
    input_.declare(app);
    app.add_flag("--raw", raw_, "print the lines of the profile as they are");
  }

  Result<int> run() override {
    auto opened = input_.open();
    RETURN_IF_ERROR(opened);
    p::Reader& reader = *opened;
    const FileLimitAsError limit;
    TextStream out([](std::string_view text) { return write_all(STDOUT_FILENO, text, "standard output"); });
    if (raw_) {
      p::format_header(out.text());
    }
    p::Tables tables;
    Printer printer(tables, out);
    const Status done = read_records(reader, tables, [&](const p::Record& record) {
      if (raw_) {
        p::format_line(record, out.text());
      } else {
        printer.print(record);
      }
      out.checkpoint();
      return out.failed() ? Status(Error{}) : Status();  // finish() says why
    });
    // What was understood before an error is of use, too.
    RETURN_IF_ERROR(out.finish());
    if (done && reader.cut_short()) {
      log::warn("the profile is cut short: its last line is not finished");
    }
    if (reader.skipped_bad() > 0) {
      log::warn("bad lines skipped: " + std::to_string(reader.skipped_bad()));
    }
    RETURN_IF_ERROR(done);
    return 0;
  }

 private:
  Input input_;
  bool raw_ = false;
};

}  // namespace

std::unique_ptr<Command> make_dump() {
  return std::make_unique<Dump>();
}

}  // namespace gpuprof::cmd
