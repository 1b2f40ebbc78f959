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
constexpr uint32_t kNearLog2 = 8;
static_assert(sizeof(WalkMemory::near) / sizeof(NearRule) == 1U << kNearLog2);
constexpr uint64_t kModuleMask = WalkMemory::kMaxModules - 1;
constexpr uint64_t kPlaceMask = (uint64_t{1} << kAddressBits) - 1;

// If a walk ends early, a cached rule may be wrong. So the walk is repeated without cached rules. dead_ends holds the
// addresses at which the repeated walk ended early, too: walks that end there are not repeated.
uint64_t dead_ends[kDeadEnds];

enum class Step : uint8_t { on, whole, astray };

// Not instrumented by sanitizers: the walk must read words that belong to other functions' redzones.
__attribute__((no_sanitize("address", "thread", "undefined"))) inline uint64_t word_at(uint64_t address) {
  return *reinterpret_cast<const volatile uint64_t*>(address);
}

struct Registers {
  uint64_t pc;
  uint64_t sp;
  uint64_t fp;
};

inline uint64_t code_at(uint64_t address) {
  return GPUPROF_CODE_ADDRESS(word_at(address));
}

// Returns the address of the caller's saved fp; 0: it is still in the register. `place`: see NativeFrame.
constexpr uint64_t fp_slot(uint64_t place) {
  return GPUPROF_HAS_LINK_REGISTER && (place & NativeFrame::kFpNotSaved) != 0 ? 0 : place & kPlaceMask;
}

// Returns the address of the return address of a plain frame that ends at `cfa`.
inline uint64_t pc_slot(uint64_t place, uint64_t cfa) {
  if (GPUPROF_HAS_LINK_REGISTER) {
    return (place & kPlaceMask) + ((place & NativeFrame::kFpNotSaved) != 0 ? 0 : sizeof(uint64_t));
  }
  return gpuprof_return_slot(GPUPROF_RULE_AT_ENTRY, cfa);
}

// Returns the registers in the caller of a plain frame that ends at `cfa`.
inline Registers caller_of(uint64_t place, uint64_t cfa, uint64_t fp) {
  const uint64_t slot = fp_slot(place);
  return {code_at(pc_slot(place, cfa)), cfa, slot != 0 ? word_at(slot) : fp};
}

// Where a walk begins.
struct Start {
  Registers registers;
  uint64_t link;        // the link register; 0: unknown, or the processor has none
  bool return_address;  // see Walker::return_address_
};

// One walk. A return address may be the first byte of the next function. So the rule of a caller is looked up at pc -
// 1.
class Walker {
 public:
  Walker(NativeWalk* walk, const Start& start, bool cached)
      : walk_(*walk),
        memory_(*walk->memory),
        regs_(start.registers),
        link_(start.link),
        cached_(cached),
        return_address_(start.return_address) {
    if (within(walk->own, regs_.sp)) {
      own_ = {regs_.sp, walk->own.high};
    }
  }

  Step run();
  void begin();
  const NearRule* near_rule(uint64_t at);
  static bool follow_guess(const NativeStack& last, uint32_t guess, const Registers& regs, uint64_t* place,
                           uint64_t* cfa);
  bool follow_rule(const Registers& regs, uint64_t* place, uint64_t* cfa);
  void run_plain();
  Step run_one();
  static uint32_t find_change(const NativeStack& last, uint32_t from);
  bool still_there_from(const NativeStack& last, uint32_t from, uint32_t to);
  bool take_over(const NativeStack& last, uint32_t from);
  void keep(Step result);
  [[nodiscard]] bool is_seen(uint32_t module) const { return memory_.seen_in[module] == memory_.walks; }
  [[nodiscard]] uint64_t pc() const { return regs_.pc; }

 private:
  Step step(uint64_t rule, uint64_t* cfa);
  Step step_signal(uint64_t* cfa);
  Step step_without_rule(uint64_t rule, uint64_t* cfa);
  bool find_cfa(uint64_t rule, uint64_t* cfa);
  bool find_caller_fp(uint64_t rule, uint64_t cfa, uint64_t* fp);
  bool find_cfa_by_saved_fp(uint64_t rule, uint64_t* cfa);
  Step go_to(uint64_t slot, uint64_t cfa, uint64_t fp, bool may_switch);
  bool read(uint64_t address, uint64_t* value);
  bool may_switch() { return switches_++ < kMaxSwitches; }
  void enter_stack();
  bool is_garbage(uint64_t at);

  NativeWalk& walk_;
  WalkMemory& memory_;
  Registers regs_;
  // Used part of the thread's own stack; memory below it is not read, because it may be unmapped.
  StackRange own_ = {0, 0};
  uint64_t link_;  // the link register; 0: unknown
  bool cached_;
  bool by_frame_pointer_ = false;  // pc was found through the fp register, which need not be a frame pointer
  bool return_address_;            // true: pc is a return address; false: a signal has interrupted the code at pc
  uint32_t switches_ = 0;
  uint32_t count_ = 0;      // number of frames in `fresh`
  uint32_t unplain_ = 0;    // that many of them cannot be reused by later walks
  uint32_t kept_ = 0;       // number of outermost frames of the last walk that stay in place
  uint32_t guess_ = 0;      // frame of the last walk that probably has the same rule as the next frame; 0: none
  uint32_t same_ = 0;       // frames of the last walk with a higher index are not compared any more
  bool plain_end_ = false;  // the walk ended in a way that later walks can check
  bool zero_end_ = false;   // it ended at a zero on the stack
  uint64_t end_ = 0;        // end of the outermost frame that was found so far
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

// Finds the CFA of a function that was reached through the fp register. On some processors sp is then only known to be
// at least regs_.sp. If the function saves fp, fp points to where it did so.
bool Walker::find_cfa_by_saved_fp(uint64_t rule, uint64_t* cfa) {
  *cfa = regs_.fp - static_cast<uint64_t>(GPUPROF_UNWIND_RULE_FP_OFFSET(rule));
  return GPUPROF_UNWIND_RULE_KIND(rule) == GPUPROF_UNWIND_SP &&
         GPUPROF_UNWIND_RULE_FP(rule) == GPUPROF_UNWIND_FP_AT_CFA && regs_.fp >= regs_.sp;
}

bool Walker::find_cfa(uint64_t rule, uint64_t* cfa) {
  const auto offset = static_cast<uint64_t>(GPUPROF_UNWIND_RULE_CFA_OFFSET(rule));
  const uint32_t kind = GPUPROF_UNWIND_RULE_CFA(rule);
  if (GPUPROF_FP_GIVES_SP == 0 && by_frame_pointer_ && kind != GPUPROF_UNWIND_FP && kind != GPUPROF_UNWIND_DEREF_FP) {
    return find_cfa_by_saved_fp(rule, cfa);
  }
  switch (kind) {
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
    case GPUPROF_UNWIND_FP_AT_CFA:
      return read(cfa + offset, fp);
    case GPUPROF_UNWIND_FP_AT_FP:
      return read(regs_.fp + offset, fp);
    default:
      *fp = regs_.fp;
      return true;
  }
}

// Notes the return from another stack to the thread's own one, whose used part begins at sp.
void Walker::enter_stack() {
  uint64_t word = 0;
  if (own_.high == 0 && within(walk_.own, regs_.sp) && read(regs_.sp & ~uint64_t{7}, &word)) {
    own_ = {regs_.sp, walk_.own.high};
  }
}

// Goes to the caller, whose sp is `cfa`. `slot` is the address of the return address; 0: it is in the link register.
// `cfa` must be higher than the current sp. There are two exceptions: a function without a stack frame has its return
// address in the link register, and a function may run its callee on another stack, and restore its own through fp.
Step Walker::go_to(uint64_t slot, uint64_t cfa, uint64_t fp, bool may_switch_stacks) {
  uint64_t pc = link_;
  const bool own = within(own_, regs_.sp);
  const bool outwards = (cfa > regs_.sp || (slot == 0 && cfa == regs_.sp)) && (!own || cfa <= own_.high);
  if (!outwards && !(may_switch_stacks && may_switch())) {
    return Step::astray;
  }
  if (cfa % sizeof(uint64_t) != 0 || (slot == 0 ? link_ == 0 : !read(slot, &pc))) {
    return Step::astray;
  }
  regs_ = {GPUPROF_CODE_ADDRESS(pc), cfa, fp};
  link_ = 0;
  return_address_ = true;
  by_frame_pointer_ = false;
  enter_stack();
  return regs_.pc == 0 ? Step::whole : Step::on;
}

// Goes to the function that a signal handler has interrupted. Linux has pushed all its registers onto the handler's
// stack.
Step Walker::step_signal(uint64_t* cfa) {
  Registers interrupted = {};
  uint64_t link = 0;
  if (GPUPROF_FP_GIVES_SP == 0 && by_frame_pointer_) {
    return Step::astray;  // the address of the kernel's frame is unknown
  }
  if (!read(regs_.sp + GPUPROF_SIGNAL_PC, &interrupted.pc) || !read(regs_.sp + GPUPROF_SIGNAL_SP, &interrupted.sp) ||
      !read(regs_.sp + GPUPROF_SIGNAL_FP, &interrupted.fp) ||
      (GPUPROF_HAS_LINK_REGISTER && !read(regs_.sp + GPUPROF_SIGNAL_LINK, &link)) || !may_switch()) {
    return Step::astray;
  }
  walk_.in_signal = 1;
  regs_ = interrupted;
  link_ = link;
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
  const bool first = count_ == 0;
  if (return_address_ && !first && rule != kNoRuleAfterCall) {
    return Step::astray;
  }
  uint64_t caller_fp = 0;
  if (fp < regs_.sp || fp - regs_.sp > kMaxPushed || !read(fp, &caller_fp)) {
    return Step::astray;
  }
  *cfa = fp + GPUPROF_CFA_OF_FRAME_POINTER;
  const Step result = go_to(fp + sizeof(uint64_t), *cfa, caller_fp, false);
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
  const uint32_t base = GPUPROF_UNWIND_RULE_CFA(rule);
  return go_to(gpuprof_rule_in_link(rule) != 0 ? 0 : gpuprof_return_slot(rule, end), end, fp,
               base != GPUPROF_UNWIND_SP && base != GPUPROF_UNWIND_PLT);
}

// Compares the words from which frames[from] and its callers were found with the stack. Returns the outermost frame
// that is still right. Returns 0 if all are.
uint32_t Walker::find_change(const NativeStack& last, uint32_t from) {
  const uint32_t outermost = last.zero_end != 0 ? 0 : 1;
  for (uint32_t i = from; i > outermost; --i) {
    const NativeFrame& frame = last.frames[i];
    const NativeFrame& caller = last.frames[i - 1];
    const uint64_t pc_at = pc_slot(frame.place, caller.sp);
    const uint64_t fp_at = fp_slot(frame.place);
    const bool saved = fp_at != 0;
    const uint64_t pc = code_at(pc_at);
    if (((pc ^ caller.word) | ((saved ? word_at(fp_at) : pc) ^ (saved ? caller.fp : caller.word))) != 0) {
      return i;
    }
  }
  return 0;
}

// Returns whether the modules of frames[from] and its callers up to frames[to] are those of the last walk. Call it only
// for frames that are on the stack. Their modules cannot be unloaded meanwhile.
bool Walker::still_there_from(const NativeStack& last, uint32_t from, uint32_t to) {
  if (last.verified == memory_.walks) {
    return true;
  }
  uint32_t before = 0;  // module of the previous frame; 0 for the first frame
  for (uint32_t i = from; i >= to; --i) {
    const auto module = static_cast<uint32_t>(last.frames[i].place >> kAddressBits & kModuleMask);
    if (module != before && !is_seen(module) && !still_there(memory_, module, last.frames[i].word - 1)) {
      return false;
    }
    before = module;
  }
  return true;
}

// The walk has reached frames[from] of the last walk. Takes over this frame and those of its callers that are still
// right, and goes to the next frame. Returns false if it takes over none.
bool Walker::take_over(const NativeStack& last, uint32_t from) {
  const uint32_t changed = find_change(last, from);
  if (!still_there_from(last, from, changed == 0 ? 1 : changed)) {
    return false;
  }
  if (changed == 0 && from <= walk_.capacity - count_) {
    kept_ = from;
    plain_end_ = true;
    regs_.pc = 0;
    return true;
  }
  const uint32_t left = walk_.capacity - count_;
  const uint32_t taken = from - changed + 1 < left ? from - changed + 1 : left;
  for (uint32_t i = 0; i < taken; ++i) {
    memory_.fresh[count_ + i] = last.frames[from - i];
  }
  count_ += taken;
  const NativeFrame& frame = last.frames[from - taken + 1];
  regs_ = caller_of(frame.place, last.frames[from - taken].sp, frame.fp);
  same_ = from - taken;
  guess_ = same_;
  return true;
}

// Returns the rule for an address, or null if it is not cached.
const NearRule* Walker::near_rule(uint64_t at) {
  NearRule* const near = &memory_.near[at * GPUPROF_HASH_MULTIPLIER >> (64 - kNearLog2)];
  if (near->at != at || near->found_in != memory_.walks) {
    const CachedRule cached = load_rule(at);
    const uint32_t module = cached.module();
    if (!cached.is_of(at) || !(is_seen(module) || still_there(memory_, module, at))) {
      return nullptr;
    }
    *near = {at, cached.rule, module, memory_.walks};
  }
  return near;
}

// Sets the place and end of the frame like those of a frame of the last walk with the same pc, because the same rule
// applies. Unlike a search for the rule, this lets the processor begin with the next frame before it has read the
// return address.
inline bool Walker::follow_guess(const NativeStack& last, uint32_t guess, const Registers& regs, uint64_t* place,
                                 uint64_t* cfa) {
  const NativeFrame& like = last.frames[guess];
  const uint64_t moved = regs.sp - like.sp;
  if (guess == 0 || like.word != regs.pc || (like.place & NativeFrame::kPlain) == 0 ||
      ((like.place & NativeFrame::kByFp) != 0 && regs.fp - like.fp != moved)) {
    return false;
  }
  *place = (like.place & kPlaceMask) != 0 ? like.place + moved : like.place;
  *cfa = last.frames[guess - 1].sp + moved;
  return true;
}

// Sets the place and end of the frame by its cached rule. Returns false unless the rule is plain.
inline bool Walker::follow_rule(const Registers& regs, uint64_t* place, uint64_t* cfa) {
  const NearRule* const near = near_rule(regs.pc - 1);
  if (near == nullptr) {
    return false;
  }
  const uint64_t rule = near->rule;
  const uint32_t kind = GPUPROF_UNWIND_RULE_KIND(rule);
  const uint32_t fp_kind = GPUPROF_UNWIND_RULE_FP(rule);
  const uint64_t base = kind == GPUPROF_UNWIND_FP ? regs.fp : regs.sp;
  *cfa = base + static_cast<uint64_t>(GPUPROF_UNWIND_RULE_CFA_OFFSET(rule));
  if (kind - GPUPROF_UNWIND_SP > GPUPROF_UNWIND_FP - GPUPROF_UNWIND_SP || fp_kind == GPUPROF_UNWIND_FP_AT_FP ||
      *cfa <= regs.sp || *cfa % sizeof(uint64_t) != 0) {
    return false;
  }
  uint64_t slot = 0;
  if (fp_kind != GPUPROF_UNWIND_FP_SAME) {
    slot = *cfa + static_cast<uint64_t>(GPUPROF_UNWIND_RULE_FP_OFFSET(rule));
    if (slot < regs.sp || slot >= *cfa || slot % sizeof(uint64_t) != 0) {
      return false;
    }
  }
  *place = slot | uint64_t{near->module} << kAddressBits | NativeFrame::kPlain |
           (kind == GPUPROF_UNWIND_FP ? NativeFrame::kByFp : 0) |
           (fp_kind == GPUPROF_UNWIND_FP_NOT_SAVED ? NativeFrame::kFpNotSaved : 0);
  return true;
}

// Fast path: return addresses with a cached rule and a CFA by sp or fp, on the thread's own stack. Stops before any
// other frame, or with pc = 0 at the end. All state is in local variables, because storing it in each frame would take
// longer than the rest.
void Walker::run_plain() {
  const StackRange own = own_;
  const uint32_t capacity = walk_.capacity;
  const NativeStack& last = memory_.stack;
  NativeFrame* const fresh = memory_.fresh;
  uint32_t same = last.frames[0].sp <= own.high ? same_ : 0;
  uint32_t guess = guess_;
  uint32_t count = count_;
  Registers regs = regs_;
  while (count < capacity && regs.pc != 0) {
    while (same != 0 && last.frames[same].sp < regs.sp) {
      --same;
    }
    if (same != 0 && last.frames[same].sp == regs.sp && last.frames[same].word == regs.pc &&
        last.frames[same].fp == regs.fp) {
      count_ = count;
      if (take_over(last, same)) {
        if (kept_ != 0) {
          return;
        }
        count = count_;
        same = same_;
        guess = guess_;
        regs = regs_;
        continue;
      }
      same = 0;
    }
    uint64_t place = 0;
    uint64_t cfa = 0;
    if (!follow_guess(last, guess, regs, &place, &cfa) && !follow_rule(regs, &place, &cfa)) {
      break;
    }
    if (cfa > own.high) {
      break;
    }
    guess -= guess != 0 ? 1 : 0;
    fresh[count++] = {regs.pc, regs.sp, regs.fp, place};
    regs = caller_of(place, cfa, regs.fp);
  }
  plain_end_ = zero_end_ = regs.pc == 0;
  same_ = same;
  guess_ = guess;
  count_ = count;
  end_ = regs.sp;
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
  const uint64_t pc = regs_.pc;
  const bool exact = !return_address_;
  const uint64_t at = exact ? pc : pc - 1;
  if (is_garbage(at)) {
    return Step::astray;
  }
  const uint64_t rule = cached_ ? rule_at(memory_, at, !exact) : find_rule(memory_, at, !exact);
  NativeFrame frame = {(pc & GPUPROF_WORD_ADDRESS) | (exact ? GPUPROF_WORD_EXACT : 0), regs_.sp, regs_.fp, 0};
  uint64_t end = regs_.sp;
  const Step result = step(rule, &end);
  const bool no_code = GPUPROF_UNWIND_RULE_KIND(rule) == GPUPROF_UNWIND_NONE && rule != kNoRuleAfterCall && !exact;
  if (result == Step::astray && no_code && count_ > 0) {
    return result;  // the previous step was wrong, because pc is not in code
  }
  end_ = end;
  if (result == Step::on) {
    // Later walks cannot reuse this frame, because the words that were read for it are not stored.
    unplain_ = count_ + 1;
  } else if (const CachedRule cached = load_rule(at);
             GPUPROF_UNWIND_RULE_KIND(rule) == GPUPROF_UNWIND_END && !exact && cached.is_of(at)) {
    frame.place = uint64_t{cached.module()} << kAddressBits;
    plain_end_ = true;
  }
  memory_.fresh[count_++] = frame;
  return result;
}

// Prepares a walk. Unless the loader has changed nothing since the last walk, gives the walk a new number, so that
// modules that earlier walks have verified are verified again.
void Walker::begin() {
  const uint64_t loads = loads_so_far();
  if (loads == 0 || loads != memory_.loads) {
    memory_.loads = loads;
    if (++memory_.walks == 0) {
      __builtin_memset(memory_.seen_in, 0, sizeof(memory_.seen_in));
      memory_.walks = 1;
    }
  }
  walk_.in_signal = 0;
  memory_.window_begin = 0;
  NativeStack& last = memory_.stack;
  same_ = last.reusable;
  guess_ = last.verified == memory_.walks ? last.count : 0;
  // If a signal handler interrupts this walk and never returns, the next walk must reuse nothing.
  last.reusable = 0;
  last.count = 0;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

Step Walker::run() {
  begin();
  Step result = Step::on;
  while (result == Step::on && count_ < walk_.capacity) {
    if (cached_ && return_address_ && !by_frame_pointer_ && within(own_, regs_.sp)) {
      run_plain();
      result = regs_.pc == 0 ? Step::whole : Step::on;
      if (result == Step::whole || count_ == walk_.capacity) {
        break;
      }
    }
    result = run_one();
  }
  return result;
}

// Adds the new frames to those that stay in place.
void Walker::keep(Step result) {
  NativeStack& stack = memory_.stack;
  walk_.count = kept_ + count_;
  walk_.common = kept_;
  walk_.ascending = result == Step::whole && unplain_ == 0 ? 1 : 0;
  walk_.truncated = result == Step::whole ? 0 : 1;
  if (kept_ == 0) {
    stack.frames[0] = {0, end_, regs_.fp, 0};
    stack.zero_end = zero_end_ ? 1 : 0;
  }
  for (uint32_t i = 0; i < count_; ++i) {
    stack.frames[walk_.count - i] = memory_.fresh[i];
  }
  stack.count = walk_.count;
  stack.verified = memory_.walks;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  stack.reusable = result == Step::whole && plain_end_ ? walk_.count - unplain_ : 0;
}

void walk_from(NativeWalk* walk, const Start& start) {
  Walker walker(walk, start, true);
  const Step result = walker.run();
  uint64_t* dead_end = &dead_ends[walker.pc() / 2 % kDeadEnds];
  if (result != Step::astray || load_relaxed(dead_end) == walker.pc()) {
    return walker.keep(result);
  }
  __builtin_memset(walk->memory->near, 0, sizeof(walk->memory->near));
  Walker again(walk, start, false);
  const Step second = again.run();
  if (second == Step::astray) {
    store_relaxed(&dead_ends[again.pc() / 2 % kDeadEnds], again.pc());
  }
  again.keep(second);
}

}  // namespace

extern "C" void gpuprof_walk_from(NativeWalk* walk, uint64_t pc, uint64_t sp, uint64_t fp) {
  walk_from(walk, {{pc, sp, fp}, 0, true});
}

void walk_interrupted(NativeWalk* walk, const void* context) {
  const uint64_t frame = reinterpret_cast<uint64_t>(context) - GPUPROF_SIGNAL_CONTEXT;
  const Registers interrupted = {word_at(frame + GPUPROF_SIGNAL_PC), interrupted_sp(context),
                                 word_at(frame + GPUPROF_SIGNAL_FP)};
  walk_from(walk, {interrupted, GPUPROF_HAS_LINK_REGISTER ? word_at(frame + GPUPROF_SIGNAL_LINK) : 0, false});
}

uint64_t interrupted_sp(const void* context) {
  return word_at(reinterpret_cast<uint64_t>(context) - GPUPROF_SIGNAL_CONTEXT + GPUPROF_SIGNAL_SP);
}

void reset_native_walk() {
  reset_modules();
  reset_rule_cache();
}

}  // namespace gpuprof::injection
