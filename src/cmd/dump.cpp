#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <span>
#include <type_traits>
#include <utility>

#include "base/files/file.h"
#include "base/log.h"
#include "base/return_if_error.h"
#include "base/text/append_number.h"
#include "base/text/utf8.h"
#include "cmd/command.h"
#include "cmd/common/input.h"
#include "profile/keywords.h"
#include "profile/log_buckets.h"
#include "profile/record_fields.h"
#include "profile/tables.h"
#include "profile/writer.h"

namespace gpuprof::cmd {
namespace {

namespace p = gpuprof::profile;

// Prints records as "kind key=value key=value ...". Instead of ids, it prints the values to which they refer.
class Printer {
 public:
  Printer(const p::Tables& tables, TextStream& stream) : tables_(tables), stream_(stream), out_(stream.text()) {}

  void print(const p::Record& record) {
    std::visit([this](const auto& r) { put(r); }, record);
    out_ += '\n';
  }

 private:
  Printer& kind(std::string_view name) {
    const size_t size = out_.size();
    out_ += name;
    std::for_each(out_.begin() + static_cast<ptrdiff_t>(size), out_.end(),
                  [](char& c) { c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); });
    return *this;
  }
  Printer& key(std::string_view name) {
    out_ += ' ';
    out_ += name;
    out_ += '=';
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
  Printer& number(std::string_view name, uint64_t value) {
    append_number(value, key(name).out_);
    return *this;
  }
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
  // The functions optional_*() print rare fields only if they are set.
  Printer& optional_stack(std::string_view name, p::StackId id) { return index(id) == 0 ? *this : stack(name, id); }
  Printer& optional_string(std::string_view name, p::StringId id) { return index(id) == 0 ? *this : string(name, id); }
  Printer& optional_number(std::string_view name, uint64_t value) { return value == 0 ? *this : number(name, value); }

  Printer& work(p::WorkId id) {
    number("work", index(id));
    const p::Work* work = tables_.work(id);
    return work == nullptr ? *this : work_fields(*work);
  }
  // Prints enough of a WORK to identify it. The line of its GPU, HOST or LAUNCH record has all fields.
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
  // Prints all fields of a record in the order of its line. For some record types, an overload of put() does it
  // instead.
  template <typename R>
  void put(const R& r) {
    kind(kind_of(r));
    for_each_field(r, [&]<typename F, typename T>(const F& field, const T& value) {
      if constexpr (F::kForm == p::Form::hexadecimal) {
        hex(field.name, value);
      } else if constexpr (F::kForm == p::Form::own_id) {
        number(field.name, index(value));
      } else if constexpr (std::is_same_v<T, p::WorkId>) {
        // The lines of GPU, HOST and LAUNCH records have all fields of their WORK. Other lines have only what
        // identifies it.
        constexpr bool kMeasured =
            std::is_same_v<R, p::Gpu> || std::is_same_v<R, p::Host> || std::is_same_v<R, p::Launch>;
        kMeasured ? work(value) : short_work(value);
      } else if (!p::is_left_out<F>(value)) {
        put_field(field.name, value);
      }
      return true;
    });
  }
  void put_field(std::string_view name, std::string_view value) { text(name, value); }
  void put_field(std::string_view name, p::Uint128 value) { word(name, wide(value)); }
  void put_field(std::string_view name, p::FrameKind value) { word(name, p::word(value)); }
  void put_field(std::string_view name, p::Phase value) { word(name, p::word(value)); }
  void put_field(std::string_view name, uint64_t value) { number(name, value); }
  void put_field(std::string_view name, uint32_t value) {
    if (name != "flags") {
      number(name, value);
    } else if ((value & p::kSampleEstimated) != 0) {
      word("estimated", "yes");
    }
  }
  void put_field(std::string_view name, p::StringId id) {
    const bool optional = name == "rank" || name == "host" || name == "uuid" || name == "what";
    optional ? optional_string(name, id) : string(name, id);
  }
  void put_field(std::string_view /*name*/, p::ProcessId id) { process(id); }
  void put_field(std::string_view name, p::StackId id) { stack(name, id); }
  void put_field(std::string_view name, p::DeviceId id) { optional_number(name, index(id)); }
  void put_field(std::string_view name, p::SamplingId id) { optional_number(name, index(id)); }
  void put_field(std::string_view name, p::GpuPlaceId id) {
    name == "place" ? place(id) : optional_number(name, index(id));
  }
  void put_field(std::string_view name, p::RangeId id) {
    number(name, index(id));
    if (const p::Range* const range = tables_.range(id); name == "range") {
      string("name", range == nullptr ? p::StringId{} : range->name);
    }
  }
  template <p::AnyId Id>
  void put_field(std::string_view name, Id id) {
    number(name, index(id));
  }
  template <typename Buckets>
  void put_field(std::string_view /*name*/, std::span<const p::BucketCount<Buckets>> buckets) {
    for (const p::BucketCount<Buckets>& bucket : buckets) {
      // low() and high() may be called, because the reader rejects lines with invalid buckets.
      const std::string range =
          std::to_string(Buckets::low(bucket.bucket)) + ".." + std::to_string(Buckets::high(bucket.bucket)) + "ns";
      number(range, bucket.count);
    }
  }

  void put(const p::Stack& r) {
    kind(kind_of(r)).number("id", index(r.id)).number("depth", r.elements.size());
    for (const p::StackElement& element : r.elements) {
      if (element.is_address) {
        hex("address", element.address);
      } else if (!element.text.empty()) {
        text("frame", element.text);
      } else {
        put_frame(element.frame);
      }
      stream_.checkpoint();  // a record may print many long names, so limits the buffered text
    }
  }
  void put(const p::Work& r) { kind(kind_of(r)).number("id", index(r.id)).work_fields(r); }
  void put(const p::GpuPlace& r) {
    kind(kind_of(r)).number("id", index(r.id)).number("module", index(r.module)).string("function", r.function);
    hex("offset", r.offset).string("insn", r.instruction);
    for (const p::FrameId id : r.frames) {
      put_frame(id);
      stream_.checkpoint();
    }
  }
  void put(const p::Unknown& r) { kind("unknown").word("kind", r.kind); }
  void put_frame(p::FrameId id) {
    const p::Frame* frame = tables_.frame(id);
    text("frame", frame == nullptr ? std::string_view() : tables_.text(frame->name));
  }

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
    app.add_flag("--raw", raw_, "print the lines of the profile unchanged");
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
      return out.failed() ? Status(Error{}) : Status();  // stops reading; finish() returns the real error
    });
    // Also writes the records that were read before an error.
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
