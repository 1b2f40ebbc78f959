// Registers of a traced thread, as far as they differ between processors. One file implements it for each.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpuprof::record::arch {

struct Registers {
  user_regs_struct general{};
  std::vector<std::byte> extended;  // floating point and vectors
};

// The thread must be in a ptrace stop. False: it has gone (it was killed).
bool read(pid_t tid, Registers& registers);
bool write(pid_t tid, const Registers& registers);
bool read_general(pid_t tid, user_regs_struct& general);
bool write_general(pid_t tid, const user_regs_struct& general);

// Of the system call that it is in.
uint64_t first_argument(const user_regs_struct& general);
uint64_t instruction(const user_regs_struct& general);
uint64_t stack_pointer(const user_regs_struct& general);

// The system call that the thread is in or comes from, -1 for none, and what it returns.
long system_call(const user_regs_struct& general);
long result(const user_regs_struct& general);

// Lets the interrupted system call begin again from the start, where the kernel would make it fail with EINTR.
void begin_again(user_regs_struct& general);

// The instruction that enters the kernel, and where it may begin.
extern const std::vector<unsigned char> gate;
extern const size_t gate_alignment;

// Registers with which the thread makes a system call at `gate_address`.
user_regs_struct for_system_call(const user_regs_struct& from, uint64_t gate_address, long number,
                                 const std::array<uint64_t, 6>& arguments);

// Registers with which the thread calls `function`, on a stack that ends at `stack_end` (a multiple of 16, where
// `return_slot` bytes are to hold the return address; 0: the address is in a register). It returns to `gate_address`.
user_regs_struct for_function(const user_regs_struct& from, uint64_t function, uint64_t stack_end,
                              const std::array<uint64_t, 3>& arguments, uint64_t gate_address);
extern const size_t return_slot;

// In a stop at the entry of a system call: whether a function that was called has returned to the gate, which makes
// this call, and what it has returned. skip_system_call() has the kernel make a harmless call in place of it.
bool returned(const user_regs_struct& general, uint64_t gate_address, uint64_t stack_end);
uint64_t function_result(const user_regs_struct& general);
void skip_system_call(user_regs_struct& general);

}  // namespace gpuprof::record::arch
