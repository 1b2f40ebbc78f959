// The stacks of a session, in one space of numbers: what a source or the stack engine calls a stack by becomes a number
// of the session at the door, so that none can name what is another's.
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
  using Number = uint64_t;  // 0: none

  Stacks(JoinContext& join, Producers& producers) : join_(join), producers_(producers) {}

  // Whether the stacks of the source's launches are its own: else the stack engine walks them, and what the source says
  // of them is left out.
  [[nodiscard]] bool are_of(const Source& source) const {
    return from_sources() || (source.traits.walks_stacks && join_.options.stacks_wanted);
  }

  // Words as in StackSink and EventSink.
  void on_engine_stack(uint32_t pid, uint64_t id, std::span<const uint64_t> words, uint32_t flags, uint64_t read_ns);
  void on_source_stack(Source& source, const backend::Stack& stack);

  // The number of a stack, whose words may come later: they are in another ring.
  Number of_engine(const Source& source, uint64_t id, bool is_launch);
  Number of_engine(uint32_t pid, uint64_t id);
  Number of_source(const Source& source, uint64_t id, bool is_launch);

  // Whether all that a stack consists of has been read, or it need not be waited for.
  [[nodiscard]] bool knows(const LiveImage& image, Number stack);
  // The stack, which goes to the writer the first time that something of this process image names it; 0: there is
  // none, or it was lost on its way.
  Number use(const LiveImage& image, Number stack);

  // The source's share of the trust footer.
  void close(const Source& source);
  void end_image(profile::ProcessId image) { sent_.erase(image); }
  void end_source(backend::SourceId source) { forget(sources_, source); }
  void end_process(uint32_t pid) { forget(processes_, pid); }
  // After each turn of the drain.
  void bound();

  // Ids of the engine that have been forgotten, as it may as well. Each once.
  std::vector<uint64_t> take_ended() { return std::exchange(ended_, {}); }
  std::vector<NewStack> take_new() { return std::exchange(new_, {}); }

 private:
  struct Told {
    Number number = 0;
    uint64_t launches = 0;  // that wait to be counted by the shape of their stack
    StackShape shape;
    bool known = false;  // its words have come
  };
  using Owned = std::unordered_map<uint64_t, Told>;    // by the owner's ids
  using Owners = std::unordered_map<uint32_t, Owned>;  // by source, or by the pid of what the stack engine walks
  struct Kept {
    uint64_t engine_id = 0;
    std::vector<uint64_t> words;                         // code objects by CodeIndex
    std::vector<uint64_t> kernel;                        // as in NewStack
    std::shared_ptr<const ProcessImage> process;         // whose it was when it came, and ...
    std::shared_ptr<const symbolize::ProcessMaps> maps;  // ... what was mapped then,
    MappingsOver over;                                   // but for these
    StackShape shape;
    bool maps_current = false;
    bool sent = false;
    size_t words_known = 0;  // so many have been found to name no code object that is still to come
  };

  // No stack engine walks.
  [[nodiscard]] bool from_sources() const { return join_.options.stacks_from_sources; }
  [[nodiscard]] bool is_of_source(Number stack) const { return of_source_[stack]; }
  Told* told(Owners& owners, uint32_t owner, uint64_t id);
  Kept make(LiveProcesses::Entry& process, std::span<const uint64_t> words, uint32_t flags);
  void number_codes(Kept& stack, CodeIds& ids);
  void find_modules(SourceModules& modules, LiveProcesses::Entry& process, Kept& stack,
                    std::span<const uint32_t> numbers);
  void keep(Told& told, Kept stack);
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
  // By number. A source tells a stack once, the stack engine again when it is needed.
  std::vector<bool> of_source_ = {false};  // 0 is no stack
  std::vector<bool> gone_;                 // of sources: it was dropped before anything named it
  std::vector<uint64_t> native_;           // addresses of the stack that is being taken
  std::vector<uint64_t> ended_;
  std::vector<NewStack> new_;
};

}  // namespace gpuprof::record
