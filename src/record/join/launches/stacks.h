// Gives each stack of a source or of the stack engine a number that is unique in the recording.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "record/batch.h"
#include "record/join/context/context.h"
#include "record/join/context/stack_shape.h"
#include "record/process/producers.h"

namespace gpuprof::record {

class Stacks {
 public:
  using Number = uint64_t;  // 0: no stack

  Stacks(JoinContext& join, Producers& producers) : join_(join), producers_(producers) {}

  // Returns whether the stacks of this source come from the source itself. If not, they come from the stack engine, and
  // stacks that the source sends are ignored.
  [[nodiscard]] bool are_of(const Source& source) const {
    return from_sources() || (source.traits.walks_stacks && join_.options.stacks_wanted);
  }

  // `words` have the format of wire/stack.h.
  void on_engine_stack(uint32_t pid, uint64_t id, std::span<const uint64_t> words, uint32_t flags, uint64_t read_ns,
                       std::span<const uint64_t> kernel = {});
  void on_source_stack(Source& source, const backend::Stack& stack);

  // These return the number of a stack, even if its words have not arrived yet.
  Number of_engine(const Source& source, uint64_t id, bool is_launch);
  Number of_engine(uint32_t pid, uint64_t id);
  Number of_source(const Source& source, uint64_t id, bool is_launch);

  // Returns whether the complete stack has arrived or will not arrive any more.
  [[nodiscard]] bool knows(const LiveImage& image, Number stack);
  // Returns the stack's number, or 0 if the stack was lost. Sends the stack to the writer when this image first uses
  // it.
  Number use(const LiveImage& image, Number stack);

  // Counts the launches of an ended source by the shapes of their stacks.
  void close(const Source& source);
  void end_image(profile::ProcessId image) { sent_.erase(image); }
  void end_source(backend::SourceId source) { forget(sources_, source); }
  void end_process(uint32_t pid) { forget(processes_, pid); }
  void bound();

  // Returns each stack that was dropped here, by its id in the stack engine. The engine can then drop the stack, too.
  std::vector<uint64_t> take_ended() { return std::exchange(ended_, {}); }
  std::vector<NewStack> take_new() { return std::exchange(new_, {}); }

 private:
  struct KnownStack {
    Number number = 0;
    uint64_t launches = 0;  // not yet passed to JoinCounters::stack_walked()
    StackShape shape;
    bool known = false;
  };
  using Owned = std::unordered_map<uint64_t, KnownStack>;  // key: the owner's stack id
  using Owners = std::unordered_map<uint32_t, Owned>;  // key: a source's id or, for stacks of the stack engine, a pid
  struct Kept {
    uint64_t engine_id = 0;
    std::vector<uint64_t> words;
    std::vector<uint64_t> kernel;
    std::shared_ptr<const ProcessImage> process;         // the process's image when the stack arrived
    std::shared_ptr<const symbolize::ProcessMaps> maps;  // the process's mappings when the stack was read
    MappingsOver over;                                   // modules that differ from `maps`
    StackShape shape;
    bool maps_current = false;
    bool sent = false;
    size_t words_known = 0;  // the code objects of this many leading words are defined
  };

  // Returns whether no stack engine runs, so that all stacks come from sources.
  [[nodiscard]] bool from_engine() const { return !from_sources() || join_.options.report_off_cpu; }
  [[nodiscard]] bool from_sources() const { return join_.options.stacks_from_sources; }
  [[nodiscard]] bool is_of_source(Number stack) const { return of_source_[stack]; }
  KnownStack* told(Owners& owners, uint32_t owner, uint64_t id);
  Kept make(LiveProcesses::Entry& process, std::span<const uint64_t> words, uint32_t flags);
  void number_codes(Kept& stack, CodeIds& ids);
  void find_modules(SourceModules& modules, LiveProcesses::Entry& process, Kept& stack,
                    std::span<const uint32_t> numbers);
  void keep(KnownStack& told, Kept stack);
  void mark_gone(Number stack);
  // Returns whether used_ has the stack. If false, use() may have returned it nevertheless.
  [[nodiscard]] bool was_used(const LiveImage& image, Number stack) const {
    return used_[stack % used_.size()] == std::pair(image.id(), stack);
  }
  [[nodiscard]] NewStack to_write(const LiveImage& image, const Kept& stack, Number number) const;
  void drop(bool (*dropped)(const Kept& stack));
  void forget(Owners& owners, uint32_t owner);

  JoinContext& join_;
  Producers& producers_;
  Owners sources_;
  Owners processes_;
  std::unordered_map<Number, Kept> kept_;
  std::unordered_map<profile::ProcessId, std::unordered_set<Number>> sent_;
  // A cache of sent_, indexed by the low bits of the stack's number. For each GPU record, two stacks are looked up
  // twice.
  std::array<std::pair<profile::ProcessId, Number>, 1024> used_{};
  size_t words_kept_ = 0;
  std::vector<bool> of_source_ = {false};  // indexed by Number: whether a source sent the stack
  // Indexed by Number: whether a source's stack was dropped before its first use.
  std::vector<bool> gone_;
  std::vector<uint64_t> native_;  // addresses in the stack that is being processed
  std::vector<uint64_t> ended_;
  std::vector<NewStack> new_;
};

}  // namespace gpuprof::record
