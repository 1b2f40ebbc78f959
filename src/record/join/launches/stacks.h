// Gives each stack of a source or of the stack engine a number that is unique in the recording. Their ids are not.
#pragma once

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

  // Returns whether the source walks its stacks. If not, the stack engine does, and stacks of the source are ignored.
  [[nodiscard]] bool are_of(const Source& source) const {
    return from_sources() || (source.traits.walks_stacks && join_.options.stacks_wanted);
  }

  // `words`: see wire/stack.h.
  void on_engine_stack(uint32_t pid, uint64_t id, std::span<const uint64_t> words, uint32_t flags, uint64_t read_ns);
  void on_source_stack(Source& source, const backend::Stack& stack);

  // Returns the session's number of a stack. Its words may arrive later, through another ring.
  Number of_engine(const Source& source, uint64_t id, bool is_launch);
  Number of_engine(uint32_t pid, uint64_t id);
  Number of_source(const Source& source, uint64_t id, bool is_launch);

  // Returns whether the complete stack has arrived, or will not arrive.
  [[nodiscard]] bool knows(const LiveImage& image, Number stack);
  // Returns the stack's number, or 0 if it was lost. Sends the stack to the writer on its first use by this image.
  Number use(const LiveImage& image, Number stack);

  // Counts the launches of an ended source by the shape of their stacks.
  void close(const Source& source);
  void end_image(profile::ProcessId image) { sent_.erase(image); }
  void end_source(backend::SourceId source) { forget(sources_, source); }
  void end_process(uint32_t pid) { forget(processes_, pid); }
  // Limits memory. Call it after each poll iteration.
  void bound();

  // Returns the stack engine's ids of stacks dropped here, each once. The engine can then drop these ids, too.
  std::vector<uint64_t> take_ended() { return std::exchange(ended_, {}); }
  std::vector<NewStack> take_new() { return std::exchange(new_, {}); }

 private:
  struct KnownStack {
    Number number = 0;
    uint64_t launches = 0;  // launches that JoinCounters::stack_walked() has not counted
    StackShape shape;
    bool known = false;  // its words have arrived
  };
  using Owned = std::unordered_map<uint64_t, KnownStack>;  // key: the owner's stack id
  using Owners = std::unordered_map<uint32_t, Owned>;      // key: a source, or a pid for stacks of the stack engine
  struct Kept {
    uint64_t engine_id = 0;
    std::vector<uint64_t> words;                         // see NewStack::words
    std::vector<uint64_t> kernel;                        // see NewStack::kernel
    std::shared_ptr<const ProcessImage> process;         // process image when the stack arrived
    std::shared_ptr<const symbolize::ProcessMaps> maps;  // mappings of the process when the stack was read
    MappingsOver over;                                   // modules that differ from `maps`
    StackShape shape;
    bool maps_current = false;
    bool sent = false;
    size_t words_known = 0;  // this many leading words have defined code objects
  };

  // All stacks come from sources: no stack engine runs.
  [[nodiscard]] bool from_sources() const { return join_.options.stacks_from_sources; }
  [[nodiscard]] bool is_of_source(Number stack) const { return of_source_[stack]; }
  KnownStack* told(Owners& owners, uint32_t owner, uint64_t id);
  Kept make(LiveProcesses::Entry& process, std::span<const uint64_t> words, uint32_t flags);
  void number_codes(Kept& stack, CodeIds& ids);
  void find_modules(SourceModules& modules, LiveProcesses::Entry& process, Kept& stack,
                    std::span<const uint32_t> numbers);
  void keep(KnownStack& told, Kept stack);
  void mark_gone(Number stack);
  [[nodiscard]] NewStack to_write(const LiveImage& image, const Kept& stack, Number number) const;
  void drop(bool (*dropped)(const Kept& stack));
  void forget(Owners& owners, uint32_t owner);

  JoinContext& join_;
  Producers& producers_;
  Owners sources_;
  Owners processes_;
  std::unordered_map<Number, Kept> kept_;
  std::unordered_map<profile::ProcessId, std::unordered_set<Number>> sent_;
  size_t words_kept_ = 0;
  std::vector<bool> of_source_ = {false};  // by number: true if a source sent the stack; number 0 means no stack
  std::vector<bool> gone_;                 // by number: true if the stack of a source was dropped before its first use
  std::vector<uint64_t> native_;           // addresses of the stack being processed
  std::vector<uint64_t> ended_;
  std::vector<NewStack> new_;
};

}  // namespace gpuprof::record
