#include <elf.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "record/attach/inject_arch.h"

namespace gpuprof::record::arch {

namespace {

constexpr size_t kMaxExtended = 64U << 10;  // enough for the XSAVE area, which has 11 KB with AMX
constexpr uint64_t kDirectionFlag = 0x400;

void* address_of(uintptr_t value) {
  return reinterpret_cast<void*>(value);  // NOLINT(performance-no-int-to-ptr): the register set's number
}

}  // namespace

const std::vector<unsigned char> gate = {0x0f, 0x05};
const size_t gate_alignment = 1;
const size_t return_slot = 8;

bool read_general(pid_t tid, user_regs_struct& general) {
  iovec part{&general, sizeof(general)};
  return ::ptrace(PTRACE_GETREGSET, tid, address_of(NT_PRSTATUS), &part) == 0;
}

bool write_general(pid_t tid, const user_regs_struct& general) {
  user_regs_struct copy = general;
  iovec part{&copy, sizeof(copy)};
  return ::ptrace(PTRACE_SETREGSET, tid, address_of(NT_PRSTATUS), &part) == 0;
}

bool read(pid_t tid, Registers& registers) {
  registers.extended.resize(kMaxExtended);
  iovec part{registers.extended.data(), registers.extended.size()};
  if (::ptrace(PTRACE_GETREGSET, tid, address_of(NT_X86_XSTATE), &part) != 0) {
    return false;
  }
  registers.extended.resize(part.iov_len);
  return read_general(tid, registers.general);
}

bool write(pid_t tid, const Registers& registers) {
  std::vector<std::byte> copy = registers.extended;
  iovec part{copy.data(), copy.size()};
  const bool extended = ::ptrace(PTRACE_SETREGSET, tid, address_of(NT_X86_XSTATE), &part) == 0;
  return write_general(tid, registers.general) && extended;
}

uint64_t first_argument(const user_regs_struct& general) {
  return general.rdi;
}

uint64_t instruction(const user_regs_struct& general) {
  return general.rip;
}

uint64_t stack_pointer(const user_regs_struct& general) {
  return general.rsp;
}

long system_call(const user_regs_struct& general) {
  return static_cast<long>(general.orig_rax);
}

long result(const user_regs_struct& general) {
  return static_cast<long>(general.rax);
}

void begin_again(user_regs_struct& general) {
  general.rax = general.orig_rax;
  general.rip -= gate.size();
  general.orig_rax = ~0ULL;
}

user_regs_struct for_system_call(const user_regs_struct& from, uint64_t gate_address, long number,
                                 const std::array<uint64_t, 6>& arguments) {
  user_regs_struct regs = from;
  regs.rax = static_cast<unsigned long long>(number);
  regs.orig_rax = ~0ULL;  // so that the kernel does not restart a system call
  regs.rdi = arguments[0];
  regs.rsi = arguments[1];
  regs.rdx = arguments[2];
  regs.r10 = arguments[3];
  regs.r8 = arguments[4];
  regs.r9 = arguments[5];
  regs.rip = gate_address;
  return regs;
}

user_regs_struct for_function(const user_regs_struct& from, uint64_t function, uint64_t stack_end,
                              const std::array<uint64_t, 3>& arguments, uint64_t /*gate_address: on the stack*/) {
  user_regs_struct regs = from;
  regs.rax = 0;
  regs.orig_rax = ~0ULL;
  regs.rdi = arguments[0];
  regs.rsi = arguments[1];
  regs.rdx = arguments[2];
  regs.rbp = 0;  // ends the frame pointer chain
  regs.rsp = stack_end - return_slot;
  regs.rip = function;
  regs.eflags &= ~kDirectionFlag;
  return regs;
}

bool returned(const user_regs_struct& general, uint64_t gate_address, uint64_t stack_end) {
  return general.rip == gate_address + gate.size() && general.rsp == stack_end;
}

uint64_t function_result(const user_regs_struct& general) {
  // At the entry of a system call, the kernel has copied rax, the function's result, to orig_rax.
  return general.orig_rax;
}

void skip_system_call(user_regs_struct& general) {
  // A harmless call. A seccomp filter may kill the process for an invalid number.
  general.orig_rax = SYS_getpid;
}

}  // namespace gpuprof::record::arch
