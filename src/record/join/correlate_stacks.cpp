// Stacks and Python code objects, from a stack engine or from the sources themselves. A source's ids are its own: they
// become numbers of the session, so that none can name what is another's.

#include <algorithm>
#include <cstring>

#include "record/join/correlate.h"

namespace gpuprof::record {
namespace {

constexpr size_t kMaxStacks = 300'000;        // whose words are kept; each takes a kilobyte or less
constexpr size_t kMaxWords = 8'000'000;       // of them together
constexpr size_t kMaxStacksSent = 2'000'000;  // of one process image; work with another one counts as without
constexpr unsigned kMaxReadings = 4;          // of mappings, in one turn of the drain
constexpr unsigned kMaxPythonChanges = 8;     // of what one source says of its interpreter: ours says it twice

bool is_python(uint64_t word) {
  return (word & GPUPROF_WORD_PYTHON) != 0;
}

}  // namespace

// The process image that has this pid now. One that has come without a source (record -p) is news.
ProcessTable::Entry& Correlator::process_of(uint32_t pid) {
  const bool known = processes_.knows(pid);
  ProcessTable::Entry& process = processes_.by_pid(pid);
  if (!known) {
    tell_mapped(process);
  }
  return process;
}

void Correlator::tell_mapped(const ProcessTable::Entry& process) {
  news_.push_back({.what = ProcessNews::What::mapped, .pid = process.image->pid, .maps = process.maps, .layout = {}});
}

// With the mappings behind its addresses, which are read again where they are not known.
Correlator::RawStack Correlator::make_stack(ProcessTable::Entry& process, std::span<const uint64_t> words,
                                            uint32_t flags) {
  native_.clear();
  for (const uint64_t word : words) {
    if (!is_python(word)) {
      native_.push_back(word & GPUPROF_WORD_ADDRESS);
    }
  }
  const auto before = process.maps;
  RawStack raw;
  raw.maps_current = processes_.know_mappings(process, native_);
  if (process.maps != before) {
    tell_mapped(process);
  }
  raw.process = process.image;
  raw.maps = process.maps;
  raw.words.assign(words.begin(), words.end());
  const auto ours = std::find_if(native_.begin(), native_.end(),
                                 [&](uint64_t address) { return !options_.instruments.cover(*process.maps, address); });
  raw.shape.flags = flags;
  raw.shape.native = static_cast<uint32_t>(native_.end() - ours);
  raw.shape.python = static_cast<uint32_t>(words.size() - native_.size());
  return raw;
}

void Correlator::keep_stack(uint64_t id, RawStack stack) {
  RawStack& kept = stacks_[id];
  words_kept_ += stack.words.size() - kept.words.size();
  kept = std::move(stack);
}

void Correlator::on_stack(uint64_t stack, uint32_t pid, std::span<const uint64_t> words, uint32_t flags,
                          uint64_t read_ns) {
  if (options_.stacks_from_sources || !is_recorded(pid)) {
    return;
  }
  if (!stacks_.contains(stack) && !memory_->admit()) {
    return;
  }
  ProcessTable::Entry& process = process_of(pid);
  RawStack raw = make_stack(process, words, flags);
  // Other files may have come to lie there since.
  if (auto maps = ProcessTable::other_view(process, read_ns, native_); maps != nullptr) {
    raw.maps = std::move(maps);
  }
  if (raw.shape.python != 0) {
    CodeIds& ids = image_of(process).engine_codes;
    for (uint64_t& word : raw.words) {
      if (is_python(word)) {
        const CodeIndex index = codes_.mention(ids, GPUPROF_WORD_PYTHON_CODE(word));
        word = GPUPROF_WORD_OF_PYTHON(index, GPUPROF_WORD_PYTHON_OFFSET(word));
      }
    }
  }
  keep_stack(stack, std::move(raw));
}

void Correlator::on_engine_code(uint32_t pid, const backend::PythonCode& code) {
  if (options_.stacks_from_sources || !is_recorded(pid)) {
    return;
  }
  Image& image = image_of(process_of(pid));
  codes_.define(image.engine_codes, image.process->id, code, Redefinition::taken);
}

// A launch may come before its stack: the two are in different rings. Null: there is none.
Correlator::SourceStack* Correlator::source_stack(Source& source, uint64_t stack) {
  if (stack == 0 || !options_.stacks_from_sources) {
    return nullptr;
  }
  const auto found = source.stacks.find(stack);
  if (found != source.stacks.end()) {
    return &found->second;
  }
  if (source.stacks.size() >= kMaxStacksSent || !memory_->admit()) {
    return nullptr;
  }
  SourceStack& made = source.stacks[stack];
  made.id = next_stack_++;
  return &made;
}

void Correlator::on_stack(backend::SourceId id, const backend::Stack& stack) {
  Source* source = find_source(id);
  SourceStack* known = source == nullptr ? nullptr : source_stack(*source, stack.id);
  if (known == nullptr || known->known) {
    return;
  }
  if (!memory_->admit()) {
    known->known = true;  // as none that any work should wait for
    mark_gone(known->id);
    return;
  }
  ProcessTable::Entry& process = processes_.by_pid(source->pid);
  RawStack raw = make_stack(process, stack.words, stack.flags);
  if (process.image != source->image->process) {  // it has exec'd since
    raw.process = source->image->process;
    raw.maps = source->image->maps;
    raw.maps_current = false;
  }
  find_modules(*source, process, raw, stack.modules);
  for (uint64_t& word : raw.words) {
    if (is_python(word)) {
      const CodeIndex index = codes_.mention(source->codes, GPUPROF_WORD_PYTHON_CODE(word));
      word = GPUPROF_WORD_OF_PYTHON(index, GPUPROF_WORD_PYTHON_OFFSET(word));
    }
  }
  known->known = true;
  known->shape = raw.shape;
  keep_stack(known->id, std::move(raw));
}

// What the stack was taken in, where that is not what the process has mapped as far as is known.
void Correlator::find_modules(Source& source, ProcessTable::Entry& process, RawStack& raw,
                              std::span<const uint32_t> modules) {
  if (source.modules.agree(*raw.maps, raw.words, modules)) {
    return;
  }
  // While it is still mapped, the kernel knows its file best: also one that is deleted or replaced.
  if (raw.maps == process.maps && processes_.read_again(process)) {
    raw.maps = process.maps;
    tell_mapped(process);
  }
  raw.over = source.modules.over(*raw.maps, raw.words, modules);
}

void Correlator::on_module(backend::SourceId id, const backend::Module& module) {
  Source* source = find_source(id);
  if (source != nullptr && options_.stacks_from_sources && memory_->admit()) {
    source->modules.add(module);
  }
}

// An engine that unwinds by tables must not go on with those of what has gone.
void Correlator::on_mappings(backend::SourceId id) {
  const Source* source = find_source(id);
  if (source == nullptr || !processes_.knows(source->pid)) {
    return;
  }
  ProcessTable::Entry& process = processes_.by_pid(source->pid);
  if (process.image == source->image->process && processes_.on_changed(process)) {
    tell_mapped(process);
  }
}

void Correlator::on_loader(uint32_t pid) {
  if (processes_.knows(pid)) {
    reloaders_.insert(pid);
  }
}

void Correlator::settle_mappings() {
  // Not all at once: the rings wait meanwhile.
  unsigned read = 0;
  std::erase_if(reloaders_, [&](uint32_t pid) {
    if (read == kMaxReadings) {
      return false;
    }
    ProcessTable::Entry& process = processes_.by_pid(pid);
    const bool done = processes_.read_anew(process);
    read += done ? 1 : 0;
    if (done && process.alive) {
      tell_mapped(process);
    }
    return done;
  });
}

void Correlator::on_source_code(backend::SourceId id, const backend::PythonCode& code) {
  Source* source = find_source(id);
  if (source != nullptr && options_.stacks_from_sources) {
    codes_.define(source->codes, source->image->process->id, code, Redefinition::ignored);
  }
}

void Correlator::on_python(backend::SourceId id, const gpuprof_python_layout& layout) {
  Source* source = find_source(id);
  if (source == nullptr) {
    return;
  }
  // Padding that differs makes it news, which does no harm.
  if (std::memcmp(&source->python, &layout, sizeof(layout)) == 0) {  // NOLINT(bugprone-suspicious-memory-comparison)
    return;
  }
  if (++source->python_changes > kMaxPythonChanges) {
    ++sums_.refused;
    return;
  }
  source->python = layout;
  source->image->eval_begin = layout.eval_begin;
  // What an image has left in its ring is not news of the one that an exec has put in its place.
  if (!processes_.knows(source->pid) || processes_.by_pid(source->pid).image != source->image->process) {
    return;
  }
  news_.push_back({.what = ProcessNews::What::python, .pid = source->pid, .maps = nullptr, .layout = layout});
}

// Hands a stack to the writer the first time that something of this process image names it. False: there is no stack,
// or it was lost on its way. What a stack engine could not send, it sends again.
bool Correlator::need_stack(Image& image, uint64_t stack) {
  if (stack == 0) {
    return false;
  }
  if (image.stacks_sent.contains(stack)) {
    return true;
  }
  const auto found = stacks_.find(stack);
  if (found == stacks_.end() || image.stacks_sent.size() >= kMaxStacksSent) {
    return false;
  }
  RawStack& raw = found->second;
  if (raw.process->pid != image.process->pid) {
    return false;  // an engine's ids are hashes, and a target may choose whose it hits
  }
  // The same addresses may come back in the image that an exec has made, and are then somebody else's code.
  const bool own = raw.process == image.process;
  NewStack made{.process = image.process, .maps = own ? raw.maps : image.maps, .stack = stack, .words = {}};
  if (own) {
    made.over = raw.over;
  }
  made.flags = raw.shape.flags;
  made.eval_begin = image.eval_begin;
  made.frame_pointers = options_.frame_pointers;
  made.maps_current = own && raw.maps_current;
  image.stacks_sent.insert(stack);
  if (options_.stacks_from_sources) {  // no other image will name it
    words_kept_ -= raw.words.size();
    made.words = std::move(raw.words);
    stacks_.erase(found);
  } else {
    made.words = raw.words;
    raw.sent = true;
  }
  batch_.stacks.push_back(std::move(made));
  return true;
}

// Whether all that a stack consists of has been read, or it need not be waited for.
bool Correlator::knows_stack(const Image& image, uint64_t stack) {
  if (stack == 0 || !options_.stacks_from_sources || image.stacks_sent.contains(stack)) {
    return true;
  }
  const auto found = stacks_.find(stack);
  if (found == stacks_.end()) {
    return stack < gone_.size() && gone_[stack];
  }
  // All work that waits for the stack asks in each turn: what is defined stays so, and is not looked at again.
  RawStack& raw = found->second;
  const auto is_known = [this](uint64_t word) {
    return !is_python(word) || codes_.is_defined(GPUPROF_WORD_PYTHON_CODE(word));
  };
  while (raw.words_known < raw.words.size() && is_known(raw.words[raw.words_known])) {
    ++raw.words_known;
  }
  return raw.words_known == raw.words.size();
}

void Correlator::add_stack_coverage(Source& source, const StackShape& shape, uint64_t launches) {
  source.coverage.stack_walked(shape, launches);
  native_depths_.add(shape.native, launches);
  if (shape.python != 0) {
    python_depths_.add(shape.python, launches);
  }
}

// The source's share of the trust footer.
void Correlator::close_stacks(Source& source) {
  for (auto& [id, stack] : source.stacks) {
    if (stack.known && stack.launches != 0) {
      add_stack_coverage(source, stack.shape, std::exchange(stack.launches, 0));
    }
  }
}

void Correlator::mark_gone(uint64_t stack) {
  gone_.resize(std::max<size_t>(gone_.size(), next_stack_));
  gone_[stack] = true;
}

void Correlator::drop_stacks(bool (*dropped)(const RawStack& stack)) {
  std::erase_if(stacks_, [&](const auto& entry) {
    if (!dropped(entry.second)) {
      return false;
    }
    words_kept_ -= entry.second.words.size();
    ended_stacks_.push_back(entry.first);
    if (options_.stacks_from_sources) {
      mark_gone(entry.first);
    }
    return true;
  });
}

void Correlator::forget_stacks(uint32_t pid) {
  std::erase_if(stacks_, [&](const auto& entry) {
    const bool ended = entry.second.process->pid == pid;
    if (ended) {
      words_kept_ -= entry.second.words.size();
      ended_stacks_.push_back(entry.first);
    }
    return ended;
  });
}

// The words of stacks that the writer has are kept only for the image that an exec may make. Where they become many,
// they go; a stack engine sends them again should they be needed.
void Correlator::bound_stacks() {
  const auto too_many = [this](size_t part) {
    return stacks_.size() > kMaxStacks / part || words_kept_ > kMaxWords / part;
  };
  if (!too_many(1)) {
    return;
  }
  drop_stacks([](const RawStack& stack) { return stack.sent; });
  // The rest are of launches that nothing comes of. Work that does come then has no stack, and is counted so: a source
  // sends a stack only once.
  if (too_many(2)) {
    drop_stacks([](const RawStack&) { return true; });
  }
}

}  // namespace gpuprof::record
