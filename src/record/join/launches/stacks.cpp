#include "record/join/launches/stacks.h"

#include <algorithm>

namespace gpuprof::record {
namespace {

// Limit on stacks that are stored with their words. A stack takes at most about 1 KiB.
constexpr size_t kMaxStacks = 300'000;
constexpr size_t kMaxWords = 8'000'000;  // limit for the words of all stored stacks
// Limit on stacks per source or pid, and per process image. Work with a further stack counts as work without a stack.
constexpr size_t kMaxNumbers = 2'000'000;

bool is_python(uint64_t word) {
  return (word & GPUPROF_WORD_PYTHON) != 0;
}

}  // namespace

Stacks::KnownStack* Stacks::told(Owners& owners, uint32_t owner, uint64_t id) {
  Owned& owned = owners[owner];
  if (const auto found = owned.find(id); found != owned.end()) {
    return &found->second;
  }
  if (owned.size() >= kMaxNumbers || !join_.memory().admit()) {
    return nullptr;
  }
  KnownStack& made = owned[id];
  made.number = of_source_.size();
  of_source_.push_back(&owners == &sources_);
  return &made;
}

Stacks::Number Stacks::of_engine(uint32_t pid, uint64_t id) {
  const KnownStack* stack = id == 0 || !from_engine() ? nullptr : told(processes_, pid, id);
  return stack == nullptr ? 0 : stack->number;
}

Stacks::Number Stacks::of_engine(const Source& source, uint64_t id, bool is_launch) {
  const KnownStack* stack = id == 0 || from_sources() ? nullptr : told(processes_, source.pid, id);
  if (stack == nullptr) {
    return 0;
  }
  if (stack->known && is_launch && !join_.options.frame_pointers) {
    join_.counters.stack_walked(source.id, stack->shape, 1);
  }
  return stack->number;
}

Stacks::Number Stacks::of_source(const Source& source, uint64_t id, bool is_launch) {
  KnownStack* stack = id == 0 || !are_of(source) ? nullptr : told(sources_, source.id, id);
  if (stack == nullptr) {
    return 0;
  }
  stack->launches += is_launch ? 1 : 0;
  return stack->number;
}

// Finds the mappings of the addresses in `words`. If an address is in no known mapping, reads the process's mappings
// again.
Stacks::Kept Stacks::make(LiveProcesses::Entry& process, std::span<const uint64_t> words, uint32_t flags) {
  native_.clear();
  for (const uint64_t word : words) {
    if (!is_python(word)) {
      native_.push_back(word & GPUPROF_WORD_ADDRESS);
    }
  }
  Kept stack;
  stack.maps_current = producers_.processes().know_mappings(process, native_);
  stack.process = process.image;
  stack.maps = process.maps;
  stack.words.assign(words.begin(), words.end());
  const auto user = std::find_if(native_.begin(), native_.end(), [&](uint64_t address) {
    return !join_.options.profiler_libraries.cover(*process.maps, address);
  });
  stack.shape.flags = flags;
  stack.shape.native = static_cast<uint32_t>(native_.end() - user);
  stack.shape.python = static_cast<uint32_t>(words.size() - native_.size());
  return stack;
}

// Replaces the code object ids of a source or process by CodeIndex values, which are unique in the session.
void Stacks::number_codes(Kept& stack, CodeIds& ids) {
  for (uint64_t& word : stack.words) {
    if (is_python(word)) {
      const CodeIndex index = producers_.codes().mention(ids, GPUPROF_WORD_PYTHON_CODE(word));
      word = GPUPROF_WORD_OF_PYTHON(index, GPUPROF_WORD_PYTHON_OFFSET(word));
    }
  }
}

void Stacks::keep(KnownStack& told, Kept stack) {
  told.known = true;
  told.shape = stack.shape;
  Kept& kept = kept_[told.number];
  words_kept_ += stack.words.size() - kept.words.size();
  kept = std::move(stack);
}

void Stacks::on_engine_stack(uint32_t pid, uint64_t id, std::span<const uint64_t> words, uint32_t flags,
                             uint64_t read_ns, std::span<const uint64_t> kernel) {
  if (!from_engine() || !producers_.is_recorded(pid)) {
    return;
  }
  KnownStack* stack = told(processes_, pid, id);
  if (stack == nullptr || (!kept_.contains(stack->number) && !join_.memory().admit())) {
    return;
  }
  LiveProcesses& processes = producers_.processes();
  LiveProcesses::Entry& process = processes.by_pid(pid);
  Kept made = make(process, words, flags);
  made.engine_id = id;
  made.kernel.assign(kernel.begin(), kernel.end());
  // The process may have mapped other files at these addresses after the stack was read.
  if (auto maps = ProcessTable::other_view(process, read_ns, native_); maps != nullptr) {
    made.maps = std::move(maps);
  }
  if (made.shape.python != 0) {
    number_codes(made, processes.image_of(process).codes);
  }
  keep(*stack, std::move(made));
}

void Stacks::on_source_stack(Source& source, const backend::Stack& stack) {
  KnownStack* known = stack.id == 0 || !are_of(source) ? nullptr : told(sources_, source.id, stack.id);
  if (known == nullptr || known->known) {
    return;
  }
  if (!join_.memory().admit()) {
    known->known = true;  // so that no work waits for this stack
    mark_gone(known->number);
    return;
  }
  LiveProcesses::Entry& process = producers_.processes().by_pid(source.pid);
  Kept made = make(process, stack.words, stack.flags);
  made.kernel.assign(stack.kernel.begin(), stack.kernel.end());
  if (process.image != source.image->process) {  // the process called exec after the stack was read
    made.process = source.image->process;
    made.maps = source.image->maps;
    made.maps_current = false;
  }
  if (auto maps = ProcessTable::other_view(process, stack.read_ns, native_); maps != nullptr) {
    made.maps = std::move(maps);
  }
  find_modules(source.modules, process, made, stack.modules);
  number_codes(made, source.codes);
  keep(*known, std::move(made));
}

// Finds the modules of the stack that differ from the known mappings of the process.
void Stacks::find_modules(SourceModules& modules, LiveProcesses::Entry& process, Kept& stack,
                          std::span<const uint32_t> numbers) {
  if (modules.agree(*stack.maps, stack.words, numbers)) {
    return;
  }
  // While the module is mapped, prefer the mappings in /proc, because they also identify deleted and replaced files.
  if (stack.maps == process.maps && producers_.processes().read_again(process)) {
    stack.maps = process.maps;
  }
  stack.over = modules.over(*stack.maps, stack.words, numbers);
}

bool Stacks::knows(const LiveImage& image, Number stack) {
  if (!is_of_source(stack) || was_used(image, stack)) {
    return true;
  }
  const auto found = kept_.find(stack);
  if (found == kept_.end()) {
    const auto sent = sent_.find(image.id());
    return (sent != sent_.end() && sent->second.contains(stack)) || (stack < gone_.size() && gone_[stack]);
  }
  // Each waiting work item calls this in each poll iteration, so words_known stores how many words have been checked.
  Kept& kept = found->second;
  const auto is_known = [this](uint64_t word) {
    return !is_python(word) || producers_.codes().is_defined(GPUPROF_WORD_PYTHON_CODE(word));
  };
  while (kept.words_known < kept.words.size() && is_known(kept.words[kept.words_known])) {
    ++kept.words_known;
  }
  return kept.words_known == kept.words.size();
}

NewStack Stacks::to_write(const LiveImage& image, const Kept& stack, Number number) const {
  const bool own = stack.process == image.process;
  NewStack made{
      .process = image.process, .maps = own ? stack.maps : image.maps, .stack = number, .words = {}, .kernel = {}};
  if (own) {
    made.over = stack.over;
  }
  made.flags = stack.shape.flags;
  made.eval_begin = image.eval_begin;
  made.frame_pointers = join_.options.frame_pointers && !is_of_source(number);
  made.maps_current = own && stack.maps_current;
  return made;
}

Stacks::Number Stacks::use(const LiveImage& image, Number stack) {
  if (stack == 0 || was_used(image, stack)) {
    return stack;
  }
  std::unordered_set<Number>& sent = sent_[image.id()];
  if (sent.contains(stack)) {
    used_[stack % used_.size()] = {image.id(), stack};
    return stack;
  }
  const auto found = kept_.find(stack);
  if (found == kept_.end() || sent.size() >= kMaxNumbers) {
    return 0;
  }
  Kept& kept = found->second;
  sent.insert(stack);
  new_.push_back(to_write(image, kept, stack));
  if (is_of_source(stack)) {  // no other process image uses the stack
    words_kept_ -= kept.words.size();
    new_.back().words = std::move(kept.words);
    new_.back().kernel = std::move(kept.kernel);
    kept_.erase(found);
  } else {
    new_.back().words = kept.words;
    new_.back().kernel = kept.kernel;
    kept.sent = true;
  }
  return stack;
}

void Stacks::close(const Source& source) {
  const auto owned = sources_.find(source.id);
  if (owned == sources_.end()) {
    return;
  }
  for (auto& [id, stack] : owned->second) {
    if (stack.known && stack.launches != 0) {
      join_.counters.stack_walked(source.id, stack.shape, std::exchange(stack.launches, 0));
    }
  }
}

void Stacks::mark_gone(Number stack) {
  gone_.resize(of_source_.size());
  gone_[stack] = true;
}

void Stacks::drop(bool (*dropped)(const Kept& stack)) {
  std::erase_if(kept_, [&](const auto& entry) {
    if (!dropped(entry.second)) {
      return false;
    }
    words_kept_ -= entry.second.words.size();
    if (is_of_source(entry.first)) {
      mark_gone(entry.first);
    } else {
      ended_.push_back(entry.second.engine_id);
    }
    return true;
  });
}

void Stacks::forget(Owners& owners, uint32_t owner) {
  const auto owned = owners.find(owner);
  if (owned == owners.end()) {
    return;
  }
  for (const auto& [id, told] : owned->second) {
    if (const auto kept = kept_.find(told.number); kept != kept_.end()) {
      words_kept_ -= kept->second.words.size();
      kept_.erase(kept);
      if (&owners == &processes_) {
        ended_.push_back(id);
      }
    }
  }
  owners.erase(owned);
}

// If too many stacks are stored, drops those that the writer has received. They are needed again only after an exec,
// and the stack engine then sends them again.
void Stacks::bound() {
  const auto too_many = [this](size_t part) {
    return kept_.size() > kMaxStacks / part || words_kept_ > kMaxWords / part;
  };
  if (!too_many(1)) {
    return;
  }
  drop([](const Kept& stack) { return stack.sent; });
  // No work has used the remaining stacks yet. Sources send a stack only once, so later work with such a stack gets no
  // stack.
  if (too_many(2)) {
    drop([](const Kept&) { return true; });
  }
}

}  // namespace gpuprof::record
