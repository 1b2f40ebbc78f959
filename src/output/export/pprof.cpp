#include "output/export/pprof.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyze/names/labels.h"
#include "base/hash.h"
#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "output/export/gzip.h"
#include "output/export/protobuf.h"
#include "output/export/work_facts.h"
#include "output/text.h"
#include "output/trust.h"

namespace gpuprof::output {
namespace {

namespace p = gpuprof::profile;
using analyze::FrameClass;
using analyze::WalkFrame;
using analyze::WalkRow;
using analyze::WalkWeight;

// Field numbers, named as in profile.proto.
namespace profile_field {
constexpr uint32_t kSampleType = 1;
constexpr uint32_t kSample = 2;
constexpr uint32_t kMapping = 3;
constexpr uint32_t kLocation = 4;
constexpr uint32_t kFunction = 5;
constexpr uint32_t kStringTable = 6;
constexpr uint32_t kTimeNanos = 9;
constexpr uint32_t kDurationNanos = 10;
constexpr uint32_t kPeriodType = 11;
constexpr uint32_t kPeriod = 12;
constexpr uint32_t kComment = 13;
constexpr uint32_t kDefaultSampleType = 14;
}  // namespace profile_field
namespace value_type_field {
constexpr uint32_t kType = 1;
constexpr uint32_t kUnit = 2;
}  // namespace value_type_field
namespace sample_field {
constexpr uint32_t kLocationId = 1;
constexpr uint32_t kValue = 2;
constexpr uint32_t kLabel = 3;
}  // namespace sample_field
namespace label_field {
constexpr uint32_t kKey = 1;
constexpr uint32_t kStr = 2;
}  // namespace label_field
namespace mapping_field {
constexpr uint32_t kId = 1;
constexpr uint32_t kMemoryLimit = 3;
constexpr uint32_t kFilename = 5;
constexpr uint32_t kBuildId = 6;
constexpr uint32_t kHasFunctions = 7;
constexpr uint32_t kHasFilenames = 8;
constexpr uint32_t kHasLineNumbers = 9;
constexpr uint32_t kHasInlineFrames = 10;
}  // namespace mapping_field
namespace location_field {
constexpr uint32_t kId = 1;
constexpr uint32_t kMappingId = 2;
constexpr uint32_t kAddress = 3;
constexpr uint32_t kLine = 4;
}  // namespace location_field
namespace line_field {
constexpr uint32_t kFunctionId = 1;
constexpr uint32_t kLine = 2;
}  // namespace line_field
namespace function_field {
constexpr uint32_t kId = 1;
constexpr uint32_t kName = 2;
constexpr uint32_t kFilename = 4;
}  // namespace function_field

constexpr size_t kPprofFlushBytes = size_t{1} << 16U;

std::vector<WeightName> sample_types(const WalkWeight& total) {
  std::vector<WeightName> types;
  for (const WeightName& weight : kWeightNames) {
    // False: the sum of queue_ns is too large, so that column is omitted.
    const bool fits = total.*weight.number <= INT64_MAX;
    if (fits && (weight.number != &WalkWeight::samples || total.samples > 0)) {
      types.push_back(weight);
    }
  }
  return types;
}

uint64_t number_of(std::string_view text) {
  const uint64_t value = whole_number(text).value_or(0);
  return value <= INT64_MAX ? value : 0;
}

class Pprof {
 public:
  Pprof(analyze::Walk& walk, TextStream& out)
      : walk_(walk), types_(sample_types(walk.total())), facts_(walk), gzip_(out), out_(out) {
    text("");  // pprof requires that string 0 is empty
  }

  void write() {
    put_header();
    put_rows(walk_, out_, [this](const WalkRow& row) {
      put_sample(row);
      if (buffer_.size() >= kPprofFlushBytes) {
        flush();
      }
    });
    put_mappings();
    put_strings();
    flush();
    gzip_.finish();
  }

 private:
  void flush() {
    gzip_.append(buffer_);
    buffer_.clear();
  }

  uint64_t text(std::string_view value) {
    const auto [known, is_new] = texts_.try_emplace(std::string(value), texts_.size());
    if (is_new) {
      order_.push_back(&known->first);
    }
    return known->second;
  }
  // Adds a name from the profile. Escapes bytes that are not UTF-8, because pprof requires UTF-8.
  uint64_t foreign(std::string_view value) { return text(escaped(shown_text(value))); }

  void put_value_type(uint32_t field, const WeightName& type) {
    profile_.message(field, [&](Protobuf& message) {
      message.number(value_type_field::kType, text(type.name));
      message.number(value_type_field::kUnit, text(type.unit));
    });
  }

  void put_header() {
    for (const WeightName& type : types_) {
      put_value_type(profile_field::kSampleType, type);
    }
    profile_.number(profile_field::kDefaultSampleType, text(main_weight(walk_.total()).name));
    put_value_type(profile_field::kPeriodType, kWeightNames[0]);  // the sampling period is 1 ns of GPU time
    profile_.number(profile_field::kPeriod, 1);
    const analyze::ProfileInfo& info = walk_.rows().info;
    put_time(number_of(first_meta(info, "start_unix_ns")));
    put_comments(info);
  }

  // Writes the start and the duration of the shown time window. Writes no duration for a window without an end, and for
  // estimates, whose sums are those of a longer time than was recorded.
  void put_time(uint64_t start_unix_ns) {
    const auto window = walk_.rows().selected_window();
    if (!window) {
      profile_.number(profile_field::kTimeNanos, start_unix_ns);
      if (!walk_.rows().info.is_estimate()) {
        profile_.number(profile_field::kDurationNanos, std::min<uint64_t>(walk_.rows().window_ns, INT64_MAX));
      }
      return;
    }
    const uint64_t most = INT64_MAX - std::min<uint64_t>(start_unix_ns, INT64_MAX);
    profile_.number(profile_field::kTimeNanos, start_unix_ns + std::min(window->from_ns, most));
    if (window->has_end()) {
      profile_.number(profile_field::kDurationNanos, std::min<uint64_t>(window->to_ns - window->from_ns, INT64_MAX));
    }
  }

  void put_comments(const analyze::ProfileInfo& info) {
    for (const char* const key : {"command", "host", "kernel", "gpuprof_version"}) {
      if (const std::string_view value = first_meta(info, key); !value.empty()) {
        profile_.number(profile_field::kComment, foreign(std::string(key) + ": " + std::string(value)));
      }
    }
    const auto window = walk_.rows().selected_window();
    if (window) {
      profile_.number(profile_field::kComment, text("window: work that ended " + analyze::window_text(*window)));
    }
    for (const std::string& line : notice_lines(info)) {
      profile_.number(profile_field::kComment, foreign((window ? "the whole recording: " : "") + line));
    }
  }

  void put_sample(const WalkRow& row) {
    find_locations(row.frames.subspan(row.outer));
    values_.clear();
    for (const WeightName& type : types_) {
      values_.push_back(row.weight.*type.number);
    }
    message_.clear();
    Protobuf message(message_);
    message.packed(sample_field::kLocationId, locations_);
    message.packed(sample_field::kValue, values_);
    message_.append(labels(row.work));
    if (const std::string_view stall = walk_.rows().tables.text(row.stall); !stall.empty()) {
      const auto [known, is_new] = stalls_.try_emplace(index(row.stall));
      known->second = is_new ? label_of("stall", stall) : known->second;
      put_label(known->second, message_);
    }
    profile_.bytes(profile_field::kSample, message_);
  }

  // Collects locations innermost first, as pprof requires. Inlined frames become lines of their location.
  void find_locations(std::span<const uint32_t> frames) {
    locations_.clear();
    for (size_t begin = 0; begin < frames.size();) {
      size_t end = begin + 1;
      while (end < frames.size() && is_inlined(frames[begin], frames[end])) {
        ++end;
      }
      if (walk_.frame(frames[begin]).cls != FrameClass::separator) {
        locations_.push_back(location(frames.subspan(begin, end - begin)));
      }
      begin = end;
    }
    std::reverse(locations_.begin(), locations_.end());
  }

  [[nodiscard]] bool is_inlined(uint32_t outer, uint32_t inner) const {
    const WalkFrame& a = walk_.frame(outer);
    const WalkFrame& b = walk_.frame(inner);
    return b.cls == FrameClass::inlined && (a.cls == FrameClass::native || a.cls == FrameClass::inlined) &&
           a.address == b.address && a.module == b.module;
  }

  uint64_t location(std::span<const uint32_t> frames) {
    uint64_t& known = frames.size() == 1 ? single(frames[0]) : inlined_[std::u32string(frames.begin(), frames.end())];
    if (known == 0) {
      known = ++location_count_;
      put_location(known, frames);
    }
    return known;
  }

  uint64_t& single(uint32_t frame) {
    if (frame >= single_.size()) {
      single_.resize(std::max<size_t>(frame + size_t{1}, 2 * single_.size()));
    }
    return single_[frame];
  }

  void put_location(uint64_t id, std::span<const uint32_t> frames) {
    const WalkFrame& outer = walk_.frame(frames[0]);
    profile_.message(profile_field::kLocation, [&](Protobuf& message) {
      message.number(location_field::kId, id);
      if (!outer.module.empty()) {
        message.number(location_field::kMappingId, mapping(outer, frames.size() > 1));
      }
      message.number(location_field::kAddress, outer.address);
      for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
        const WalkFrame& known = walk_.frame(*frame);
        message.message(location_field::kLine, [&](Protobuf& line) {
          line.number(line_field::kFunctionId, function(known));
          line.number(line_field::kLine, known.line);
        });
      }
    });
  }

  uint64_t function(const WalkFrame& frame) {
    const uint64_t name = foreign(frame.name.empty() ? analyze::kUnknown : frame.name);
    const uint64_t file = foreign(frame.file);
    const auto [known, is_new] = functions_.try_emplace(std::pair(name, file), functions_.size() + 1);
    if (is_new) {
      profile_.message(profile_field::kFunction, [&, id = known->second](Protobuf& message) {
        message.number(function_field::kId, id);
        message.number(function_field::kName, name);
        message.number(function_field::kFilename, file);
      });
    }
    return known->second;
  }

  struct Label {
    uint64_t value = 0;  // index in the string table
    uint64_t key = 0;
  };
  Label label_of(std::string_view key, std::string_view value) { return {.value = foreign(value), .key = text(key)}; }
  static void put_label(const Label& label, std::string& out) {
    Protobuf(out).message(sample_field::kLabel, [&](Protobuf& message) {
      message.number(label_field::kKey, label.key);
      message.number(label_field::kStr, label.value);
    });
  }
  // Writes no label for an unknown value. Caches the last label of each key, because most work items repeat it.
  void put_label(std::string_view key, std::string_view value, std::string& out) {
    if (!value.empty()) {
      auto& [last, label] = last_labels_[key];
      if (last != value) {
        last = value;
        label = label_of(key, value);
      }
      put_label(label, out);
    }
  }
  void put_label(std::string_view key, uint64_t value, std::string& out) {
    if (value != 0) {
      put_label(key, std::to_string(value), out);
    }
  }

  // Caches the labels of the last work item, because all samples of a work item are written one after another.
  const std::string& labels(const p::Work& work) {
    if (&work == labelled_) {
      return labels_;
    }
    labelled_ = &work;
    labels_.clear();
    const WorkFacts facts = facts_.of(work);
    put_label("process", facts.process, labels_);
    put_label("pid", facts.pid, labels_);
    put_label("rank", facts.rank, labels_);
    put_label("host", facts.host, labels_);
    put_label("tid", facts.tid, labels_);
    put_label("thread", facts.thread, labels_);
    put_label("device", facts.device, labels_);
    put_label("stream", facts.device.empty() ? std::string() : std::to_string(facts.stream), labels_);
    put_label("range", facts.range, labels_);
    return labels_;
  }

  // ---- tables, which are written last: pprof accepts the parts of a profile in any order ----

  struct Mapping {
    uint64_t id = 0;
    uint64_t file = 0;
    uint64_t build_id = 0;
    uint64_t last_address = 0;
    bool filenames = false;
    bool lines = false;
    bool inlined = false;
  };

  uint64_t mapping(const WalkFrame& frame, bool has_inlined) {
    const uint64_t file = foreign(frame.module);
    const uint64_t build_id = foreign(frame.build_id);
    Mapping& mapping = mappings_.try_emplace(std::pair(file, build_id)).first->second;
    if (mapping.id == 0) {
      mapping = {.id = mappings_.size(), .file = file, .build_id = build_id};
    }
    mapping.last_address = std::max(mapping.last_address, frame.address);
    mapping.filenames = mapping.filenames || !frame.file.empty();
    mapping.lines = mapping.lines || frame.line != 0;
    mapping.inlined = mapping.inlined || has_inlined;
    return mapping.id;
  }

  // Addresses are relative to the module, so each mapping begins at address 0.
  void put_mappings() {
    std::vector<const Mapping*> order(mappings_.size());
    for (const auto& [key, mapping] : mappings_) {
      order[mapping.id - 1] = &mapping;
    }
    for (const Mapping* const mapping : order) {
      profile_.message(profile_field::kMapping, [mapping](Protobuf& message) {
        message.number(mapping_field::kId, mapping->id);
        message.number(mapping_field::kMemoryLimit,
                       mapping->last_address + (mapping->last_address < UINT64_MAX ? 1 : 0));
        message.number(mapping_field::kFilename, mapping->file);
        message.number(mapping_field::kBuildId, mapping->build_id);
        message.number(mapping_field::kHasFunctions, 1);
        message.number(mapping_field::kHasFilenames, mapping->filenames ? 1 : 0);
        message.number(mapping_field::kHasLineNumbers, mapping->lines ? 1 : 0);
        message.number(mapping_field::kHasInlineFrames, mapping->inlined ? 1 : 0);
      });
    }
  }

  void put_strings() {
    for (const std::string* const string : order_) {
      profile_.bytes(profile_field::kStringTable, *string);
      if (buffer_.size() >= kPprofFlushBytes) {
        flush();
      }
    }
  }

  struct PairHash {
    size_t operator()(const std::pair<uint64_t, uint64_t>& key) const {
      return fold_multiply(fold_multiply(key.first, kHashMultiplier) ^ key.second, kHashMultiplier);
    }
  };

  analyze::Walk& walk_;
  std::vector<WeightName> types_;
  FactTexts facts_;
  Gzip gzip_;
  TextStream& out_;
  std::string buffer_;
  Protobuf profile_{buffer_};
  std::unordered_map<std::string, uint64_t> texts_;
  std::vector<const std::string*> order_;  // point to keys of texts_, whose addresses are stable
  // Key: name and file, as string indexes.
  std::unordered_map<std::pair<uint64_t, uint64_t>, uint64_t, PairHash> functions_;
  // Key: file and build id, as string indexes.
  std::unordered_map<std::pair<uint64_t, uint64_t>, Mapping, PairHash> mappings_;
  std::vector<uint64_t> single_;  // indexed by frame: the location that has only this frame; 0 until it is written
  // Maps inlined frames to the location that all of them share.
  std::unordered_map<std::u32string, uint64_t> inlined_;
  uint64_t location_count_ = 0;
  const p::Work* labelled_ = nullptr;
  std::string labels_;
  std::map<std::string_view, std::pair<std::string, Label>> last_labels_;
  std::unordered_map<uint32_t, Label> stalls_;  // key: STRING id of the stall reason
  std::string message_;
  std::vector<uint64_t> locations_;
  std::vector<uint64_t> values_;
};

}  // namespace

Status fits_pprof(const analyze::Walk& walk) {
  if (!walk.total().fits_signed()) {
    return Error{"the sums of this profile are larger than pprof's numbers can be", "export another format"};
  }
  return {};
}

void write_pprof(analyze::Walk& walk, TextStream& out) {
  Pprof(walk, out).write();
}

}  // namespace gpuprof::output
