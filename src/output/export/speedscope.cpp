#include "output/export/speedscope.h"

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/version.h"
#include "output/export/work_facts.h"
#include "output/json_stream.h"
#include "output/text.h"
#include "output/trust.h"

namespace gpuprof::output {
namespace {

using analyze::Walk;
using analyze::WalkFrame;
using analyze::WalkRow;

// Returns a unit that speedscope supports.
std::string_view unit_of(const WeightName& weight) {
  const std::string_view unit = weight.unit;
  return unit == "count" ? std::string_view("none") : unit;
}

class Speedscope {
 public:
  Speedscope(Walk& walk, TextStream& stream) : walk_(walk), stream_(stream), out_(stream.text()) {}

  void write() {
    {
      JsonObject object(out_);
      object.word("$schema", "https://www.speedscope.app/file-format-schema.json");
      object.text("exporter", "gpuprof " + std::string(version()));
      const std::string_view command = first_meta(walk_.rows().info, "command");
      const auto window = walk_.rows().selected_window();
      const std::string notice = notice_text(walk_.rows().info);
      object.text("name", std::string(command.empty() ? "gpuprof" : shown_text(command)) +
                              (window ? " (" + analyze::window_text(*window) + ")" : "") +
                              (notice.empty() ? "" : " (" + shown_text(notice) + ")"));
      object.number("activeProfileIndex", 0);
      object.key("profiles") += '[';
      put_profile(main_weight(walk_.total()));
      for (const WeightName& weight : kWeightNames) {
        if (walk_.total().*weight.number != 0 && &weight != &main_weight(walk_.total())) {
          out_ += ",\n";
          put_profile(weight);
        }
      }
      out_ += ']';
      JsonObject shared(object.key("shared"));
      put_frames(shared.key("frames"));
    }
    out_ += '\n';
  }

 private:
  void put_profile(const WeightName& weight) {
    JsonObject object(out_);
    object.word("type", "sampled");
    object.word("name", weight.title);
    object.word("unit", unit_of(weight));
    object.number("startValue", 0);
    object.number("endValue", walk_.total().*weight.number);
    object.key("samples") += '[';
    weights_.clear();
    put_rows(walk_, stream_, [&](const WalkRow& row) {
      if (row.weight.*weight.number != 0) {
        out_ += weights_.empty() ? "\n" : ",\n";
        weights_.push_back(row.weight.*weight.number);
        json_array(row.frames, out_, [&](uint32_t id) {
          append_number(shown(id), out_);
          stream_.checkpoint();
        });
      }
    });
    out_ += ']';
    json_array(weights_, object.key("weights"), [&](uint64_t number) {
      append_number(number, out_);
      stream_.checkpoint();
    });
  }

  // Returns the index of a frame in the file. Frames with equal label, file and line have the same index.
  uint32_t shown(uint32_t id) {
    if (id >= shown_.size()) {
      shown_.resize(walk_.frame_count(), kNotYet);
    }
    if (shown_[id] == kNotYet) {
      const WalkFrame& frame = walk_.frame(id);
      const Key key{frame.label, frame.file, frame.line};
      const auto [known, is_new] = frame_ids_.try_emplace(key, static_cast<uint32_t>(frames_.size()));
      if (is_new) {
        frames_.push_back(id);
      }
      shown_[id] = known->second;
    }
    return shown_[id];
  }

  static std::string frame_json(const WalkFrame& frame) {
    std::string json;
    {
      JsonObject object(json);
      object.text("name", shown_text(frame.label));
      if (!frame.file.empty()) {
        object.text("file", shown_text(frame.file));
      }
      if (frame.line != 0) {
        object.number("line", frame.line);
      }
    }
    return json;
  }

  void put_frames(std::string& out) {
    json_array(frames_, out, [&](uint32_t id) {
      out_.append("\n").append(frame_json(walk_.frame(id)));
      stream_.checkpoint();
    });
  }

  // Refers to texts that the Walk owns, because copies of the names of many frames would need much memory.
  struct Key {
    std::string_view label;
    std::string_view file;
    uint32_t line = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      const std::hash<std::string_view> hash;
      return fold_multiply(hash(key.label) ^ kHashMultiplier, hash(key.file) + key.line);
    }
  };

  static constexpr uint32_t kNotYet = UINT32_MAX;

  Walk& walk_;
  TextStream& stream_;
  std::string& out_;
  std::vector<uint32_t> shown_;  // indexed by frame id of the Walk; value: index in the file
  std::unordered_map<Key, uint32_t, KeyHash> frame_ids_;
  std::vector<uint32_t> frames_;  // frame ids of the Walk, in the order of the file
  std::vector<uint64_t> weights_;
};

}  // namespace

void write_speedscope(Walk& walk, TextStream& out) {
  Speedscope(walk, out).write();
}

}  // namespace gpuprof::output
