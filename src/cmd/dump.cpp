#include <unistd.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/utf8.h"
#include "cmd/command.h"
#include "cmd/input.h"
#include "profile/tables.h"
#include "profile/words.h"
#include "profile/writer.h"

namespace gpuprof::cmd {
namespace {

namespace p = gpuprof::profile;

constexpr size_t kFlushBytes = size_t{1} << 16U;

// "kind key=value key=value ...": ids are shown with what they stand for.
class Printer {
 public:
  Printer(const p::Tables& tables, std::string& out) : tables_(tables), out_(out) {}

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
    }
  }
  void put(const p::Process& r) {
    kind("process").number("id", index(r.id)).number("pid", r.pid).number("ppid", r.ppid);
    number("start_ns", r.start_ns).string("name", r.name).string("command", r.command);
  }
  void put(const p::Device& r) {
    kind("device").number("id", index(r.id)).string("backend", r.backend).number("index", r.index);
    string("name", r.name);
  }
  void put(const p::Gpu& r) {
    kind("gpu").number("slice", r.slice).process(r.process).string("thread", r.thread).stack("ustack", r.ustack);
    stack("kstack", r.kstack).number("device", index(r.device)).number("stream", r.stream).word("op", p::word(r.op));
    string("name", r.name).number("count", r.count).number("sum_ns", r.sum_ns).number("min_ns", r.min_ns);
    number("max_ns", r.max_ns).word("sum_squares_ns2", wide(r.sum_squares_ns2)).number("queue_ns", r.queue_ns);
    number("bytes", r.bytes);
  }
  void put(const p::Launch& r) {
    kind("launch").number("slice", r.slice).process(r.process).string("thread", r.thread).stack("ustack", r.ustack);
    stack("kstack", r.kstack).string("function", r.function).number("count", r.count);
  }
  void put(const p::ProcName& r) { kind("proc_name").string("name", r.name).number("pid", r.pid); }
  void put(const p::GpuFile& r) { kind("gpu_file").number("id", r.id).text("name", r.name); }
  void put(const p::GpuSymbol& r) { kind("gpu_symbol").number("id", r.id).text("name", r.name); }
  void put(const p::InsnText& r) { kind("insn_text").number("id", r.id).text("text", r.text); }
  void put(const p::EuStall& r) {
    kind("eustall").string("process", r.proc_name).number("pid", r.pid).stack("ustack", r.ustack);
    stack("kstack", r.kstack).text("file", tables_.gpu_file(r.gpu_file));
    text("symbol", tables_.gpu_symbol(r.gpu_symbol)).text("insn", tables_.insn_text(r.insn_text));
    const std::string_view stall = p::stall_type_word(r.stall_type);
    word("stall", stall.empty() ? std::to_string(r.stall_type) : std::string(stall)).hex("offset", r.offset);
    number("count", r.count);
  }
  void put(const p::Loss& r) { kind("loss").process(r.process).text("reason", r.reason).number("count", r.count); }
  void put(const p::End& r) {
    kind("end").number("end_ns", r.end_ns).number("launches", r.launches).number("gpu_records", r.gpu_records);
    number("gpu_ns", r.gpu_ns).number("with_stack", r.with_stack).number("lost", r.lost);
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
  std::string& out_;
};

class Dump : public Command {
 public:
  void declare(CLI::App& app) override {
    input_.declare(app);
    app.add_flag("--raw", raw_, "print the profile's own lines, as gpuprof writes them");
  }

  Result<int> run() override {
    auto opened = input_.open();
    if (!opened) {
      return std::move(opened).error();
    }
    p::Reader& reader = *opened;
    std::string out;
    if (raw_) {
      p::format_header(out);
    }
    Result<int> done = print_all(reader, out);
    // What was understood before an error is of use, too.
    if (Status written = flush(out); !written) {
      return std::move(written).error();
    }
    if (done && reader.cut_short()) {
      log::warn("the profile is cut short: its last line is not finished");
    }
    if (reader.skipped_bad() > 0) {
      log::warn("bad lines skipped: " + std::to_string(reader.skipped_bad()));
    }
    return done;
  }

 private:
  Result<int> print_all(p::Reader& reader, std::string& out) {
    p::Tables tables;
    Printer printer(tables, out);
    for (;;) {
      auto next = reader.next();
      if (!next) {
        return std::move(next).error();
      }
      if (!next->has_value()) {
        return 0;
      }
      if (const auto reason = tables.add(**next)) {
        if (!reader.lenient()) {
          return reader.error_here(*reason);
        }
        reader.count_bad();
        continue;
      }
      if (raw_) {
        p::format_line(**next, out);
      } else {
        printer.print(**next);
      }
      if (out.size() >= kFlushBytes) {
        if (Status written = flush(out); !written) {
          return std::move(written).error();
        }
      }
    }
  }

  static Status flush(std::string& out) {
    Status written = write_all(STDOUT_FILENO, out, "standard output");
    out.clear();
    return written;
  }

  Input input_;
  bool raw_ = false;
};

}  // namespace

std::unique_ptr<Command> make_dump() {
  return std::make_unique<Dump>();
}

}  // namespace gpuprof::cmd
