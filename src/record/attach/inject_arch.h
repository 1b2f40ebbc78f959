// Accesses the registers of a traced thread. Each processor has one file that implements these functions.
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

// The thread must be in a ptrace stop. These functions return false if the thread was killed.
bool read(pid_t tid, Registers& registers);
bool write(pid_t tid, const Registers& registers);
bool read_general(pid_t tid, user_regs_struct& general);
bool write_general(pid_t tid, const user_regs_struct& general);

// The first argument of the system call that the thread is in.
uint64_t first_argument(const user_regs_struct& general);
uint64_t instruction(const user_regs_struct& general);
uint64_t stack_pointer(const user_regs_struct& general);

// Return the number (-1: none) and the result of the system call that the thread is in or returns from.
long system_call(const user_regs_struct& general);
long result(const user_regs_struct& general);

// Restarts an interrupted system call that the kernel would otherwise end with EINTR.
void begin_again(user_regs_struct& general);

// The bytes of the instruction that enters the kernel, and the alignment of its address.
extern const std::vector<unsigned char> gate;
extern const size_t gate_alignment;

// Returns the registers with which the thread makes a system call at `gate_address`.
user_regs_struct for_system_call(const user_regs_struct& from, uint64_t gate_address, long number,
                                 const std::array<uint64_t, 6>& arguments);

// Returns the registers with which the thread calls `function`, which returns to `gate_address`. `stack_end` is a
// multiple of 16. The return address takes the last `return_slot` bytes of the stack; 0: it is in a register.
user_regs_struct for_function(const user_regs_struct& from, uint64_t function, uint64_t stack_end,
                              const std::array<uint64_t, 3>& arguments, uint64_t gate_address);
extern const size_t return_slot;

// A called function returns to the system call instruction at `gate_address`. At a stop on system call entry,
// returned() says whether this has happened. function_result() returns the function's value. skip_system_call()
// replaces the system call of that instruction by a harmless one.
bool returned(const user_regs_struct& general, uint64_t gate_address, uint64_t stack_end);
uint64_t function_result(const user_regs_struct& general);
void skip_system_call(user_regs_struct& general);

}  // namespace gpuprof::record::arch
