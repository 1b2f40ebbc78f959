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

struct General {
  user_regs_struct registers{};
  // The system call that the thread is in, or returns from. -1: none. Calls that a stop has interrupted have results
  // that only a tracer sees.
  long system_call = -1;
  long result = 0;
};

struct Registers {
  General general;
  std::vector<std::byte> extended;  // floating point and vectors
  // The system call that the thread was in before it was stopped, and its arguments, stack pointer and instruction
  // pointer: only on processors on which a stop changes them. -1: none, or unknown.
  long entered = -1;
  std::array<uint64_t, 8> entered_with{};
};

// Notes the system call that the thread is in, before it is stopped.
void note_system_call(pid_t tid, Registers& registers);

// The next four functions require that the thread is in a ptrace stop. They return false if the thread was killed.
bool read(pid_t tid, Registers& registers);
bool write(pid_t tid, const Registers& registers);
bool read_general(pid_t tid, General& general);
bool write_general(pid_t tid, const General& general);

// Returns the first argument of the system call that the thread is in.
uint64_t first_argument(const General& general);
uint64_t instruction(const General& general);
uint64_t stack_pointer(const General& general);

// Changes the registers so that an interrupted system call restarts. Without this, it would fail with EINTR.
void begin_again(Registers& registers);

// `gate` holds the bytes of the instruction that enters the kernel. The address of such an instruction is a multiple of
// gate_alignment.
extern const std::vector<unsigned char> gate;
extern const size_t gate_alignment;

General for_system_call(const General& from, uint64_t gate_address, long number,
                        const std::array<uint64_t, 6>& arguments);

// Returns the registers with which the thread calls `function`, which then returns to `gate_address`. `stack_end` must
// be a multiple of 16. The return address takes the last `return_slot` bytes of the stack; 0: a register holds it.
General for_function(const General& from, uint64_t function, uint64_t stack_end,
                     const std::array<uint64_t, 3>& arguments, uint64_t gate_address);
extern const size_t return_slot;

// A called function returns to the system call instruction at `gate_address`, and the thread stops at that system
// call's entry. At any stop at an entry, returned() says whether the function has returned. After that,
// function_result() reads the function's value.
bool returned(const General& general, uint64_t gate_address, uint64_t stack_end);
uint64_t function_result(const General& general);

}  // namespace gpuprof::record::arch
