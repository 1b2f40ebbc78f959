// Makes gpuprof records from stall samples in the form of another tool. Internal to the readers of these forms.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "profile/key_ids.h"
#include "profile/records.h"

namespace gpuprof::profile {

class StallRecords {
 public:
  void begin_line() {
    records_.clear();
    handed_out_ = 0;
  }
  void add(const Record& record) { records_.push_back(record); }

  // Returns the next record of the line. The memory of the record's views belongs to the caller.
  std::optional<Record> next() {
    return handed_out_ == records_.size() ? std::nullopt : std::optional(records_[handed_out_++]);
  }

  // Adds a STRING record with a new id, even if an earlier STRING has the same value.
  StringId string(std::string_view value) {
    const StringId id{++strings_};
    add(String{id, value});
    return id;
  }

  ProcessId process(StringId name, uint32_t pid) {
    const auto [id, is_new] = processes_.intern({join_ids(index(name), pid)});
    if (is_new) {
      add(Process{.id = ProcessId{id}, .pid = pid, .name = name});
    }
    return ProcessId{id};
  }

  // Names the WORK by `symbol`, because the file has no better name of the kernel.
  WorkId work(ProcessId owner, StackId ustack, StackId kstack, StringId symbol) {
    const auto [id, is_new] =
        works_.intern({join_ids(index(owner), index(symbol)), join_ids(index(ustack), index(kstack))});
    if (is_new) {
      Work work{.id = WorkId{id}, .process = owner, .ustack = ustack, .kstack = kstack};
      work.name = symbol;
      add(work);
    }
    return WorkId{id};
  }

  // A GPU_MODULE gets the id of the STRING that is its name.
  GpuPlaceId place(StringId file, StringId symbol, StringId instruction, uint64_t offset) {
    const auto [id, is_new] =
        places_.intern({join_ids(index(file), index(symbol)), uint64_t{index(instruction)}, offset});
    if (is_new) {
      GpuPlace place{.id = GpuPlaceId{id}, .offset = offset};
      place.module = GpuModuleId{index(file)};
      place.function = symbol;
      place.instruction = instruction;
      add(place);
    }
    return GpuPlaceId{id};
  }

 private:
  std::vector<Record> records_;
  size_t handed_out_ = 0;  // number of records that next() has returned
  uint32_t strings_ = 0;
  KeyIds<1> processes_;
  KeyIds<2> works_;
  KeyIds<3> places_;
};

}  // namespace gpuprof::profile
