// For processors that nobody has written the registers of inject_arch.h for.
#include "record/attach/inject_arch.h"

#if !defined(__x86_64__)

namespace gpuprof::record::arch {

const bool supported = false;
const std::vector<unsigned char> gate = {};
const size_t return_slot = 0;

bool read(pid_t /*tid*/, Registers& /*registers*/) {
  return false;
}
bool write(pid_t /*tid*/, const Registers& /*registers*/) {
  return false;
}
bool read_general(pid_t /*tid*/, user_regs_struct& /*general*/) {
  return false;
}
bool write_general(pid_t /*tid*/, const user_regs_struct& /*general*/) {
  return false;
}
uint64_t first_argument(const user_regs_struct& /*general*/) {
  return 0;
}
uint64_t instruction(const user_regs_struct& /*general*/) {
  return 0;
}
uint64_t stack_pointer(const user_regs_struct& /*general*/) {
  return 0;
}
long system_call(const user_regs_struct& /*general*/) {
  return -1;
}
long result(const user_regs_struct& /*general*/) {
  return -1;
}
void begin_again(user_regs_struct& /*general*/) {}
user_regs_struct for_system_call(const user_regs_struct& from, uint64_t /*gate_address*/, long /*number*/,
                                 const std::array<uint64_t, 6>& /*arguments*/) {
  return from;
}
user_regs_struct for_function(const user_regs_struct& from, uint64_t /*function*/, uint64_t /*stack_end*/,
                              const std::array<uint64_t, 3>& /*arguments*/, uint64_t /*gate_address*/) {
  return from;
}
bool returned(const user_regs_struct& /*general*/, uint64_t /*gate_address*/, uint64_t /*stack_end*/) {
  return false;
}
uint64_t function_result(const user_regs_struct& /*general*/) {
  return 0;
}
void skip_system_call(user_regs_struct& /*general*/) {}

}  // namespace gpuprof::record::arch

#endif
