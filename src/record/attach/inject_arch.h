// Reads and changes the registers of a traced thread. Each processor architecture has one file that implements these
// functions.
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

// The next four functions require that the thread is in a ptrace stop. They return false if the thread was killed.
bool read(pid_t tid, Registers& registers);
bool write(pid_t tid, const Registers& registers);
bool read_general(pid_t tid, user_regs_struct& general);
bool write_general(pid_t tid, const user_regs_struct& general);

// Returns the first argument of the system call that the thread is in.
uint64_t first_argument(const user_regs_struct& general);
uint64_t instruction(const user_regs_struct& general);
uint64_t stack_pointer(const user_regs_struct& general);

// system_call() returns the number (-1: no system call), and result() the result, of the system call that the thread is
// in or returns from.
long system_call(const user_regs_struct& general);
long result(const user_regs_struct& general);

// Changes the registers so that an interrupted system call restarts. Without this, it would fail with EINTR.
void begin_again(user_regs_struct& general);

// `gate` holds the bytes of the instruction that enters the kernel. The address of such an instruction is a multiple of
// gate_alignment.
extern const std::vector<unsigned char> gate;
extern const size_t gate_alignment;

user_regs_struct for_system_call(const user_regs_struct& from, uint64_t gate_address, long number,
                                 const std::array<uint64_t, 6>& arguments);

// Returns the registers with which the thread calls `function`, which then returns to `gate_address`. `stack_end` must
// be a multiple of 16. The return address takes the last `return_slot` bytes of the stack; 0: a register holds it.
user_regs_struct for_function(const user_regs_struct& from, uint64_t function, uint64_t stack_end,
                              const std::array<uint64_t, 3>& arguments, uint64_t gate_address);
extern const size_t return_slot;

// A called function returns to the system call instruction at `gate_address`, and the thread stops at that system
// call's entry. At any stop at an entry, returned() says whether the function has returned. After that,
// function_result() reads the function's value, and skip_system_call() replaces the system call by a harmless one.
bool returned(const user_regs_struct& general, uint64_t gate_address, uint64_t stack_end);
uint64_t function_result(const user_regs_struct& general);
void skip_system_call(user_regs_struct& general);

}  // namespace gpuprof::record::arch
