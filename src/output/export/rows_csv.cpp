#include <string>
#include <string_view>
#include <vector>

#include "analyze/paths/fold.h"
#include "base/text/append_number.h"
#include "base/text/utf8.h"
#include "output/export/rows.h"
#include "output/export/work_facts.h"
#include "output/folded.h"
#include "output/text.h"
#include "output/trust.h"

namespace gpuprof::output {
namespace {

using analyze::Walk;
using analyze::WalkRow;

// Appends text to a quoted CSV field.
void append_quoted(std::string_view text, std::string& out) {
  for (const char c : text) {
    out.append(c == '"' ? 2 : 1, c);
  }
}

void put_field(std::string_view text, std::string& out) {
  if (text.find_first_of("\",\r\n") == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  append_quoted(text, out);
  out += '"';
}

class CsvRows {
 public:
  CsvRows(Walk& walk, TextStream& stream) : walk_(walk), facts_(walk), stream_(stream), out_(stream.text()) {}

  void write() {
    out_ += "process,pid,rank,host,tid,thread,device,stream,range,op,name,stall";
    for (const WeightName& weight : kWeightNames) {
      out_.append(",").append(weight.name);
    }
    out_ += ",stack\n";
    for (const std::string& line : notice_lines(walk_.rows().info)) {
      put_note(line);
    }
    put_rows(walk_, stream_, [this](const WalkRow& row) { put_row(row); });
  }

 private:
  // CSV has no comments, so a note is a row whose numbers are 0.
  void put_note(std::string_view note) {
    out_ += ",,,,,,,,,note,";
    put_text(note);
    out_ += ',';  // leaves the stall column empty
    for (size_t i = 0; i < kWeightNames.size(); ++i) {
      out_ += "0,";
    }
    out_ += '\n';
  }

  void put_row(const WalkRow& row) {
    const WorkFacts facts = facts_.of(row.work);
    put_text(facts.process);
    put_number(facts.pid);
    put_text(facts.rank);
    put_text(facts.host);
    put_number(facts.tid);
    put_text(facts.thread);
    put_text(facts.device);
    if (!facts.device.empty()) {
      append_number(facts.stream, out_);
    }
    out_ += ',';
    put_text(facts.range);
    put_text(facts.op);
    put_text(facts.name);
    put_text(walk_.rows().tables.text(row.stall));
    for (const WeightName& weight : kWeightNames) {
      append_number(row.weight.*weight.number, out_);
      out_ += ',';
    }
    put_stack(row);
    out_ += '\n';
  }

  void put_text(std::string_view text) {
    put_field(escaped(shown_text(text)), out_);
    out_ += ',';
  }
  void put_number(uint64_t number) {
    if (number != 0) {
      append_number(number, out_);
    }
    out_ += ',';
  }

  // Writes the field in pieces, because a path may be very long.
  void put_stack(const WalkRow& row) {
    out_ += '"';
    bool first = true;
    for (const uint32_t id : row.frames.subspan(row.outer)) {
      if (!first) {
        out_ += ';';
      }
      first = false;
      out_ += label(id);
      stream_.checkpoint();
    }
    out_ += '"';
  }

  // Returns a label as in a folded stack, with quotes escaped. Caches it, because many stacks share few labels.
  const std::string& label(uint32_t id) {
    if (id >= labels_.size()) {
      labels_.resize(walk_.frame_count());
    }
    if (labels_[id].empty()) {
      append_quoted(folded_name(shown_text(walk_.frame(id).label)), labels_[id]);
    }
    return labels_[id];
  }

  Walk& walk_;
  FactTexts facts_;
  TextStream& stream_;
  std::string& out_;
  std::vector<std::string> labels_;  // indexed by frame id
};

}  // namespace

void write_csv(Walk& walk, TextStream& out) {
  CsvRows(walk, out).write();
}

void write_stacks(Walk& walk, TextStream& out) {
  analyze::FoldOptions options{.stacks = walk.stack_options()};
  if (walk.rows().info.kind != analyze::ProfileKind::stall_samples) {
    options.leaves = analyze::Leaves{};  // a stack ends at the kernel, without frames for its samples
  }
  const WeightKind kind = walk.total().ns > 0 ? WeightKind::time : WeightKind::count;
  const analyze::FoldResult folded = analyze::fold(walk.rows(), options);
  walk.note_trimmed(folded.trimmed);
  write_folded(folded.tree, {kind, TimeUnit::ns}, out);
}

}  // namespace gpuprof::output
