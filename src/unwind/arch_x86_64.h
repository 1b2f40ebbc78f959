// What .eh_frame on x86-64 (System V ABI) means beyond DWARF itself. Another architecture is another file like this.
#pragma once

#include <elf.h>

#include <cstdint>

#include "wire/stack_arch.h"

namespace gpuprof::unwind::arch {

constexpr uint16_t kElfMachine = EM_X86_64;

// DWARF register numbers.
constexpr uint64_t kFramePointer = 6;    // rbp
constexpr uint64_t kStackPointer = 7;    // rsp
constexpr uint64_t kReturnAddress = 16;  // rip

constexpr int64_t kReturnAddressOffset = GPUPROF_RETURN_ADDRESS_OFFSET;

// Linkers describe the entries of a PLT by one expression: CFA = rsp + 8 + ((rip & 15) >= threshold ? 8 : 0), for
// each of them pushes once, before the threshold. It differs by the kind of PLT; GPUPROF_UNWIND_PLT means this one.
constexpr uint64_t kPltEntry = GPUPROF_PLT_ENTRY;
constexpr uint64_t kPltThreshold = GPUPROF_PLT_THRESHOLD;
// DW_OP_breg7 8, breg16 0, lit15, and, lit<threshold>, ge, lit3, shl, plus
constexpr uint8_t kPltForm[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x30, 0x2a, 0x33, 0x24, 0x22};
constexpr uint64_t kPltThresholdAt = 6;

// The CFA of a kernel's signal frame is the interrupted stack pointer, which is here, from sp.
constexpr int64_t kSignalStackPointer = GPUPROF_SIGNAL_SP;

}  // namespace gpuprof::unwind::arch
