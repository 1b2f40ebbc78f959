// Maps the ids of each input to ids of the result, where equal definitions have one id. Internal to merge.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "profile/id_index.h"
#include "profile/record_fields.h"
#include "profile/records.h"

namespace gpuprof::analyze {

class MergeIds {
 public:
  // Forgets the ids of the previous input. `host` is META host (not empty). Returns the host's STRING id in the result,
  // and true if that id is new.
  std::pair<profile::StringId, bool> begin_input(std::string_view host);

  // Replaces the ids in a record that profile::Tables accepted. Returns false if the result already has the definition.
  bool map(profile::Record& record);

 private:
  // Gives equal definitions of several inputs one id. The key is the definition's line with 0 in place of its own id.
  // Facts that are not in the line, such as the host, are added to the key.
  struct Definitions {
    std::unordered_map<std::string, uint32_t> ids;
    uint32_t last = 0;
  };

  template <typename Id>
  void map_id(profile::IdSpace space, Id& id) const;
  template <typename R>
  bool map_record(R& record);
  template <typename R>
  void map_lists(R& /*record*/) {}
  void map_lists(profile::Stack& stack);
  void map_lists(profile::GpuPlace& place);
  template <typename R>
  bool define(R& record);
  std::pair<uint32_t, bool> intern(profile::IdSpace space, const profile::Record& record, std::string_view apart);

  std::array<Definitions, profile::kIdSpaces> definitions_;
  // One map per kind of id: from ids of the current input to ids of the result.
  std::array<profile::IdIndex, profile::kIdSpaces> maps_;
  std::vector<profile::StackElement> elements_;
  std::vector<profile::FrameId> frames_;
  std::unordered_set<uint32_t> explained_;  // code locations (ids of the result) that have a GPU_INSTRUCTION record
  profile::StringId host_{};
  std::string host_name_;
  std::string key_;
};

}  // namespace gpuprof::analyze
