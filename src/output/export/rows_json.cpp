#include <string>
#include <string_view>

#include "output/export/rows.h"
#include "output/export/work_facts.h"
#include "output/json_stream.h"
#include "output/text.h"
#include "output/trust.h"

namespace gpuprof::output {
namespace {

namespace p = gpuprof::profile;
using analyze::Walk;
using analyze::WalkFrame;
using analyze::WalkRow;

constexpr uint64_t kRowsSchemaVersion = 1;

class JsonRows {
 public:
  JsonRows(Walk& walk, TextStream& stream)
      : walk_(walk), info_(walk.rows().info), facts_(walk), stream_(stream), out_(stream.text()) {}

  void write() {
    {
      JsonObject object(out_);
      object.number("schema_version", kRowsSchemaVersion);
      put_profile(object);
      put_rows(object);
      put_frames(object);
    }
    out_ += '\n';
  }

 private:
  void put_profile(JsonObject& object) {
    json_meta(info_.meta, object.key("meta"), stream_);
    if (const auto window = walk_.rows().selected_window()) {
      json_window(*window, object.key("window"));
    }
    json_counts(info_.losses, object.key("losses"));
    object.flag("complete", info_.complete);
    json_texts(notice_lines(info_), object.key("missing"));
    JsonObject totals(object.key("totals"));
    for (const WeightName& weight : kWeightNames) {
      totals.number(weight.name, walk_.total().*weight.number);
    }
  }

  void put_rows(JsonObject& object) {
    object.key("rows") += '[';
    bool first = true;
    output::put_rows(walk_, stream_, [&](const WalkRow& row) {
      out_ += first ? "\n" : ",\n";
      first = false;
      put_row(row);
    });
    out_ += "\n]";
  }

  void put_row(const WalkRow& row) {
    JsonObject object(out_);
    put_facts(object, row.work);
    if (index(row.stall) != 0) {
      object.text("stall", shown_text(walk_.rows().tables.text(row.stall)));
    }
    for (const WeightName& weight : kWeightNames) {
      if (row.weight.*weight.number != 0) {
        object.number(weight.name, row.weight.*weight.number);
      }
    }
    json_array(row.frames, object.key("stack"), [&](uint32_t frame) { append_number(frame, out_); });
  }

  void put_facts(JsonObject& object, const p::Work& work) {
    const WorkFacts facts = facts_.of(work);
    object.word("op", facts.op);
    put_text(object, "name", facts.name);
    put_text(object, "process", facts.process);
    put_number(object, "pid", facts.pid);
    put_text(object, "rank", facts.rank);
    put_text(object, "host", facts.host);
    put_number(object, "tid", facts.tid);
    put_text(object, "thread", facts.thread);
    if (!facts.device.empty()) {
      put_text(object, "device", facts.device);
      object.number("stream", facts.stream);
    }
    put_text(object, "range", facts.range);
  }

  // Writes all frames in the order of their numbers. Call it after writing the rows, because the first row with a frame
  // gives it a number.
  void put_frames(JsonObject& object) {
    object.key("frames") += '[';
    for (uint32_t id = 0; id < walk_.frame_count() && !stream_.failed(); ++id) {
      out_ += id == 0 ? "\n" : ",\n";
      put_frame(walk_.frame(id));
      stream_.checkpoint();
    }
    out_ += "\n]";
  }

  void put_frame(const WalkFrame& frame) {
    JsonObject object(out_);
    object.word("kind", frame_kind(frame.cls));
    object.text("label", shown_text(frame.label));
    object.text("name", shown_text(frame.name));
    put_text(object, "file", frame.file);
    put_number(object, "line", frame.line);
    put_text(object, "module", frame.module);
    put_text(object, "build_id", frame.build_id);
    put_number(object, "address", frame.address);
  }

  static void put_text(JsonObject& object, std::string_view name, std::string_view value) {
    if (!value.empty()) {
      object.text(name, shown_text(value));
    }
  }
  static void put_number(JsonObject& object, std::string_view name, uint64_t value) {
    if (value != 0) {
      object.number(name, value);
    }
  }

  Walk& walk_;
  const analyze::ProfileInfo& info_;
  FactTexts facts_;
  TextStream& stream_;
  std::string& out_;
};

}  // namespace

void write_json(Walk& walk, TextStream& out) {
  JsonRows(walk, out).write();
}

}  // namespace gpuprof::output
