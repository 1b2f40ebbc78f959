#include <elf.h>
#include <sys/ptrace.h>
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

// The kernel keeps the number of the system call in orig_rax, and its arguments in their registers.
void note_system_call(pid_t /*tid*/, Registers& /*registers*/) {}

bool read_general(pid_t tid, General& general) {
  iovec part{&general.registers, sizeof(general.registers)};
  if (::ptrace(PTRACE_GETREGSET, tid, address_of(NT_PRSTATUS), &part) != 0) {
    return false;
  }
  general.system_call = static_cast<long>(general.registers.orig_rax);
  general.result = static_cast<long>(general.registers.rax);
  return true;
}

bool write_general(pid_t tid, const General& general) {
  user_regs_struct copy = general.registers;
  copy.orig_rax = static_cast<unsigned long long>(general.system_call);
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

uint64_t first_argument(const General& general) {
  return general.registers.rdi;
}

uint64_t instruction(const General& general) {
  return general.registers.rip;
}

uint64_t stack_pointer(const General& general) {
  return general.registers.rsp;
}

void begin_again(Registers& registers) {
  General& general = registers.general;
  general.registers.rax = static_cast<unsigned long long>(general.system_call);
  general.registers.rip -= gate.size();
  general.system_call = -1;
}

General for_system_call(const General& from, uint64_t gate_address, long number,
                        const std::array<uint64_t, 6>& arguments) {
  General general{from.registers};  // no system call, so that the kernel does not restart one
  user_regs_struct& regs = general.registers;
  regs.rax = static_cast<unsigned long long>(number);
  regs.rdi = arguments[0];
  regs.rsi = arguments[1];
  regs.rdx = arguments[2];
  regs.r10 = arguments[3];
  regs.r8 = arguments[4];
  regs.r9 = arguments[5];
  regs.rip = gate_address;
  return general;
}

General for_function(const General& from, uint64_t function, uint64_t stack_end,
                     const std::array<uint64_t, 3>& arguments, uint64_t /*gate_address: on the stack*/) {
  General general{from.registers};
  user_regs_struct& regs = general.registers;
  regs.rax = 0;
  regs.rdi = arguments[0];
  regs.rsi = arguments[1];
  regs.rdx = arguments[2];
  regs.rbp = 0;  // ends the frame pointer chain
  regs.rsp = stack_end - return_slot;
  regs.rip = function;
  regs.eflags &= ~kDirectionFlag;
  return general;
}

bool returned(const General& general, uint64_t gate_address, uint64_t stack_end) {
  return general.registers.rip == gate_address + gate.size() && general.registers.rsp == stack_end;
}

uint64_t function_result(const General& general) {
  // At the entry of a system call, the kernel has copied rax, the function's result, to orig_rax.
  return general.registers.orig_rax;
}

}  // namespace gpuprof::record::arch
