// The ids of a merged profile: each input's ids are translated to those of the result, where equal definitions have
// one id. Internal to merge.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "profile/id_index.h"
#include "profile/records.h"
#include "profile/tables.h"

namespace gpuprof::analyze {

class MergeIds : profile::DefinitionKinds {
 public:
  using Reason = std::optional<std::string>;

  // Forgets the ids of the input before. `host` is that of its META, and not empty. Returns the host's
  // STRING id and whether the result needs a definition of it.
  std::pair<profile::StringId, bool> begin_input(std::string_view host);

  // Puts the result's ids into the record. `is_new` becomes false for a definition that the result has already. The
  // reason where an id is not defined, or is defined again with another value.
  Reason map(profile::Record& record, bool& is_new);

 private:
  // Equal definitions by the line that they have with the id 0, and with what else tells them apart.
  struct Definitions {
    std::unordered_map<std::string, uint32_t> ids;
    uint32_t last = 0;
  };

  template <typename Id>
  bool map_id(Kind kind, Id& id);
  template <typename R>
  Reason define(Kind kind, R& record, bool& is_new, std::string_view apart = {});
  std::pair<uint32_t, bool> intern(Kind kind, const profile::Record& record, std::string_view apart);

  Reason map_record(profile::String& r, bool& is_new) { return define(kString, r, is_new); }
  Reason map_record(profile::Frame& r, bool& is_new);
  Reason map_record(profile::Stack& r, bool& is_new);
  Reason map_record(profile::Process& r, bool& is_new);
  Reason map_record(profile::Device& r, bool& is_new);
  Reason map_record(profile::Range& r, bool& is_new);
  Reason map_record(profile::Work& r, bool& is_new);
  Reason map_record(profile::Idle& r, bool& is_new);
  Reason map_record(profile::Call& r, bool& is_new);
  Reason map_record(profile::Span& r, bool& is_new);
  Reason map_record(profile::GpuModule& r, bool& is_new);
  Reason map_record(profile::GpuPlace& r, bool& is_new);
  Reason map_record(profile::GpuInstruction& r, bool& is_new);
  Reason map_record(profile::Sampling& r, bool& is_new);
  Reason map_record(profile::GpuCount& r, bool& is_new);
  Reason map_record(profile::EuStall& r, bool& is_new);
  template <typename R>
  Reason map_record(R& r, bool& /*is_new*/) {
    if constexpr (requires { r.work; }) {
      return map_id(kWork, r.work) ? Reason() : missing_;
    } else if constexpr (requires { r.process; }) {
      return map_id(kProcess, r.process) ? Reason() : missing_;
    }
    return std::nullopt;  // META, WINDOW, END and what is not known hold no ids
  }

  std::array<Definitions, kKinds> definitions_;
  std::array<profile::IdIndex, kKinds> maps_;  // of the input: its id to the result's
  std::vector<profile::StackElement> elements_;
  std::vector<profile::FrameId> frames_;
  std::unordered_set<uint32_t> told_;  // places of the result with a GPU_INSTRUCTION
  profile::StringId host_{};
  std::string host_name_;
  std::string key_;
  Reason missing_;  // what map_id() did not find
};

}  // namespace gpuprof::analyze
