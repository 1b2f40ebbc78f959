#include "stack/native_walk.h"

#include "base/atomics.h"
#include "base/safe_read.h"
#include "stack/modules.h"
#include "stack/rule_cache.h"
#include "wire/stack_arch.h"

namespace gpuprof::injection {
namespace {

constexpr uint32_t kMaxSwitches = 16;
constexpr uint64_t kMaxPushed = uint64_t{1} << 20;  // largest accepted frame on a stack with unknown bounds
constexpr uint32_t kDeadEnds = 256;
constexpr uint64_t kPlaceMask = (uint64_t{1} << kAddressBits) - 1;

// If a walk ends early, a cached rule may be wrong. So the walk is repeated without cached rules. dead_ends holds the
// addresses at which the repeated walk ended early, too: walks that end there are not repeated.
uint64_t dead_ends[kDeadEnds];

enum class Step : uint8_t { on, whole, astray };

// Not instrumented by sanitizers: the walk must read words that belong to other functions' redzones.
__attribute__((no_sanitize("address", "thread", "undefined"))) inline uint64_t word_at(uint64_t address) {
  return *reinterpret_cast<const volatile uint64_t*>(address);
}

constexpr uint64_t return_address_at(uint64_t cfa) {
  return cfa + static_cast<uint64_t>(int64_t{GPUPROF_RETURN_ADDRESS_OFFSET});
}

struct Registers {
  uint64_t pc;
  uint64_t sp;
  uint64_t fp;
};

// One walk. A return address may be the first byte of the next function. So the rule of a caller is looked up at pc -
// 1.
class Walker {
 public:
  Walker(NativeWalk* walk, const Registers& start, bool cached, bool return_address)
      : walk_(*walk), memory_(*walk->memory), regs_(start), cached_(cached), return_address_(return_address) {
    if (within(walk->own, start.sp)) {
      own_ = {start.sp, walk->own.high};
    }
  }

  Step run();
  void begin();
  void run_plain();
  Step run_one();
  bool still_holds(const LastStack& last, uint32_t from);
  void take_over(const LastStack& last, uint32_t from);
  [[nodiscard]] bool is_seen(uint32_t module) const { return memory_.seen_in[module] == memory_.walks; }
  [[nodiscard]] uint64_t pc() const { return regs_.pc; }

 private:
  Step step(uint64_t rule, uint64_t* cfa);
  Step step_signal(uint64_t* cfa);
  Step step_without_rule(uint64_t rule, uint64_t* cfa);
  bool find_cfa(uint64_t rule, uint64_t* cfa);
  bool find_caller_fp(uint64_t rule, uint64_t cfa, uint64_t* fp);
  Step go_to(uint64_t cfa, uint64_t fp, bool may_switch);
  bool read(uint64_t address, uint64_t* value);
  bool may_switch() { return switches_++ < kMaxSwitches; }
  void enter_stack();
  bool is_garbage(uint64_t at);

  NativeWalk& walk_;
  WalkMemory& memory_;
  Registers regs_;
  // Used part of the thread's own stack; memory below it is not read, because it may be unmapped.
  StackRange own_ = {0, 0};
  bool cached_;
  bool by_frame_pointer_ = false;  // pc was found through the fp register, which need not be a frame pointer
  bool return_address_;            // true: pc is a return address; false: a signal has interrupted the code at pc
  uint32_t switches_ = 0;
  uint32_t last_from_ = 0;  // frames of the last walk with a lower index are not compared any more
};

// Reads the thread's own stack directly. Reads other memory into a window, by a system call.
bool Walker::read(uint64_t address, uint64_t* value) {
  if (address % sizeof(uint64_t) != 0) {
    return false;
  }
  if (within(own_, address)) {
    *value = word_at(address);
    return true;
  }
  const uint64_t page = address & ~(WalkMemory::kWindowBytes - 1);
  if (memory_.window_begin != page || page == 0) {
    memory_.window_begin = 0;
    if (page == 0 || !safe_read(reinterpret_cast<const void*>(page), memory_.window, WalkMemory::kWindowBytes)) {
      return false;
    }
    memory_.window_begin = page;
  }
  __builtin_memcpy(value, memory_.window + (address - page), sizeof(*value));
  return true;
}

bool Walker::find_cfa(uint64_t rule, uint64_t* cfa) {
  const auto offset = static_cast<uint64_t>(GPUPROF_UNWIND_RULE_CFA_OFFSET(rule));
  switch (GPUPROF_UNWIND_RULE_KIND(rule)) {
    case GPUPROF_UNWIND_SP:
      *cfa = regs_.sp + offset;
      return true;
    case GPUPROF_UNWIND_FP:
      *cfa = regs_.fp + offset;
      return true;
    case GPUPROF_UNWIND_DEREF_SP:
      return read(regs_.sp + offset, cfa);
    case GPUPROF_UNWIND_DEREF_FP:
      return read(regs_.fp + offset, cfa);
    case GPUPROF_UNWIND_PLT:
      *cfa = GPUPROF_PLT_CFA(regs_.sp, regs_.pc);
      return true;
    default:
      return false;
  }
}

bool Walker::find_caller_fp(uint64_t rule, uint64_t cfa, uint64_t* fp) {
  const auto offset = static_cast<uint64_t>(GPUPROF_UNWIND_RULE_FP_OFFSET(rule));
  switch (GPUPROF_UNWIND_RULE_FP(rule)) {
    case GPUPROF_UNWIND_FP_SAME:
      *fp = regs_.fp;
      return true;
    case GPUPROF_UNWIND_FP_AT_CFA:
      return read(cfa + offset, fp);
    default:
      return read(regs_.fp + offset, fp);
  }
}

// Notes the return from another stack to the thread's own one, whose used part begins at sp.
void Walker::enter_stack() {
  uint64_t word = 0;
  if (own_.high == 0 && within(walk_.own, regs_.sp) && read(regs_.sp & ~uint64_t{7}, &word)) {
    own_ = {regs_.sp, walk_.own.high};
  }
}

// Goes to the caller, whose sp is `cfa`. `cfa` must be higher than the current sp. There is one exception: a function
// may run its callee on another stack, and restore its own stack through fp.
Step Walker::go_to(uint64_t cfa, uint64_t fp, bool may_switch_stacks) {
  uint64_t pc = 0;
  const bool own = within(own_, regs_.sp);
  const bool outwards = cfa > regs_.sp && (!own || cfa <= own_.high);
  if (!outwards && !(may_switch_stacks && may_switch())) {
    return Step::astray;
  }
  if (cfa % sizeof(uint64_t) != 0 || !read(return_address_at(cfa), &pc)) {
    return Step::astray;
  }
  regs_ = {pc, cfa, fp};
  return_address_ = true;
  by_frame_pointer_ = false;
  enter_stack();
  return pc == 0 ? Step::whole : Step::on;
}

// Goes to the function that a signal handler has interrupted. Linux has pushed all its registers onto the handler's
// stack.
Step Walker::step_signal(uint64_t* cfa) {
  Registers interrupted = {};
  if (!read(regs_.sp + GPUPROF_SIGNAL_PC, &interrupted.pc) || !read(regs_.sp + GPUPROF_SIGNAL_SP, &interrupted.sp) ||
      !read(regs_.sp + GPUPROF_SIGNAL_FP, &interrupted.fp) || !may_switch()) {
    return Step::astray;
  }
  walk_.in_signal = 1;
  regs_ = interrupted;
  return_address_ = false;
  by_frame_pointer_ = false;
  enter_stack();
  *cfa = interrupted.sp;
  return interrupted.pc == 0 ? Step::whole : Step::on;
}

// Steps by frame pointer. Code without a rule is mostly JIT-compiled and may use the fp register for other values. So a
// zero fp does not mean that the stack ends.
Step Walker::step_without_rule(uint64_t rule, uint64_t* cfa) {
  const uint64_t fp = regs_.fp;
  const bool first = walk_.count == 0;
  if (return_address_ && !first && rule != kNoRuleAfterCall) {
    return Step::astray;
  }
  uint64_t caller_fp = 0;
  if (fp < regs_.sp || fp - regs_.sp > kMaxPushed || !read(fp, &caller_fp)) {
    return Step::astray;
  }
  *cfa = fp + GPUPROF_CFA_OF_FRAME_POINTER;
  const Step result = go_to(*cfa, caller_fp, false);
  by_frame_pointer_ = true;
  return result == Step::whole ? Step::astray : result;
}

// Takes one step. `*cfa` becomes the end of the frame. It stays unchanged if the end is unknown.
Step Walker::step(uint64_t rule, uint64_t* cfa) {
  const uint32_t kind = GPUPROF_UNWIND_RULE_KIND(rule);
  uint64_t fp = 0;
  uint64_t end = 0;
  if (kind == GPUPROF_UNWIND_END) {
    return Step::whole;
  }
  if (kind == GPUPROF_UNWIND_SIGNAL) {
    return step_signal(cfa);
  }
  if (kind == GPUPROF_UNWIND_NONE) {
    return step_without_rule(rule, cfa);
  }
  if (!find_cfa(rule, &end) || !find_caller_fp(rule, end, &fp)) {
    return Step::astray;
  }
  *cfa = end;
  return go_to(end, fp, kind != GPUPROF_UNWIND_SP && kind != GPUPROF_UNWIND_PLT);
}

// Returns whether the last walk, from its frame `from` on, would have the same result now. Compares stack words first.
// If they are equal, the modules have frames on the stack, so they cannot be unloaded during the check.
bool Walker::still_holds(const LastStack& last, uint32_t from) {
  uint64_t changed = 0;
  for (uint32_t i = from; i + 1 < last.count; ++i) {
    const LastFrame& frame = last.frames[i];
    const LastFrame& caller = last.frames[i + 1];
    const uint64_t pc_slot = return_address_at(caller.sp);
    const uint64_t fp_slot = frame.place & kPlaceMask;
    const bool saved = fp_slot != 0;
    changed |= word_at(pc_slot) ^ caller.pc;
    changed |= word_at(saved ? fp_slot : pc_slot) ^ (saved ? caller.fp : caller.pc);
  }
  uint32_t before = 0;  // module of the previous frame; 0 for the first frame
  for (uint32_t i = from; changed == 0 && i < last.count && last.frames[i].pc != 0; ++i) {
    const auto module = static_cast<uint32_t>(last.frames[i].place >> kAddressBits);
    if (module != before && !is_seen(module) && !still_there(memory_, module, last.frames[i].pc - 1)) {
      return false;
    }
    before = module;
  }
  return changed == 0;
}

void Walker::take_over(const LastStack& last, uint32_t from) {
  LastStack& kept = memory_.current();
  NativeFrame* const frames = walk_.frames;
  const bool zero = last.frames[last.count - 1].pc == 0;  // true: the last entry is a zero pc, not a frame
  const uint32_t wanted = last.count - (zero ? 1 : 0) - from;
  const uint32_t begin = walk_.count;
  const uint32_t taken = wanted < walk_.capacity - begin ? wanted : walk_.capacity - begin;
  for (uint32_t i = 0; i < taken; ++i) {
    const LastFrame frame = last.frames[from + i];
    kept.frames[begin + i] = frame;
    frames[begin + i].word = frame.pc;
    // For the outermost frame this value is wrong; the code below replaces it.
    frames[begin + i].cfa = last.frames[from + i + 1].sp;
  }
  walk_.count = begin + taken;
  if (taken != wanted) {
    regs_.pc = last.frames[from + taken].pc;
    return;
  }
  if (zero) {
    kept.frames[begin + taken] = last.frames[last.count - 1];
  } else {
    frames[begin + taken - 1].cfa = last.frames[last.count - 1].sp;
  }
  kept.count = begin + taken + (zero ? 1 : 0);
  regs_.pc = 0;
}

// Fast path: return addresses with a cached rule and a CFA by sp or fp, on the thread's own stack. Stops before any
// other frame, or with pc = 0 at the end. All state is in local variables, because storing it in each frame would take
// longer than the rest.
void Walker::run_plain() {
  const StackRange own = own_;
  const uint32_t capacity = walk_.capacity;
  const LastStack& last = memory_.last();
  LastStack& kept = memory_.current();
  uint32_t same = last_from_;  // index of the last walk's frame that is compared next
  uint32_t count = walk_.count;
  Registers regs = regs_;
  while (count < capacity && regs.pc != 0) {
    while (same < last.count && last.frames[same].sp < regs.sp) {
      ++same;
    }
    if (same < last.count && last.frames[same].sp == regs.sp && last.frames[same].pc == regs.pc &&
        last.frames[same].fp == regs.fp) {
      if (last.frames[last.count - 1].sp <= own.high && still_holds(last, same)) {
        walk_.count = count;
        return take_over(last, same);
      }
      same = last.count;
    }
    const CachedRule cached = load_rule(regs.pc - 1);
    const uint64_t rule = cached.rule;
    const uint32_t kind = GPUPROF_UNWIND_RULE_KIND(rule);
    const uint32_t fp_kind = GPUPROF_UNWIND_RULE_FP(rule);
    const uint64_t base = kind == GPUPROF_UNWIND_FP ? regs.fp : regs.sp;
    const uint64_t cfa = base + static_cast<uint64_t>(GPUPROF_UNWIND_RULE_CFA_OFFSET(rule));
    if (!cached.is_of(regs.pc - 1) || kind - GPUPROF_UNWIND_SP > GPUPROF_UNWIND_FP - GPUPROF_UNWIND_SP ||
        fp_kind > GPUPROF_UNWIND_FP_AT_CFA || cfa <= regs.sp || cfa > own.high || cfa % sizeof(uint64_t) != 0 ||
        !(is_seen(cached.module()) || still_there(memory_, cached.module(), regs.pc - 1))) {
      break;
    }
    uint64_t slot = 0;
    uint64_t fp = regs.fp;
    if (fp_kind == GPUPROF_UNWIND_FP_AT_CFA) {
      slot = cfa + static_cast<uint64_t>(GPUPROF_UNWIND_RULE_FP_OFFSET(rule));
      if (slot < regs.sp || slot >= cfa || slot % sizeof(uint64_t) != 0) {
        break;
      }
      fp = word_at(slot);
    }
    kept.frames[count] = {regs.pc, regs.sp, regs.fp, slot | uint64_t{cached.module()} << kAddressBits};
    walk_.frames[count] = {regs.pc, cfa};
    ++count;
    regs = {word_at(return_address_at(cfa)), cfa, fp};
  }
  if (regs.pc == 0) {
    kept.frames[count] = {0, regs.sp, regs.fp, 0};
    kept.count = count + 1;
  }
  last_from_ = same;
  walk_.count = count;
  regs_ = regs;
}

// Returns whether pc is unlikely to be in code. After a step by a wrong frame pointer, pc may be anywhere, even in a
// library that is being unloaded. So this reads only the code before pc, by safe_read().
bool Walker::is_garbage(uint64_t at) {
  if (!by_frame_pointer_) {
    return false;
  }
  const CachedRule cached = load_rule(at);
  const bool known = cached.is_of(at) && (cached.module() == 0 || is_seen(cached.module()));
  return !known && !may_return_to(regs_.pc);
}

Step Walker::run_one() {
  NativeFrame& frame = walk_.frames[walk_.count];
  const uint64_t pc = regs_.pc;
  const bool exact = !return_address_;
  const uint64_t at = exact ? pc : pc - 1;
  if (is_garbage(at)) {
    return Step::astray;
  }
  const uint64_t rule = cached_ ? rule_at(memory_, at, !exact) : find_rule(memory_, at, !exact);
  frame.cfa = regs_.sp;
  LastFrame kept_frame = {pc, regs_.sp, regs_.fp, 0};
  const Step result = step(rule, &frame.cfa);
  const bool no_code = GPUPROF_UNWIND_RULE_KIND(rule) == GPUPROF_UNWIND_NONE && rule != kNoRuleAfterCall && !exact;
  if (result == Step::astray && no_code && walk_.count > 0) {
    return result;  // the previous step was wrong, because pc is not in code
  }
  frame.word = (pc & GPUPROF_WORD_ADDRESS) | (exact ? GPUPROF_WORD_EXACT : 0);
  ++walk_.count;
  LastStack& kept = memory_.current();
  if (result == Step::on) {
    // Later walks cannot reuse this frame, because the words that were read for it are not stored.
    kept.first = walk_.count;
  } else if (const CachedRule cached = load_rule(at);
             GPUPROF_UNWIND_RULE_KIND(rule) == GPUPROF_UNWIND_END && !exact && cached.is_of(at)) {
    kept_frame.place = uint64_t{cached.module()} << kAddressBits;
    kept.frames[walk_.count - 1] = kept_frame;
    kept.count = walk_.count;
  }
  return result;
}

// Starts a walk with a new number. So modules that earlier walks have checked are checked again.
void Walker::begin() {
  if (++memory_.walks == 0) {
    __builtin_memset(memory_.seen_in, 0, sizeof(memory_.seen_in));
    memory_.walks = 2;
  }
  walk_.count = 0;
  walk_.in_signal = 0;
  memory_.window_begin = 0;
  LastStack& kept = memory_.current();
  kept.first = 0;
  kept.count = 0;
  last_from_ = memory_.last().first;
}

Step Walker::run() {
  begin();
  Step result = Step::on;
  while (result == Step::on && walk_.count < walk_.capacity) {
    if (cached_ && return_address_ && !by_frame_pointer_ && within(own_, regs_.sp)) {
      run_plain();
      result = regs_.pc == 0 ? Step::whole : Step::on;
      if (result == Step::whole || walk_.count == walk_.capacity) {
        break;
      }
    }
    result = run_one();
  }
  return result;
}

void walk_from(NativeWalk* walk, const Registers& start, bool return_address) {
  walk->sp = start.sp;
  Walker walker(walk, start, true, return_address);
  Step result = walker.run();
  if (result == Step::astray) {
    uint64_t* dead_end = &dead_ends[walker.pc() / 2 % kDeadEnds];
    if (load_relaxed(dead_end) != walker.pc()) {
      Walker again(walk, start, false, return_address);
      result = again.run();
      if (result == Step::astray) {
        store_relaxed(&dead_ends[again.pc() / 2 % kDeadEnds], again.pc());
      }
    }
  }
  walk->truncated = result == Step::whole ? 0 : 1;
}

}  // namespace

// All code of injection/ has frame pointers. So fp points to the saved fp of the caller, and the return address follows
// it.
__attribute__((noinline)) void walk_native(NativeWalk* walk) {
  const auto frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  const uint64_t cfa = frame + GPUPROF_CFA_OF_FRAME_POINTER;
  walk_from(walk, {word_at(return_address_at(cfa)), cfa, word_at(frame)}, true);
}

void walk_interrupted(NativeWalk* walk, const void* context) {
  const auto registers = reinterpret_cast<uint64_t>(context);
  walk_from(walk,
            {word_at(registers + GPUPROF_SIGNAL_PC), interrupted_sp(context), word_at(registers + GPUPROF_SIGNAL_FP)},
            false);
}

uint64_t interrupted_sp(const void* context) {
  return word_at(reinterpret_cast<uint64_t>(context) + GPUPROF_SIGNAL_SP);
}

void reset_native_walk() {
  reset_modules();
  reset_rule_cache();
}

}  // namespace gpuprof::injection
