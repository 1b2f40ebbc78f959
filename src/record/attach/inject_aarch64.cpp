#include <elf.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <string>

#include "base/files/file.h"
#include "record/attach/inject_arch.h"

namespace gpuprof::record::arch {

namespace {

constexpr size_t kMaxExtended = 64U << 10;  // enough for the largest vectors of SVE, which take 9 KB
constexpr uint64_t kBranchType = 0xc00;     // PSTATE.BTYPE: the thread has just made an indirect branch
constexpr long kRestartResult = -512;       // the kernel's ERESTARTSYS
constexpr uint64_t kInstruction = 4;

// Numbers of registers.
constexpr size_t kCall = 8;
constexpr size_t kFramePointer = 29;
constexpr size_t kLink = 30;

void* address_of(uintptr_t value) {
  return reinterpret_cast<void*>(value);  // NOLINT(performance-no-int-to-ptr): the register set's number
}

// Returns whether the thread stopped in the system call that note_system_call() has noted. Its first argument is not
// compared, because the result may have replaced it.
bool is_in_noted(const Registers& registers) {
  const user_regs_struct& now = registers.general.registers;
  const std::array<uint64_t, 8>& then = registers.entered_with;
  bool same =
      registers.entered >= 0 && now.regs[kCall] == static_cast<uint64_t>(registers.entered) && now.sp == then[6];
  for (size_t i = 1; i < 6; ++i) {
    same = same && now.regs[i] == then[i];
  }
  return same && (now.pc == then[7] || now.pc == then[7] - kInstruction);
}

// Returns whether the kernel continues this system call by restart_syscall, which sleeps only for the rest of the time.
bool sleeps(const Registers& registers) {
  return registers.entered == SYS_nanosleep ||
         (registers.entered == SYS_clock_nanosleep && (registers.entered_with[1] & TIMER_ABSTIME) == 0);
}

}  // namespace

const std::vector<unsigned char> gate = {0x01, 0x00, 0x00, 0xd4};  // svc #0
const size_t gate_alignment = kInstruction;
const size_t return_slot = 0;

// A stop on the way out of a system call hides the call: the kernel has either replaced the first argument by the
// result, or has already set the thread back to the svc instruction.
void note_system_call(pid_t tid, Registers& registers) {
  const std::string text = read_text("/proc/" + std::to_string(tid) + "/syscall", 256);
  std::array<uint64_t, 8>& with = registers.entered_with;
  const int got = std::sscanf(
      text.c_str(), "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64,
      &registers.entered, &with[0], &with[1], &with[2], &with[3], &with[4], &with[5], &with[6], &with[7]);
  if (got != 9) {
    registers.entered = -1;
  }
}

bool read_general(pid_t tid, General& general) {
  int number = -1;
  iovec part{&general.registers, sizeof(general.registers)};
  iovec call{&number, sizeof(number)};
  if (::ptrace(PTRACE_GETREGSET, tid, address_of(NT_PRSTATUS), &part) != 0 ||
      ::ptrace(PTRACE_GETREGSET, tid, address_of(NT_ARM_SYSTEM_CALL), &call) != 0) {
    return false;
  }
  general.system_call = number;
  general.result = static_cast<long>(general.registers.regs[0]);
  return true;
}

bool write_general(pid_t tid, const General& general) {
  user_regs_struct copy = general.registers;
  auto number = static_cast<int>(general.system_call);
  iovec part{&copy, sizeof(copy)};
  iovec call{&number, sizeof(number)};
  return ::ptrace(PTRACE_SETREGSET, tid, address_of(NT_PRSTATUS), &part) == 0 &&
         ::ptrace(PTRACE_SETREGSET, tid, address_of(NT_ARM_SYSTEM_CALL), &call) == 0;
}

// The set for SVE contains the floating-point registers, too. Processors without SVE have only the other set.
bool read(pid_t tid, Registers& registers) {
  registers.extended.resize(kMaxExtended);
  iovec part{registers.extended.data(), registers.extended.size()};
  if (::ptrace(PTRACE_GETREGSET, tid, address_of(NT_ARM_SVE), &part) != 0 &&
      ::ptrace(PTRACE_GETREGSET, tid, address_of(NT_PRFPREG), &part) != 0) {
    return false;
  }
  registers.extended.resize(part.iov_len);
  General& general = registers.general;
  if (!read_general(tid, general)) {
    return false;
  }
  if (is_in_noted(registers)) {
    general.system_call = registers.entered;
    if (general.registers.pc != registers.entered_with[7]) {
      general.result = kRestartResult;
    }
  }
  return true;
}

bool write(pid_t tid, const Registers& registers) {
  std::vector<std::byte> copy = registers.extended;
  General general = registers.general;
  if (general.system_call >= 0 && general.result == kRestartResult && sleeps(registers)) {
    general.registers.regs[kCall] = SYS_restart_syscall;
  }
  general.system_call = -1;
  iovec part{copy.data(), copy.size()};
  const bool extended = ::ptrace(PTRACE_SETREGSET, tid, address_of(NT_ARM_SVE), &part) == 0 ||
                        ::ptrace(PTRACE_SETREGSET, tid, address_of(NT_PRFPREG), &part) == 0;
  return write_general(tid, general) && extended;
}

uint64_t first_argument(const General& general) {
  return general.registers.regs[0];
}

uint64_t instruction(const General& general) {
  return general.registers.pc;
}

uint64_t stack_pointer(const General& general) {
  return general.registers.sp;
}

void begin_again(Registers& registers) {
  General& general = registers.general;
  general.registers.regs[0] = registers.entered_with[0];
  general.registers.pc -= kInstruction;
  general.system_call = -1;
}

General for_system_call(const General& from, uint64_t gate_address, long number,
                        const std::array<uint64_t, 6>& arguments) {
  General general{from.registers};
  user_regs_struct& regs = general.registers;
  for (size_t i = 0; i < arguments.size(); ++i) {
    regs.regs[i] = arguments[i];
  }
  regs.regs[kCall] = static_cast<unsigned long long>(number);
  regs.pc = gate_address;
  regs.pstate &= ~kBranchType;
  return general;
}

General for_function(const General& from, uint64_t function, uint64_t stack_end,
                     const std::array<uint64_t, 3>& arguments, uint64_t gate_address) {
  General general{from.registers};
  user_regs_struct& regs = general.registers;
  for (size_t i = 0; i < arguments.size(); ++i) {
    regs.regs[i] = arguments[i];
  }
  regs.regs[kFramePointer] = 0;  // ends the frame pointer chain
  regs.regs[kLink] = gate_address;
  regs.sp = stack_end;
  regs.pc = function;
  regs.pstate &= ~kBranchType;
  return general;
}

bool returned(const General& general, uint64_t gate_address, uint64_t stack_end) {
  return general.registers.pc == gate_address + kInstruction && general.registers.sp == stack_end;
}

uint64_t function_result(const General& general) {
  return general.registers.regs[0];
}

}  // namespace gpuprof::record::arch
