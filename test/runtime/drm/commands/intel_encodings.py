"""Encodings of the commands of Intel GPUs, transcribed from public sources by somebody who did not read gpuprof's tables.

The tests and the fake drivers use this transcription. encodings_test.py compares wire/gpu_commands.h with it.

Versions that were read: Mesa 24.0.0 (gen8.xml to gen20.xml), xe2.xml, xe3.xml and xe3p.xml of 2025; intel/compute-runtime of
2026-08-22; Linux drivers/gpu/drm/xe and i915 of 2026; IGT of 2025-10-17. Not read: Intel's public reference manuals.

    rows()                                          each (command, generation)
    encode("COMPUTE_WALKER", "xe2", start=0x1240)   bytes of a command
    identify(dword0, "xe2")                         the row of a command, or None
    starts(data, "xe2")                             addresses in one command
"""

import struct
from collections import namedtuple

# ---------------------------------------------------------------- generations
# gen8 Broadwell, gen9 Skylake, gen11 Ice Lake, gen12 Tiger Lake (12.0),
# dg2 Xe-HPG (12.5: DG2, Meteor Lake, Arrow Lake), pvc Xe-HPC (12.5 line:
# Ponte Vecchio), xe2 (Lunar Lake, Battlemage), xe3 (Panther Lake), xe3p.
GENERATIONS = ("gen8", "gen9", "gen11", "gen12", "dg2", "pvc", "xe2", "xe3", "xe3p")
ALIASES = {
    "gen12.5": "dg2", "gen125": "dg2", "xe_hpg": "dg2", "mtl": "dg2", "arl": "dg2",
    "xe_hpc": "pvc", "gen12lp": "gen12", "gen12.0": "gen12", "tgl": "gen12",
    "xe2_hpg": "xe2", "lnl": "xe2", "bmg": "xe2", "gen20": "xe2",
    "xe3_core": "xe3", "ptl": "xe3", "gen30": "xe3",
    "xe3p_core": "xe3p", "cri": "xe3p", "nvlp": "xe3p", "gen35": "xe3p",
}

# -------------------------------------------------------------------- sources
# A row names its sources by these keys; the path is the one of its generation.
_MESA = "Mesa src/intel/genxml/"
_CR = "compute-runtime shared/source/generated/"
SOURCES = {
    "mesa": {
        "gen8": _MESA + "gen8.xml (24.0.0)", "gen9": _MESA + "gen9.xml (24.0.0)",
        "gen11": _MESA + "gen11.xml (24.0.0)", "gen12": _MESA + "gen12.xml (24.0.0)",
        "dg2": _MESA + "gen125.xml (24.0.0)",
        "xe2": _MESA + "xe2.xml (newer) over gen20.xml, gen125.xml (24.0.0)",
        "xe3": _MESA + "xe3.xml (newer) over xe2.xml",
        "xe3p": _MESA + "xe3p.xml (newer; imports xe3.xml and adds nothing)",
    },
    "cr": {
        "gen12": _CR + "gen12lp/hw_cmds_generated_gen12lp.inl",
        "dg2": _CR + "xe_hpg_core/hw_cmds_generated_xe_hpg_core.inl",
        "pvc": _CR + "xe_hpc_core/hw_cmds_generated_xe_hpc_core.inl",
        "xe2": _CR + "xe2_hpg_core/hw_cmds_generated_xe2_hpg_core.inl",
        "xe3": _CR + "xe3_core/hw_cmds_generated_xe3_core.inl",
        "xe3p": _CR + "xe3p_core/hw_cmds_generated_xe3p_core.inl",
    },
    "xe": "Linux drivers/gpu/drm/xe/instructions/*.h",
    "xe_lrc": "Linux drivers/gpu/drm/xe/xe_lrc.c (state table)",
    "i915": "Linux drivers/gpu/drm/i915/gt/intel_gpu_commands.h and its users",
    "igt": "IGT lib/intel_reg.h, lib/intel_compute.c, lib/gpu_cmds.c",
}

# ------------------------------------------------------------------ the table
# name, generations, value of dword 0, mask of dword 0,
# (high, low) bit of the length field or None, bias (total = field + bias),
# default total dwords (None: no fixed one), pointers, sources, note.
# With no length field the command has `bias` dwords, which is 1 throughout.
#
# A pointer is (kind, label, dword, low bit, number of bits): the address bits
# [low bit + bits - 1 : low bit] stand in place, so the field's low bit gives
# the alignment (6 bits: 64 bytes) and no shift is needed. Where low bit + bits
# is over 32 the upper part is in the next dword. Kinds:
#   kernel            start of a shader/kernel, relative to the Instruction
#                     Base Address (whole address where bases are switched off)
#   instruction_base  Instruction Base Address (bit 0 of the dword: modify)
#   batch             batch to start
#   sip               system routine, relative to the Instruction Base Address
#   prefetch          address to prefetch (kernel code if bit 16 of dword 1)
#   descriptor_table  offset of INTERFACE_DESCRIPTOR_DATA, in dynamic state
_TABLE = (
    ("COMPUTE_WALKER", "dg2", 0x72080000, 0xFFFC0000, (7, 0), 2, 39, (("kernel", "ksp", 18, 6, 26),), "cr igt mesa", ""),
    ("COMPUTE_WALKER", "pvc", 0x72080000, 0xFFFC0000, (7, 0), 2, 39, (("kernel", "ksp", 18, 6, 26),), "cr igt", ""),
    ("COMPUTE_WALKER", "xe2 xe3", 0x72080000, 0xFFFC0000, (7, 0), 2, 40, (("kernel", "ksp", 19, 6, 26),), "cr igt mesa", ""),
    ("COMPUTE_WALKER", "xe3p", 0x72080000, 0xFFFC0000, (7, 0), 2, 40, (("kernel", "ksp", 19, 6, 26),), "mesa", "Mesa xe3p.xml imports xe3.xml unchanged and so still has it; compute-runtime has only COMPUTE_WALKER_2 there"),
    ("COMPUTE_WALKER_2", "xe3p", 0x72200000, 0xFFFC0000, (7, 0), 2, 64, (("kernel", "ksp", 19, 6, 58),), "cr", "compute-runtime only; kernel commit text confirms 64 dwords"),
    ("RESOURCE_BARRIER", "xe2 xe3 xe3p", 0xAC000000, 0xFC000000, (7, 0), 2, 5, (), "cr mesa", ""),
    ("EXECUTE_INDIRECT_DISPATCH", "dg2", 0x7C010000, 0xFFFF0000, (7, 0), 2, 44, (("kernel", "ksp", 23, 6, 26),), "mesa", "Mesa only; walker body from dword 6"),
    ("EXECUTE_INDIRECT_DISPATCH", "xe2 xe3 xe3p", 0x7C010000, 0xFFFF0000, (7, 0), 2, 45, (("kernel", "ksp", 24, 6, 26),), "mesa", "Mesa only; walker body of 39 dwords from dword 6"),
    ("EXECUTE_INDIRECT_DRAW", "dg2 xe2 xe3 xe3p", 0x7C000000, 0xFFFF0000, (7, 0), 2, 6, (), "mesa", ""),
    ("3DSTATE_VS", "gen8 gen9 gen11 gen12", 0x78100000, 0xFFFF0000, (7, 0), 2, 9, (("kernel", "ksp", 1, 6, 58),), "mesa", ""),
    ("3DSTATE_VS", "dg2 xe2 xe3 xe3p", 0x78100000, 0xFFFF0000, (7, 0), 2, 9, (("kernel", "ksp", 1, 6, 58),), "mesa xe", ""),
    ("3DSTATE_HS", "gen8 gen9 gen11 gen12", 0x781B0000, 0xFFFF0000, (7, 0), 2, 9, (("kernel", "ksp", 3, 6, 58),), "mesa", ""),
    ("3DSTATE_HS", "dg2", 0x781B0000, 0xFFFF0000, (7, 0), 2, 9, (("kernel", "ksp", 3, 6, 58),), "mesa xe", ""),
    ("3DSTATE_HS", "xe2 xe3 xe3p", 0x781B0000, 0xFFFF0000, (7, 0), 2, 8, (("kernel", "ksp", 3, 6, 58),), "mesa xe", "kernel state table uses 9 for every generation; Mesa says 8 from Xe2"),
    ("3DSTATE_DS", "gen8", 0x781D0000, 0xFFFF0000, (7, 0), 2, 9, (("kernel", "ksp", 1, 6, 58),), "mesa", ""),
    ("3DSTATE_DS", "gen9 gen11 gen12", 0x781D0000, 0xFFFF0000, (7, 0), 2, 11, (("kernel", "ksp", 1, 6, 58),("kernel", "dual_patch", 9, 6, 58),), "mesa", ""),
    ("3DSTATE_DS", "dg2 xe2", 0x781D0000, 0xFFFF0000, (7, 0), 2, 11, (("kernel", "ksp", 1, 6, 58),("kernel", "dual_patch", 9, 6, 58),), "mesa xe", ""),
    ("3DSTATE_DS", "xe3 xe3p", 0x781D0000, 0xFFFF0000, (7, 0), 2, 11, (("kernel", "ksp", 1, 6, 58),("kernel", "quad_patch", 9, 6, 58),), "mesa xe", ""),
    ("3DSTATE_GS", "gen8 gen9 gen11 gen12", 0x78110000, 0xFFFF0000, (7, 0), 2, 10, (("kernel", "ksp", 1, 6, 58),), "mesa", ""),
    ("3DSTATE_GS", "dg2 xe2 xe3 xe3p", 0x78110000, 0xFFFF0000, (7, 0), 2, 10, (("kernel", "ksp", 1, 6, 58),), "mesa xe", ""),
    ("3DSTATE_PS", "gen8 gen9 gen11 gen12", 0x78200000, 0xFFFF0000, (7, 0), 2, 12, (("kernel", "ksp_0", 1, 6, 58),("kernel", "ksp_1", 8, 6, 58),("kernel", "ksp_2", 10, 6, 58),), "mesa", ""),
    ("3DSTATE_PS", "dg2", 0x78200000, 0xFFFF0000, (7, 0), 2, 12, (("kernel", "ksp_0", 1, 6, 58),("kernel", "ksp_1", 8, 6, 58),("kernel", "ksp_2", 10, 6, 58),), "mesa xe", ""),
    ("3DSTATE_PS", "xe2 xe3 xe3p", 0x78200000, 0xFFFF0000, (7, 0), 2, 12, (("kernel", "ksp_0", 1, 6, 58),("kernel", "ksp_1", 8, 6, 58),), "mesa xe", "bits 0 and 1 of dwords 1 and 8 are flags (kernel enable, SIMD width)"),
    ("3DSTATE_MESH_SHADER", "dg2 xe2 xe3 xe3p", 0x787A0000, 0xFFFF0000, (7, 0), 2, 8, (("kernel", "ksp", 1, 6, 58),), "mesa xe", ""),
    ("3DSTATE_TASK_SHADER", "dg2 xe2 xe3 xe3p", 0x787D0000, 0xFFFF0000, (7, 0), 2, 7, (("kernel", "ksp", 1, 6, 58),), "mesa xe", ""),
    ("STATE_BASE_ADDRESS", "gen8", 0x61010000, 0xFFFF0000, (7, 0), 2, 16, (("instruction_base", "instruction_base", 10, 12, 52),), "mesa", ""),
    ("STATE_BASE_ADDRESS", "gen9", 0x61010000, 0xFFFF0000, (7, 0), 2, 19, (("instruction_base", "instruction_base", 10, 12, 52),), "mesa", ""),
    ("STATE_BASE_ADDRESS", "gen11", 0x61010000, 0xFFFF0000, (7, 0), 2, 22, (("instruction_base", "instruction_base", 10, 12, 52),), "mesa", ""),
    ("STATE_BASE_ADDRESS", "gen12", 0x61010000, 0xFFFF0000, (7, 0), 2, 22, (("instruction_base", "instruction_base", 10, 12, 52),), "cr mesa", ""),
    ("STATE_BASE_ADDRESS", "dg2 xe2 xe3", 0x61010000, 0xFFFF0000, (7, 0), 2, 22, (("instruction_base", "instruction_base", 10, 12, 52),), "cr mesa xe", ""),
    ("STATE_BASE_ADDRESS", "pvc", 0x61010000, 0xFFFF0000, (7, 0), 2, 22, (("instruction_base", "instruction_base", 10, 12, 52),), "cr xe", ""),
    ("STATE_BASE_ADDRESS", "xe3p", 0x61010000, 0xFFFF0000, (7, 0), 2, 22, (("instruction_base", "instruction_base", 10, 12, 52),), "cr mesa xe", "compute-runtime sets bit 30 of dword 3 (base addresses off) on this generation and gives kernels whole 64-bit addresses"),
    ("STATE_SIP", "gen8 gen9 gen11", 0x61020000, 0xFFFF0000, (7, 0), 2, 3, (("sip", "sip", 1, 4, 60),), "mesa", ""),
    ("STATE_SIP", "gen12", 0x61020000, 0xFFFF0000, (7, 0), 2, 3, (("sip", "sip", 1, 4, 60),), "cr mesa", ""),
    ("STATE_SIP", "dg2 xe2 xe3 xe3p", 0x61020000, 0xFFFF0000, (7, 0), 2, 3, (("sip", "sip", 1, 4, 60),), "cr mesa xe", ""),
    ("STATE_SIP", "pvc", 0x61020000, 0xFFFF0000, (7, 0), 2, 3, (("sip", "sip", 1, 4, 60),), "cr xe", ""),
    ("STATE_PREFETCH", "gen8 gen9", 0x60030000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", "Mesa has 2 dwords here; 4 dwords later in compute-runtime"),
    ("STATE_PREFETCH", "pvc xe2 xe3 xe3p", 0x60030000, 0xFFFF0000, (7, 0), 2, 4, (("prefetch", "prefetch", 2, 6, 58),), "cr", ""),
    ("MI_BATCH_BUFFER_START", "gen8", 0x18800000, 0xFF800000, (7, 0), 2, 3, (("batch", "batch", 1, 2, 46),), "mesa", "address named 47:2 in at least one source, 63:2 in another"),
    ("MI_BATCH_BUFFER_START", "gen9 gen11", 0x18800000, 0xFF800000, (7, 0), 2, 3, (("batch", "batch", 1, 2, 62),), "mesa", ""),
    ("MI_BATCH_BUFFER_START", "gen12", 0x18800000, 0xFF800000, (7, 0), 2, 3, (("batch", "batch", 1, 2, 62),), "cr mesa", ""),
    ("MI_BATCH_BUFFER_START", "dg2 xe2 xe3", 0x18800000, 0xFF800000, (7, 0), 2, 3, (("batch", "batch", 1, 2, 62),), "cr mesa xe", "address named 47:2 in at least one source, 63:2 in another"),
    ("MI_BATCH_BUFFER_START", "pvc", 0x18800000, 0xFF800000, (7, 0), 2, 3, (("batch", "batch", 1, 2, 62),), "cr xe", "compute-runtime: bits 56:2"),
    ("MI_BATCH_BUFFER_START", "xe3p", 0x18800000, 0xFF800000, (7, 0), 2, 3, (("batch", "batch", 1, 2, 62),), "cr mesa xe", "bits 63:2; bit 18 of dword 0 = address is taken indirectly"),
    ("MI_BATCH_BUFFER_END", "gen8 gen9 gen11", 0x05000000, 0xFF800000, None, 1, 1, (), "mesa", ""),
    ("MI_BATCH_BUFFER_END", "gen12", 0x05000000, 0xFF800000, None, 1, 1, (), "cr mesa", ""),
    ("MI_BATCH_BUFFER_END", "dg2 xe2 xe3 xe3p", 0x05000000, 0xFF800000, None, 1, 1, (), "cr mesa xe", ""),
    ("MI_BATCH_BUFFER_END", "pvc", 0x05000000, 0xFF800000, None, 1, 1, (), "cr xe", ""),
    ("MI_ARB_CHECK", "gen8 gen9 gen11", 0x02800000, 0xFF800000, None, 1, 1, (), "mesa", ""),
    ("MI_ARB_CHECK", "gen12", 0x02800000, 0xFF800000, None, 1, 1, (), "cr mesa", ""),
    ("MI_ARB_CHECK", "dg2 xe2 xe3 xe3p", 0x02800000, 0xFF800000, None, 1, 1, (), "cr mesa xe", ""),
    ("MI_ARB_CHECK", "pvc", 0x02800000, 0xFF800000, None, 1, 1, (), "cr xe", ""),
    ("MI_ARB_ON_OFF", "gen8 gen9 gen11 gen12", 0x04000000, 0xFF800000, None, 1, 1, (), "mesa", ""),
    ("MI_ARB_ON_OFF", "dg2 xe2 xe3 xe3p", 0x04000000, 0xFF800000, None, 1, 1, (), "mesa xe", ""),
    ("MI_ARB_ON_OFF", "pvc", 0x04000000, 0xFF800000, None, 1, 1, (), "xe", ""),
    ("MI_ATOMIC", "gen8 gen9 gen11", 0x17800000, 0xFF800000, (7, 0), 2, 3, (), "i915 mesa", "3 dwords by default, 11 with inline data (bit 18, field 9)"),
    ("MI_ATOMIC", "gen12 dg2", 0x17800000, 0xFF800000, (7, 0), 2, 3, (), "cr i915 mesa", "3 dwords by default, 11 with inline data (bit 18, field 9)"),
    ("MI_ATOMIC", "pvc", 0x17800000, 0xFF800000, (7, 0), 2, 3, (), "cr", "3 dwords by default, 11 with inline data (bit 18, field 9)"),
    ("MI_ATOMIC", "xe2 xe3 xe3p", 0x17800000, 0xFF800000, (7, 0), 2, 3, (), "cr mesa", "3 dwords by default, 11 with inline data (bit 18, field 9)"),
    ("MI_CLFLUSH", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x13800000, 0xFF800000, (9, 0), 2, None, (), "mesa", ""),
    ("MI_CONDITIONAL_BATCH_BUFFER_END", "gen8", 0x1B000000, 0xFF800000, (7, 0), 2, 3, (), "mesa", ""),
    ("MI_CONDITIONAL_BATCH_BUFFER_END", "gen9 gen11 gen12", 0x1B000000, 0xFF800000, (7, 0), 2, 4, (), "mesa", ""),
    ("MI_CONDITIONAL_BATCH_BUFFER_END", "dg2 xe2 xe3 xe3p", 0x1B000000, 0xFF800000, (7, 0), 2, 4, (), "cr mesa", ""),
    ("MI_CONDITIONAL_BATCH_BUFFER_END", "pvc", 0x1B000000, 0xFF800000, (7, 0), 2, 4, (), "cr", ""),
    ("MI_COPY_MEM_MEM", "gen8 gen9 gen11 gen12", 0x17000000, 0xFF800000, (7, 0), 2, 5, (), "mesa", ""),
    ("MI_COPY_MEM_MEM", "dg2 xe2 xe3 xe3p", 0x17000000, 0xFF800000, (7, 0), 2, 5, (), "mesa xe", ""),
    ("MI_COPY_MEM_MEM", "pvc", 0x17000000, 0xFF800000, (7, 0), 2, 5, (), "xe", ""),
    ("MI_DISPLAY_FLIP", "gen9 gen11 gen12 dg2", 0x0A000000, 0xFF800000, (7, 0), 2, 3, (), "i915 mesa", ""),
    ("MI_DISPLAY_FLIP", "xe2 xe3 xe3p", 0x0A000000, 0xFF800000, (7, 0), 2, 3, (), "mesa", ""),
    ("MI_FLUSH_DW", "gen8 gen9", 0x13000000, 0xFF800000, (5, 0), 2, 5, (), "i915", "length kept from later generations; i915 uses 3 on gen6/7, 4 from gen8"),
    ("MI_FLUSH_DW", "gen11", 0x13000000, 0xFF800000, (5, 0), 2, 5, (), "mesa", "4 dwords for a dword write, 5 for a qword write; field is 5:0"),
    ("MI_FLUSH_DW", "gen12", 0x13000000, 0xFF800000, (5, 0), 2, 5, (), "cr mesa", "4 dwords for a dword write, 5 for a qword write; field is 5:0"),
    ("MI_FLUSH_DW", "dg2 xe2 xe3 xe3p", 0x13000000, 0xFF800000, (5, 0), 2, 5, (), "cr mesa xe", "4 dwords for a dword write, 5 for a qword write; field is 5:0"),
    ("MI_FLUSH_DW", "pvc", 0x13000000, 0xFF800000, (5, 0), 2, 5, (), "cr xe", "4 dwords for a dword write, 5 for a qword write; field is 5:0"),
    ("MI_FORCE_WAKEUP", "gen9 gen11 gen12", 0x0E800000, 0xFF800000, (7, 0), 2, 2, (), "mesa", ""),
    ("MI_FORCE_WAKEUP", "dg2 xe2 xe3 xe3p", 0x0E800000, 0xFF800000, (7, 0), 2, 2, (), "mesa xe", ""),
    ("MI_FORCE_WAKEUP", "pvc", 0x0E800000, 0xFF800000, (7, 0), 2, 2, (), "xe", ""),
    ("MI_LOAD_REGISTER_IMM", "gen8 gen9 gen11", 0x11000000, 0xFF800000, (7, 0), 2, 3, (), "mesa", "1 + 2n dwords"),
    ("MI_LOAD_REGISTER_IMM", "gen12", 0x11000000, 0xFF800000, (7, 0), 2, 3, (), "cr mesa", "1 + 2n dwords"),
    ("MI_LOAD_REGISTER_IMM", "dg2 xe2 xe3 xe3p", 0x11000000, 0xFF800000, (7, 0), 2, 3, (), "cr mesa xe", "1 + 2n dwords"),
    ("MI_LOAD_REGISTER_IMM", "pvc", 0x11000000, 0xFF800000, (7, 0), 2, 3, (), "cr xe", "1 + 2n dwords"),
    ("MI_LOAD_REGISTER_MEM", "gen8 gen9 gen11", 0x14800000, 0xFF800000, (7, 0), 2, 4, (), "mesa", ""),
    ("MI_LOAD_REGISTER_MEM", "gen12", 0x14800000, 0xFF800000, (7, 0), 2, 4, (), "cr mesa", ""),
    ("MI_LOAD_REGISTER_MEM", "dg2 xe2 xe3 xe3p", 0x14800000, 0xFF800000, (7, 0), 2, 4, (), "cr mesa xe", ""),
    ("MI_LOAD_REGISTER_MEM", "pvc", 0x14800000, 0xFF800000, (7, 0), 2, 4, (), "cr xe", ""),
    ("MI_LOAD_REGISTER_REG", "gen8 gen9 gen11", 0x15000000, 0xFF800000, (7, 0), 2, 3, (), "i915 mesa", ""),
    ("MI_LOAD_REGISTER_REG", "gen12", 0x15000000, 0xFF800000, (7, 0), 2, 3, (), "cr i915 mesa", ""),
    ("MI_LOAD_REGISTER_REG", "dg2", 0x15000000, 0xFF800000, (7, 0), 2, 3, (), "cr i915 mesa xe", ""),
    ("MI_LOAD_REGISTER_REG", "pvc", 0x15000000, 0xFF800000, (7, 0), 2, 3, (), "cr xe", ""),
    ("MI_LOAD_REGISTER_REG", "xe2 xe3 xe3p", 0x15000000, 0xFF800000, (7, 0), 2, 3, (), "cr mesa xe", ""),
    ("MI_LOAD_SCAN_LINES_EXCL", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x09800000, 0xFF800000, (5, 0), 2, 2, (), "mesa", ""),
    ("MI_LOAD_SCAN_LINES_INCL", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x09000000, 0xFF800000, (5, 0), 2, 2, (), "mesa", ""),
    ("MI_LOAD_URB_MEM", "gen8 gen9", 0x16000000, 0xFF800000, (7, 0), 2, 4, (), "mesa", ""),
    ("MI_MATH", "gen8", 0x0D000000, 0xFF800000, (5, 0), 2, None, (), "mesa", "1 + n dwords, n ALU dwords"),
    ("MI_MATH", "gen9 gen11", 0x0D000000, 0xFF800000, (7, 0), 2, None, (), "mesa", "1 + n dwords, n ALU dwords"),
    ("MI_MATH", "gen12", 0x0D000000, 0xFF800000, (7, 0), 2, None, (), "cr mesa", "1 + n dwords, n ALU dwords"),
    ("MI_MATH", "dg2 xe2 xe3 xe3p", 0x0D000000, 0xFF800000, (7, 0), 2, None, (), "cr mesa xe", "1 + n dwords, n ALU dwords"),
    ("MI_MATH", "pvc", 0x0D000000, 0xFF800000, (7, 0), 2, None, (), "cr xe", "1 + n dwords, n ALU dwords"),
    ("MI_MEM_FENCE", "pvc", 0x04800000, 0xFFFE0000, None, 1, 1, (), "cr", ""),
    ("MI_MEM_FENCE", "xe2 xe3 xe3p", 0x04800000, 0xFFFE0000, None, 1, 1, (), "cr mesa", ""),
    ("MI_NOOP", "gen8 gen9 gen11", 0x00000000, 0xFF800000, None, 1, 1, (), "mesa", ""),
    ("MI_NOOP", "gen12", 0x00000000, 0xFF800000, None, 1, 1, (), "cr mesa", ""),
    ("MI_NOOP", "dg2 xe2 xe3 xe3p", 0x00000000, 0xFF800000, None, 1, 1, (), "cr mesa xe", ""),
    ("MI_NOOP", "pvc", 0x00000000, 0xFF800000, None, 1, 1, (), "cr xe", ""),
    ("MI_PREDICATE", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x06000000, 0xFF800000, None, 1, 1, (), "mesa", ""),
    ("MI_REPORT_HEAD", "gen8 gen9 gen11 gen12 dg2", 0x03800000, 0xFF800000, None, 1, 1, (), "i915 mesa", ""),
    ("MI_REPORT_HEAD", "xe2 xe3 xe3p", 0x03800000, 0xFF800000, None, 1, 1, (), "mesa", ""),
    ("MI_REPORT_PERF_COUNT", "gen8 gen9 gen11", 0x14000000, 0xFF800000, (5, 0), 2, 4, (), "mesa", ""),
    ("MI_REPORT_PERF_COUNT", "gen12 dg2 xe2 xe3 xe3p", 0x14000000, 0xFF800000, (5, 0), 2, 4, (), "cr mesa", ""),
    ("MI_REPORT_PERF_COUNT", "pvc", 0x14000000, 0xFF800000, (5, 0), 2, 4, (), "cr", ""),
    ("MI_RS_CONTEXT", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x07800000, 0xFF800000, None, 1, 1, (), "mesa", ""),
    ("MI_RS_CONTROL", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x03000000, 0xFF800000, None, 1, 1, (), "mesa", ""),
    ("MI_RS_STORE_DATA_IMM", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x15800000, 0xFF800000, (7, 0), 2, 4, (), "mesa", ""),
    ("MI_SEMAPHORE_SIGNAL", "gen8 gen9 gen11 gen12 dg2", 0x0D800000, 0xFF800000, (7, 0), 2, 2, (), "i915 mesa", ""),
    ("MI_SEMAPHORE_SIGNAL", "xe2 xe3 xe3p", 0x0D800000, 0xFF800000, (7, 0), 2, 2, (), "mesa", ""),
    ("MI_SEMAPHORE_WAIT", "gen8 gen9 gen11", 0x0E000000, 0xFF800000, (7, 0), 2, 4, (), "i915 mesa", ""),
    ("MI_SEMAPHORE_WAIT", "gen12", 0x0E000000, 0xFF800000, (7, 0), 2, 5, (), "cr i915 mesa", "Mesa gen12/gen125 xml says 4 dwords; compute-runtime and kernels emit 5; trust the field"),
    ("MI_SEMAPHORE_WAIT", "dg2", 0x0E000000, 0xFF800000, (7, 0), 2, 5, (), "cr i915 mesa xe", "Mesa gen12/gen125 xml says 4 dwords; compute-runtime and kernels emit 5; trust the field"),
    ("MI_SEMAPHORE_WAIT", "pvc", 0x0E000000, 0xFF800000, (7, 0), 2, 5, (), "cr xe", ""),
    ("MI_SEMAPHORE_WAIT", "xe2 xe3", 0x0E000000, 0xFF800000, (7, 0), 2, 5, (), "cr mesa xe", ""),
    ("MI_SEMAPHORE_WAIT", "xe3p", 0x0E000000, 0xFF800000, (7, 0), 2, 5, (), "cr mesa xe", "compute-runtime pads its legacy struct to 7 dwords with zeros but the field says 5"),
    ("MI_SEMAPHORE_WAIT_64", "xe3p", 0x1D800000, 0xFF800000, (7, 0), 2, 7, (), "cr", ""),
    ("MI_SET_APPID", "gen12", 0x07000000, 0xFF800000, None, 1, 1, (), "mesa", ""),
    ("MI_SET_APPID", "dg2 xe2 xe3 xe3p", 0x07000000, 0xFF800000, None, 1, 1, (), "mesa xe", ""),
    ("MI_SET_APPID", "pvc", 0x07000000, 0xFF800000, None, 1, 1, (), "xe", ""),
    ("MI_SET_CONTEXT", "gen8 gen9 gen11 gen12 dg2", 0x0C000000, 0xFF800000, (7, 0), 2, 2, (), "i915 mesa", ""),
    ("MI_SET_CONTEXT", "xe2 xe3 xe3p", 0x0C000000, 0xFF800000, (7, 0), 2, 2, (), "mesa", ""),
    ("MI_SET_PREDICATE", "gen8 gen9 gen11 gen12", 0x00800000, 0xFF800000, None, 1, 1, (), "i915 mesa", ""),
    ("MI_SET_PREDICATE", "dg2", 0x00800000, 0xFF800000, None, 1, 1, (), "cr i915 mesa", ""),
    ("MI_SET_PREDICATE", "pvc", 0x00800000, 0xFF800000, None, 1, 1, (), "cr", ""),
    ("MI_SET_PREDICATE", "xe2 xe3 xe3p", 0x00800000, 0xFF800000, None, 1, 1, (), "cr mesa", ""),
    ("MI_STORE_DATA_IMM", "gen8 gen9 gen11", 0x10000000, 0xFF800000, (9, 0), 2, 4, (), "mesa", "4 dwords for a dword, 5 for a qword (bit 21), more for several; field is 9:0"),
    ("MI_STORE_DATA_IMM", "gen12", 0x10000000, 0xFF800000, (9, 0), 2, 4, (), "cr mesa", "4 dwords for a dword, 5 for a qword (bit 21), more for several; field is 9:0"),
    ("MI_STORE_DATA_IMM", "dg2 xe2 xe3 xe3p", 0x10000000, 0xFF800000, (9, 0), 2, 4, (), "cr mesa xe", "4 dwords for a dword, 5 for a qword (bit 21), more for several; field is 9:0"),
    ("MI_STORE_DATA_IMM", "pvc", 0x10000000, 0xFF800000, (9, 0), 2, 4, (), "cr xe", "4 dwords for a dword, 5 for a qword (bit 21), more for several; field is 9:0"),
    ("MI_STORE_DATA_INDEX", "gen8 gen9 gen11 gen12 dg2", 0x10800000, 0xFF800000, (7, 0), 2, 3, (), "i915 mesa", ""),
    ("MI_STORE_DATA_INDEX", "xe2 xe3 xe3p", 0x10800000, 0xFF800000, (7, 0), 2, 3, (), "mesa", ""),
    ("MI_STORE_REGISTER_MEM", "gen8 gen9 gen11", 0x12000000, 0xFF800000, (7, 0), 2, 4, (), "mesa", ""),
    ("MI_STORE_REGISTER_MEM", "gen12", 0x12000000, 0xFF800000, (7, 0), 2, 4, (), "cr mesa", ""),
    ("MI_STORE_REGISTER_MEM", "dg2 xe2 xe3 xe3p", 0x12000000, 0xFF800000, (7, 0), 2, 4, (), "cr mesa xe", ""),
    ("MI_STORE_REGISTER_MEM", "pvc", 0x12000000, 0xFF800000, (7, 0), 2, 4, (), "cr xe", ""),
    ("MI_STORE_URB_MEM", "gen8 gen9", 0x16800000, 0xFF800000, (7, 0), 2, 4, (), "mesa", ""),
    ("MI_SUSPEND_FLUSH", "gen8 gen9 gen11 gen12 dg2", 0x05800000, 0xFF800000, None, 1, 1, (), "i915 mesa", ""),
    ("MI_SUSPEND_FLUSH", "xe2 xe3 xe3p", 0x05800000, 0xFF800000, None, 1, 1, (), "mesa", ""),
    ("MI_TOPOLOGY_FILTER", "gen8 gen9 gen11 gen12", 0x06800000, 0xFF800000, None, 1, 1, (), "mesa", ""),
    ("MI_TOPOLOGY_FILTER", "dg2 xe2 xe3 xe3p", 0x06800000, 0xFF800000, None, 1, 1, (), "mesa xe", ""),
    ("MI_TOPOLOGY_FILTER", "pvc", 0x06800000, 0xFF800000, None, 1, 1, (), "xe", ""),
    ("MI_URB_ATOMIC_ALLOC", "gen8 gen9", 0x04800000, 0xFF800000, None, 1, 1, (), "mesa", ""),
    ("MI_URB_CLEAR", "gen8", 0x0C800000, 0xFF800000, (7, 0), 2, 2, (), "mesa", ""),
    ("MI_USER_INTERRUPT", "gen8 gen9 gen11", 0x01000000, 0xFF800000, None, 1, 1, (), "mesa", ""),
    ("MI_USER_INTERRUPT", "gen12", 0x01000000, 0xFF800000, None, 1, 1, (), "cr mesa", ""),
    ("MI_USER_INTERRUPT", "dg2 xe2 xe3 xe3p", 0x01000000, 0xFF800000, None, 1, 1, (), "cr mesa xe", ""),
    ("MI_USER_INTERRUPT", "pvc", 0x01000000, 0xFF800000, None, 1, 1, (), "cr xe", ""),
    ("MI_WAIT_FOR_EVENT", "gen8 gen9 gen11 gen12 dg2", 0x01800000, 0xFF800000, None, 1, 1, (), "i915 mesa", ""),
    ("MI_WAIT_FOR_EVENT", "xe2 xe3 xe3p", 0x01800000, 0xFF800000, None, 1, 1, (), "mesa", ""),
    ("MI_WAIT_FOR_EVENT_2", "gen11 gen12 dg2 xe2 xe3 xe3p", 0x02000000, 0xFF800000, None, 1, 1, (), "mesa", ""),
    ("CFE_STATE", "dg2 xe2 xe3", 0x72000000, 0xFFFC0000, (7, 0), 2, 6, (), "cr mesa", ""),
    ("CFE_STATE", "pvc", 0x72000000, 0xFFFC0000, (7, 0), 2, 6, (), "cr", ""),
    ("CFE_STATE", "xe3p", 0x72000000, 0xFFFC0000, (7, 0), 2, 6, (), "mesa", ""),
    ("L3_CONTROL", "gen12", 0x7D800000, 0xFF800000, (7, 0), 2, 7, (), "cr", "3 without post sync (field 1), 7 with it (field 5)"),
    ("L3_CONTROL", "dg2", 0x7D800000, 0xFF800000, (7, 0), 2, 5, (), "cr", "struct of 5 dwords; init() leaves the length field zero: unsure"),
    ("PIPELINE_SELECT", "gen8 gen9 gen11", 0x69040000, 0xFFFF0000, None, 1, 1, (), "mesa", ""),
    ("PIPELINE_SELECT", "gen12", 0x69040000, 0xFFFF0000, None, 1, 1, (), "cr mesa", ""),
    ("PIPELINE_SELECT", "dg2 xe2 xe3 xe3p", 0x69040000, 0xFFFF0000, None, 1, 1, (), "cr mesa xe", ""),
    ("PIPELINE_SELECT", "pvc", 0x69040000, 0xFFFF0000, None, 1, 1, (), "cr xe", ""),
    ("PIPE_CONTROL", "gen8 gen9 gen11", 0x7A000000, 0xFFFF0000, (7, 0), 2, 6, (), "mesa", ""),
    ("PIPE_CONTROL", "gen12", 0x7A000000, 0xFFFF0000, (7, 0), 2, 6, (), "cr mesa", ""),
    ("PIPE_CONTROL", "dg2 xe2 xe3 xe3p", 0x7A000000, 0xFFFF0000, (7, 0), 2, 6, (), "cr mesa xe", ""),
    ("PIPE_CONTROL", "pvc", 0x7A000000, 0xFFFF0000, (7, 0), 2, 6, (), "cr xe", ""),
    ("STATE_BYTE_STRIDE", "xe2 xe3 xe3p", 0x60050000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("STATE_COMPUTE_MODE", "gen12", 0x61050000, 0xFFFF0000, (7, 0), 2, 2, (), "cr", "compute-runtime only"),
    ("STATE_COMPUTE_MODE", "dg2", 0x61050000, 0xFFFF0000, (7, 0), 2, 2, (), "cr mesa xe", ""),
    ("STATE_COMPUTE_MODE", "pvc", 0x61050000, 0xFFFF0000, (7, 0), 2, 2, (), "cr xe", ""),
    ("STATE_COMPUTE_MODE", "xe2 xe3 xe3p", 0x61050000, 0xFFFF0000, (7, 0), 2, 3, (), "cr mesa xe", ""),
    ("STATE_CONTEXT_DATA_BASE_ADDRESS", "xe2 xe3 xe3p", 0x610B0000, 0xFFFF0000, (7, 0), 2, 3, (), "cr xe", ""),
    ("STATE_SYSTEM_MEM_FENCE_ADDRESS", "pvc", 0x61090000, 0xFFFF0000, (7, 0), 2, 3, (), "cr xe", ""),
    ("STATE_SYSTEM_MEM_FENCE_ADDRESS", "xe2 xe3 xe3p", 0x61090000, 0xFFFF0000, (7, 0), 2, 3, (), "cr mesa xe", ""),
    ("STATE_WRITE_INLINE", "dg2 xe2 xe3 xe3p", 0x80000000, 0xFC000000, (7, 0), 2, None, (), "xe", "command type 4; seen in context images, length by rule"),
    ("GPGPU_CSR_BASE_ADDRESS", "gen8 gen9", 0x61040000, 0xFFFF0000, (7, 0), 2, 3, (), "mesa", ""),
    ("GPGPU_CSR_BASE_ADDRESS", "gen12", 0x61040000, 0xFFFF0000, (7, 0), 2, 3, (), "cr", ""),
    ("GPGPU_WALKER", "gen8 gen9 gen11", 0x71050000, 0xFFFF0000, (7, 0), 2, 15, (), "mesa", ""),
    ("GPGPU_WALKER", "gen12", 0x71050000, 0xFFFF0000, (7, 0), 2, 15, (), "cr mesa", ""),
    ("MEDIA_CURBE_LOAD", "gen8 gen9 gen11 gen12", 0x70010000, 0xFFFF0000, (15, 0), 2, 4, (), "mesa", ""),
    ("MEDIA_INTERFACE_DESCRIPTOR_LOAD", "gen8 gen9 gen11 gen12", 0x70020000, 0xFFFF0000, (15, 0), 2, 4, (("descriptor_table", "descriptor_table", 3, 0, 32),), "mesa", ""),
    ("MEDIA_OBJECT", "gen8 gen9", 0x71000000, 0xFFFF0000, (15, 0), 2, None, (), "mesa", ""),
    ("MEDIA_OBJECT", "gen11 gen12", 0x71000000, 0xFFFF0000, (14, 0), 2, None, (), "mesa", ""),
    ("MEDIA_OBJECT_GRPID", "gen8 gen9 gen11 gen12", 0x71060000, 0xFFFF0000, (15, 0), 2, None, (), "mesa", ""),
    ("MEDIA_OBJECT_PRT", "gen8 gen9", 0x71020000, 0xFFFF0000, (15, 0), 2, 16, (), "mesa", ""),
    ("MEDIA_OBJECT_PRT", "gen11 gen12", 0x71020000, 0xFFFF0000, (14, 0), 2, 16, (), "mesa", ""),
    ("MEDIA_OBJECT_WALKER", "gen8 gen9", 0x71030000, 0xFFFF0000, (15, 0), 2, None, (), "mesa", ""),
    ("MEDIA_OBJECT_WALKER", "gen11 gen12", 0x71030000, 0xFFFF0000, (14, 0), 2, None, (), "mesa", ""),
    ("MEDIA_STATE_FLUSH", "gen8 gen9 gen11", 0x70040000, 0xFFFF0000, (15, 0), 2, 2, (), "mesa", ""),
    ("MEDIA_STATE_FLUSH", "gen12", 0x70040000, 0xFFFF0000, (15, 0), 2, 2, (), "cr mesa", ""),
    ("MEDIA_VFE_STATE", "gen8 gen9 gen11", 0x70000000, 0xFFFF0000, (15, 0), 2, 9, (), "mesa", ""),
    ("MEDIA_VFE_STATE", "gen12", 0x70000000, 0xFFFF0000, (15, 0), 2, 9, (), "cr mesa", ""),
    ("GSC_FW_LOAD", "dg2 xe2 xe3 xe3p", 0x40400000, 0xFFC00000, (15, 0), 2, 4, (), "xe", "GSC engine only"),
    ("GSC_HECI_CMD_PKT", "dg2 xe2 xe3 xe3p", 0x40000000, 0xFFC00000, (15, 0), 2, 8, (), "xe", "GSC engine only; the blitter uses the same type and opcode; only the engine differs"),
    ("MEM_COPY", "pvc xe2 xe3 xe3p", 0x56800000, 0xFFC00000, (7, 0), 2, 10, (), "cr igt", ""),
    ("MEM_SET", "pvc xe2 xe3 xe3p", 0x56C00000, 0xFFC00000, (7, 0), 2, 7, (), "cr igt xe", ""),
    ("XY_BLOCK_COPY_BLT", "gen12", 0x50400000, 0xFFC00000, (7, 0), 2, 12, (), "cr mesa", ""),
    ("XY_BLOCK_COPY_BLT", "dg2 xe2 xe3 xe3p", 0x50400000, 0xFFC00000, (7, 0), 2, 22, (), "cr mesa", ""),
    ("XY_BLOCK_COPY_BLT", "pvc", 0x50400000, 0xFFC00000, (7, 0), 2, 22, (), "cr", ""),
    ("XY_COLOR_BLT", "gen8 gen9 gen11 gen12", 0x54000000, 0xFFC00000, (7, 0), 2, 7, (), "i915", "7 dwords from gen8"),
    ("XY_CTRL_SURF_COPY_BLT", "dg2 pvc xe2 xe3 xe3p", 0x52000000, 0xFFC00000, (7, 0), 2, 5, (), "i915 xe", ""),
    ("XY_FAST_COLOR_BLT", "gen12", 0x51000000, 0xFFC00000, (7, 0), 2, 11, (), "cr mesa", "compute-runtime declares 12 dwords but writes length 9 (11); Mesa says 11"),
    ("XY_FAST_COLOR_BLT", "dg2", 0x51000000, 0xFFC00000, (7, 0), 2, 16, (), "cr igt mesa xe", "compute-runtime declares 15 dwords but writes length 0xE (16); Mesa, kernel, IGT say 16"),
    ("XY_FAST_COLOR_BLT", "pvc", 0x51000000, 0xFFC00000, (7, 0), 2, 16, (), "cr igt xe", "compute-runtime declares 15 dwords but writes length 0xE (16); Mesa, kernel, IGT say 16"),
    ("XY_FAST_COLOR_BLT", "xe2 xe3 xe3p", 0x51000000, 0xFFC00000, (7, 0), 2, 16, (), "cr igt mesa xe", ""),
    ("XY_FAST_COPY_BLT", "gen9 gen11 gen12 dg2 pvc xe2 xe3 xe3p", 0x50800000, 0xFFC00000, (7, 0), 2, 10, (), "i915 igt xe", "compute-runtime and genxml lack it; 10 dwords from kernel and IGT use"),
    ("XY_SRC_COPY_BLT", "gen8 gen9 gen11", 0x54C00000, 0xFFC00000, (7, 0), 2, 10, (), "i915", "10 dwords from gen8 (64-bit addresses)"),
    ("XY_SRC_COPY_BLT", "gen12", 0x54C00000, 0xFFC00000, (7, 0), 2, 10, (), "cr", ""),
    ("3DMESH_1D", "dg2 xe2 xe3 xe3p", 0x7B010000, 0xFFFF0000, (7, 0), 2, 3, (), "mesa", ""),
    ("3DMESH_3D", "dg2 xe2 xe3 xe3p", 0x7B020000, 0xFFFF0000, (7, 0), 2, 4, (), "mesa", ""),
    ("3DPRIMITIVE", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x7B000000, 0xFFFF0000, (7, 0), 2, 7, (), "mesa", ""),
    ("3DPRIMITIVE_EXTENDED", "gen11 gen12 dg2 xe2 xe3 xe3p", 0x7B000800, 0xFFFF0800, (7, 0), 2, 10, (), "mesa", "same header as 3DPRIMITIVE with bit 11 set"),
    ("3DSTATE_3D_MODE", "gen11 gen12", 0x791E0000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_3D_MODE", "dg2 xe2 xe3 xe3p", 0x791E0000, 0xFFFF0000, (7, 0), 2, 5, (), "mesa", ""),
    ("3DSTATE_AA_LINE_PARAMETERS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x790A0000, 0xFFFF0000, (7, 0), 2, 3, (), "mesa", ""),
    ("3DSTATE_AMFS", "dg2 xe2 xe3 xe3p", 0x786F0000, 0xFFFF0000, (7, 0), 2, None, (), "xe", "no length given in the source; by rule 7:0 plus 2"),
    ("3DSTATE_AMFS_TEXTURE_POINTERS", "dg2 xe2 xe3 xe3p", 0x78720000, 0xFFFF0000, (7, 0), 2, None, (), "xe", "no length given in the source; by rule 7:0 plus 2"),
    ("3DSTATE_BINDING_TABLE_EDIT_DS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x78460000, 0xFFFF0000, (8, 0), 2, None, (), "mesa", ""),
    ("3DSTATE_BINDING_TABLE_EDIT_GS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x78440000, 0xFFFF0000, (8, 0), 2, None, (), "mesa", ""),
    ("3DSTATE_BINDING_TABLE_EDIT_HS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x78450000, 0xFFFF0000, (8, 0), 2, None, (), "mesa", ""),
    ("3DSTATE_BINDING_TABLE_EDIT_PS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x78470000, 0xFFFF0000, (8, 0), 2, None, (), "mesa", ""),
    ("3DSTATE_BINDING_TABLE_EDIT_VS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x78430000, 0xFFFF0000, (8, 0), 2, None, (), "mesa", ""),
    ("3DSTATE_BINDING_TABLE_POINTERS_DS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x78280000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_BINDING_TABLE_POINTERS_GS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x78290000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_BINDING_TABLE_POINTERS_HS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x78270000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_BINDING_TABLE_POINTERS_PS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x782A0000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_BINDING_TABLE_POINTERS_VS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x78260000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_BINDING_TABLE_POOL_ALLOC", "gen8 gen9 gen11 gen12", 0x79190000, 0xFFFF0000, (7, 0), 2, 4, (), "mesa", ""),
    ("3DSTATE_BINDING_TABLE_POOL_ALLOC", "dg2 xe2 xe3", 0x79190000, 0xFFFF0000, (7, 0), 2, 4, (), "cr mesa xe", ""),
    ("3DSTATE_BINDING_TABLE_POOL_ALLOC", "pvc", 0x79190000, 0xFFFF0000, (7, 0), 2, 4, (), "cr", ""),
    ("3DSTATE_BINDING_TABLE_POOL_ALLOC", "xe3p", 0x79190000, 0xFFFF0000, (7, 0), 2, 4, (), "mesa xe", ""),
    ("3DSTATE_BLEND_STATE_POINTERS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x78240000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_BLEND_STATE_POINTERS_2", "xe3p", 0x78A00000, 0xFFFF0000, (7, 0), 2, None, (), "xe", "no length given in the source; by rule 7:0 plus 2"),
    ("3DSTATE_BTD", "dg2 xe2 xe3 xe3p", 0x61060000, 0xFFFF0000, (7, 0), 2, 6, (), "cr mesa xe", ""),
    ("3DSTATE_BTD", "pvc", 0x61060000, 0xFFFF0000, (7, 0), 2, 6, (), "cr", ""),
    ("3DSTATE_CC_STATE_POINTERS", "gen8 gen9 gen11 gen12", 0x780E0000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_CC_STATE_POINTERS", "dg2 xe2 xe3 xe3p", 0x780E0000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa xe", ""),
    ("3DSTATE_CC_STATE_POINTERS_2", "xe3p", 0x788E0000, 0xFFFF0000, (7, 0), 2, None, (), "xe", "no length given in the source; by rule 7:0 plus 2"),
    ("3DSTATE_CHROMA_KEY", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x79040000, 0xFFFF0000, (7, 0), 2, 4, (), "mesa", ""),
    ("3DSTATE_CLEAR_PARAMS", "gen8 gen9 gen11 gen12", 0x78040000, 0xFFFF0000, (7, 0), 2, 3, (), "mesa", ""),
    ("3DSTATE_CLEAR_PARAMS", "dg2", 0x78040000, 0xFFFF0000, (7, 0), 2, 3, (), "mesa xe", ""),
    ("3DSTATE_CLIP", "gen8 gen9 gen11 gen12", 0x78120000, 0xFFFF0000, (7, 0), 2, 4, (), "mesa", ""),
    ("3DSTATE_CLIP", "dg2 xe2 xe3 xe3p", 0x78120000, 0xFFFF0000, (7, 0), 2, 4, (), "mesa xe", ""),
    ("3DSTATE_CLIP_MESH", "dg2 xe2 xe3 xe3p", 0x78810000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_COARSE_PIXEL", "xe3 xe3p", 0x78890000, 0xFFFF0000, (15, 0), 2, 2, (), "mesa xe", ""),
    ("3DSTATE_CONSTANT_ALL", "gen12 dg2 xe2 xe3 xe3p", 0x786D0000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_CONSTANT_DS", "gen8 gen9 gen11 gen12", 0x781A0000, 0xFFFF0000, (7, 0), 2, 11, (), "mesa", ""),
    ("3DSTATE_CONSTANT_DS", "dg2 xe2 xe3 xe3p", 0x781A0000, 0xFFFF0000, (7, 0), 2, 11, (), "mesa xe", ""),
    ("3DSTATE_CONSTANT_GS", "gen8 gen9 gen11 gen12", 0x78160000, 0xFFFF0000, (7, 0), 2, 11, (), "mesa", ""),
    ("3DSTATE_CONSTANT_GS", "dg2 xe2 xe3 xe3p", 0x78160000, 0xFFFF0000, (7, 0), 2, 11, (), "mesa xe", ""),
    ("3DSTATE_CONSTANT_HS", "gen8 gen9 gen11 gen12", 0x78190000, 0xFFFF0000, (7, 0), 2, 11, (), "mesa", ""),
    ("3DSTATE_CONSTANT_HS", "dg2 xe2 xe3 xe3p", 0x78190000, 0xFFFF0000, (7, 0), 2, 11, (), "mesa xe", ""),
    ("3DSTATE_CONSTANT_PS", "gen8 gen9 gen11 gen12", 0x78170000, 0xFFFF0000, (7, 0), 2, 11, (), "mesa", ""),
    ("3DSTATE_CONSTANT_PS", "dg2 xe2 xe3 xe3p", 0x78170000, 0xFFFF0000, (7, 0), 2, 11, (), "mesa xe", ""),
    ("3DSTATE_CONSTANT_TS_POINTER", "dg2 xe2 xe3 xe3p", 0x78730000, 0xFFFF0000, (7, 0), 2, None, (), "xe", "no length given in the source; by rule 7:0 plus 2"),
    ("3DSTATE_CONSTANT_VS", "gen8 gen9 gen11 gen12", 0x78150000, 0xFFFF0000, (7, 0), 2, 11, (), "mesa", ""),
    ("3DSTATE_CONSTANT_VS", "dg2 xe2 xe3 xe3p", 0x78150000, 0xFFFF0000, (7, 0), 2, 11, (), "mesa xe", ""),
    ("3DSTATE_CPS", "gen11", 0x78220000, 0xFFFF0000, (7, 0), 2, 9, (), "mesa", ""),
    ("3DSTATE_CPSIZE_CONTROL_BUFFER", "dg2 xe2 xe3 xe3p", 0x78830000, 0xFFFF0000, (7, 0), 2, 8, (), "mesa", ""),
    ("3DSTATE_CPS_POINTERS", "gen12 dg2 xe2", 0x78220000, 0xFFFF0000, (15, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_CUSTOM_SAMPLE_PATTERN", "xe3p", 0x78020000, 0xFFFF0000, (7, 0), 2, None, (), "xe", "no length given in the source; by rule 7:0 plus 2"),
    ("3DSTATE_DEPTH_BOUNDS", "gen12 dg2 xe2 xe3 xe3p", 0x78710000, 0xFFFF0000, (7, 0), 2, 4, (), "mesa", ""),
    ("3DSTATE_DEPTH_BUFFER", "gen8 gen9 gen11 gen12", 0x78050000, 0xFFFF0000, (7, 0), 2, 8, (), "mesa", ""),
    ("3DSTATE_DEPTH_BUFFER", "dg2", 0x78050000, 0xFFFF0000, (7, 0), 2, 10, (), "mesa xe", ""),
    ("3DSTATE_DEPTH_BUFFER", "xe2 xe3 xe3p", 0x78050000, 0xFFFF0000, (7, 0), 2, 8, (), "mesa xe", ""),
    ("3DSTATE_DRAWING_RECTANGLE", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x79000000, 0xFFFF0000, (7, 0), 2, 4, (), "mesa", ""),
    ("3DSTATE_DRAWING_RECTANGLE_FAST", "xe2 xe3 xe3p", 0x78000000, 0xFFFF0000, (7, 0), 2, 4, (), "mesa xe", ""),
    ("3DSTATE_GATHER_CONSTANT_DS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x78370000, 0xFFFF0000, (7, 0), 2, None, (), "mesa", ""),
    ("3DSTATE_GATHER_CONSTANT_GS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x78350000, 0xFFFF0000, (7, 0), 2, None, (), "mesa", ""),
    ("3DSTATE_GATHER_CONSTANT_HS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x78360000, 0xFFFF0000, (7, 0), 2, None, (), "mesa", ""),
    ("3DSTATE_GATHER_CONSTANT_PS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x78380000, 0xFFFF0000, (7, 0), 2, None, (), "mesa", ""),
    ("3DSTATE_GATHER_CONSTANT_VS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x78340000, 0xFFFF0000, (7, 0), 2, None, (), "mesa", ""),
    ("3DSTATE_GATHER_POOL_ALLOC", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x791A0000, 0xFFFF0000, (7, 0), 2, 4, (), "mesa", ""),
    ("3DSTATE_HIER_DEPTH_BUFFER", "gen8 gen9 gen11 gen12", 0x78070000, 0xFFFF0000, (7, 0), 2, 5, (), "mesa", ""),
    ("3DSTATE_HIER_DEPTH_BUFFER", "dg2 xe2 xe3 xe3p", 0x78070000, 0xFFFF0000, (7, 0), 2, 5, (), "mesa xe", ""),
    ("3DSTATE_INDEX_BUFFER", "gen8 gen9 gen11 gen12", 0x780A0000, 0xFFFF0000, (7, 0), 2, 5, (), "mesa", ""),
    ("3DSTATE_INDEX_BUFFER", "dg2 xe2 xe3 xe3p", 0x780A0000, 0xFFFF0000, (7, 0), 2, 5, (), "mesa xe", ""),
    ("3DSTATE_LINE_STIPPLE", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x79080000, 0xFFFF0000, (7, 0), 2, 3, (), "mesa", ""),
    ("3DSTATE_MESH_CONTROL", "dg2 xe2 xe3 xe3p", 0x78770000, 0xFFFF0000, (7, 0), 2, 3, (), "mesa xe", ""),
    ("3DSTATE_MESH_DISTRIB", "dg2 xe2 xe3 xe3p", 0x78780000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_MESH_SHADER_DATA", "dg2 xe2 xe3 xe3p", 0x787B0000, 0xFFFF0000, (7, 0), 2, 10, (), "mesa xe", ""),
    ("3DSTATE_MESH_SHADER_DATA_EXT", "xe3p", 0x788A0000, 0xFFFF0000, (7, 0), 2, None, (), "xe", "no length given in the source; by rule 7:0 plus 2"),
    ("3DSTATE_MONOFILTER_SIZE", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x79110000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_MULTISAMPLE", "gen8 gen9 gen11 gen12", 0x780D0000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_MULTISAMPLE", "dg2 xe2 xe3 xe3p", 0x780D0000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa xe", ""),
    ("3DSTATE_POLY_STIPPLE_OFFSET", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x79060000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_POLY_STIPPLE_PATTERN", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x79070000, 0xFFFF0000, (7, 0), 2, 33, (), "mesa", ""),
    ("3DSTATE_PRIMITIVE_REPLICATION", "gen12 dg2 xe2 xe3 xe3p", 0x786C0000, 0xFFFF0000, (7, 0), 2, 6, (), "mesa", ""),
    ("3DSTATE_PS_BLEND", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x784D0000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_PS_EXTRA", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x784F0000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_PTBR_TILE_PASS_INFO", "dg2 xe2 xe3 xe3p", 0x79220000, 0xFFFF0000, (7, 0), 2, None, (), "xe", "no length given in the source; by rule 7:0 plus 2"),
    ("3DSTATE_PUSH_CONSTANT_ALLOC_DS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x79140000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_PUSH_CONSTANT_ALLOC_GS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x79150000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_PUSH_CONSTANT_ALLOC_HS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x79130000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_PUSH_CONSTANT_ALLOC_PS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x79160000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_PUSH_CONSTANT_ALLOC_VS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x79120000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_RASTER", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x78500000, 0xFFFF0000, (7, 0), 2, 5, (), "mesa", ""),
    ("3DSTATE_RS_CONSTANT_POINTER", "gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x78540000, 0xFFFF0000, (7, 0), 2, 4, (), "mesa", ""),
    ("3DSTATE_SAMPLER_PALETTE_LOAD0", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x79020000, 0xFFFF0000, (7, 0), 2, None, (), "mesa", ""),
    ("3DSTATE_SAMPLER_PALETTE_LOAD1", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x790C0000, 0xFFFF0000, (7, 0), 2, None, (), "mesa", ""),
    ("3DSTATE_SAMPLER_STATE_POINTERS_DS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x782D0000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_SAMPLER_STATE_POINTERS_GS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x782E0000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_SAMPLER_STATE_POINTERS_HS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x782C0000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_SAMPLER_STATE_POINTERS_PS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x782F0000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_SAMPLER_STATE_POINTERS_VS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x782B0000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_SAMPLE_MASK", "gen8 gen9 gen11 gen12", 0x78180000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_SAMPLE_MASK", "dg2 xe2 xe3 xe3p", 0x78180000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa xe", ""),
    ("3DSTATE_SAMPLE_PATTERN", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x791C0000, 0xFFFF0000, (7, 0), 2, 9, (), "mesa", ""),
    ("3DSTATE_SBE", "gen8", 0x781F0000, 0xFFFF0000, (7, 0), 2, 4, (), "mesa", ""),
    ("3DSTATE_SBE", "gen9 gen11 gen12", 0x781F0000, 0xFFFF0000, (7, 0), 2, 6, (), "mesa", ""),
    ("3DSTATE_SBE", "dg2 xe2 xe3 xe3p", 0x781F0000, 0xFFFF0000, (7, 0), 2, 6, (), "mesa xe", ""),
    ("3DSTATE_SBE_MESH", "dg2 xe2 xe3 xe3p", 0x78820000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_SBE_SWIZ", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x78510000, 0xFFFF0000, (7, 0), 2, 11, (), "mesa", ""),
    ("3DSTATE_SCISSOR_STATE_POINTERS", "gen8 gen9 gen11 gen12", 0x780F0000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_SCISSOR_STATE_POINTERS", "dg2 xe2 xe3 xe3p", 0x780F0000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa xe", ""),
    ("3DSTATE_SCISSOR_STATE_POINTERS_2", "xe3p", 0x788F0000, 0xFFFF0000, (7, 0), 2, None, (), "xe", "no length given in the source; by rule 7:0 plus 2"),
    ("3DSTATE_SF", "gen8 gen9 gen11 gen12", 0x78130000, 0xFFFF0000, (7, 0), 2, 4, (), "mesa", ""),
    ("3DSTATE_SF", "dg2 xe2 xe3 xe3p", 0x78130000, 0xFFFF0000, (7, 0), 2, 4, (), "mesa xe", ""),
    ("3DSTATE_SLICE_TABLE_STATE_POINTERS", "gen11 gen12 dg2 xe2 xe3 xe3p", 0x79200000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_SLICE_TABLE_STATE_POINTER_2", "xe3p", 0x79A00000, 0xFFFF0000, (7, 0), 2, None, (), "xe", "no length given in the source; by rule 7:0 plus 2"),
    ("3DSTATE_SO_BUFFER", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x79180000, 0xFFFF0000, (7, 0), 2, 8, (), "mesa", ""),
    ("3DSTATE_SO_BUFFER_INDEX_0", "gen12 dg2 xe2 xe3 xe3p", 0x78600000, 0xFFFF0000, (7, 0), 2, 8, (), "mesa", ""),
    ("3DSTATE_SO_BUFFER_INDEX_1", "gen12 dg2 xe2 xe3 xe3p", 0x78610000, 0xFFFF0000, (7, 0), 2, 8, (), "mesa", ""),
    ("3DSTATE_SO_BUFFER_INDEX_2", "gen12 dg2 xe2 xe3 xe3p", 0x78620000, 0xFFFF0000, (7, 0), 2, 8, (), "mesa", ""),
    ("3DSTATE_SO_BUFFER_INDEX_3", "gen12 dg2 xe2 xe3 xe3p", 0x78630000, 0xFFFF0000, (7, 0), 2, 8, (), "mesa", ""),
    ("3DSTATE_SO_DECL_LIST", "gen8 gen9 gen11 gen12", 0x79170000, 0xFFFF0000, (8, 0), 2, None, (), "mesa", ""),
    ("3DSTATE_SO_DECL_LIST", "dg2 xe2 xe3 xe3p", 0x79170000, 0xFFFF0000, (8, 0), 2, None, (), "mesa xe", ""),
    ("3DSTATE_STENCIL_BUFFER", "gen8 gen9 gen11", 0x78060000, 0xFFFF0000, (7, 0), 2, 5, (), "mesa", ""),
    ("3DSTATE_STENCIL_BUFFER", "gen12", 0x78060000, 0xFFFF0000, (7, 0), 2, 8, (), "mesa", ""),
    ("3DSTATE_STENCIL_BUFFER", "dg2 xe2 xe3 xe3p", 0x78060000, 0xFFFF0000, (7, 0), 2, 8, (), "mesa xe", ""),
    ("3DSTATE_STREAMOUT", "gen8 gen9 gen11 gen12", 0x781E0000, 0xFFFF0000, (7, 0), 2, 5, (), "mesa", ""),
    ("3DSTATE_STREAMOUT", "dg2 xe2 xe3 xe3p", 0x781E0000, 0xFFFF0000, (7, 0), 2, 5, (), "mesa xe", ""),
    ("3DSTATE_SUBSLICE_HASH_TABLE", "gen12 dg2 xe2 xe3 xe3p", 0x791F0000, 0xFFFF0000, (7, 0), 2, 14, (), "mesa", ""),
    ("3DSTATE_TASK_CONTROL", "dg2 xe2 xe3 xe3p", 0x787C0000, 0xFFFF0000, (7, 0), 2, 3, (), "mesa xe", ""),
    ("3DSTATE_TASK_REDISTRIB", "dg2 xe2 xe3 xe3p", 0x78790000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_TASK_SHADER_DATA", "dg2 xe2 xe3 xe3p", 0x787E0000, 0xFFFF0000, (7, 0), 2, 10, (), "mesa xe", ""),
    ("3DSTATE_TASK_SHADER_DATA_EXT", "xe3p", 0x788B0000, 0xFFFF0000, (7, 0), 2, None, (), "xe", "no length given in the source; by rule 7:0 plus 2"),
    ("3DSTATE_TBIMR_TILE_PASS_INFO", "dg2 xe2 xe3 xe3p", 0x786E0000, 0xFFFF0000, (7, 0), 2, 4, (), "mesa", ""),
    ("3DSTATE_TE", "gen8 gen9 gen11 gen12", 0x781C0000, 0xFFFF0000, (7, 0), 2, 4, (), "mesa", ""),
    ("3DSTATE_TE", "dg2", 0x781C0000, 0xFFFF0000, (7, 0), 2, 5, (), "mesa xe xe_lrc", "Mesa 24.0.0 gen125.xml says 4; newer gen125.xml and the kernel table say 5"),
    ("3DSTATE_TE", "xe2 xe3 xe3p", 0x781C0000, 0xFFFF0000, (7, 0), 2, 5, (), "mesa xe", ""),
    ("3DSTATE_URB_ALLOC_DS", "dg2 xe2 xe3 xe3p", 0x785A0000, 0xFFFF0000, (7, 0), 2, 3, (), "xe_lrc", ""),
    ("3DSTATE_URB_ALLOC_GS", "dg2 xe2 xe3 xe3p", 0x785B0000, 0xFFFF0000, (7, 0), 2, 3, (), "xe_lrc", ""),
    ("3DSTATE_URB_ALLOC_HS", "dg2 xe2 xe3 xe3p", 0x78590000, 0xFFFF0000, (7, 0), 2, 3, (), "xe_lrc", ""),
    ("3DSTATE_URB_ALLOC_MESH", "dg2 xe2 xe3 xe3p", 0x787F0000, 0xFFFF0000, (7, 0), 2, 3, (), "mesa", ""),
    ("3DSTATE_URB_ALLOC_TASK", "dg2 xe2 xe3 xe3p", 0x78800000, 0xFFFF0000, (7, 0), 2, 3, (), "mesa", ""),
    ("3DSTATE_URB_ALLOC_VS", "dg2 xe2 xe3 xe3p", 0x78580000, 0xFFFF0000, (7, 0), 2, 3, (), "xe_lrc", ""),
    ("3DSTATE_URB_CLEAR", "gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x791D0000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_URB_DS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x78320000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_URB_GS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x78330000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_URB_HS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x78310000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_URB_MEMORY", "xe3p", 0x79010000, 0xFFFF0000, (7, 0), 2, None, (), "xe", "no length given in the source; by rule 7:0 plus 2"),
    ("3DSTATE_URB_VS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x78300000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_VERTEX_BUFFERS", "gen8 gen9 gen11 gen12", 0x78080000, 0xFFFF0000, (7, 0), 2, None, (), "mesa", ""),
    ("3DSTATE_VERTEX_BUFFERS", "dg2 xe2 xe3 xe3p", 0x78080000, 0xFFFF0000, (7, 0), 2, None, (), "mesa xe", ""),
    ("3DSTATE_VERTEX_ELEMENTS", "gen8 gen9 gen11 gen12", 0x78090000, 0xFFFF0000, (7, 0), 2, None, (), "mesa", ""),
    ("3DSTATE_VERTEX_ELEMENTS", "dg2 xe2 xe3 xe3p", 0x78090000, 0xFFFF0000, (7, 0), 2, None, (), "mesa xe", ""),
    ("3DSTATE_VF", "gen8 gen9 gen11 gen12", 0x780C0000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_VF", "dg2 xe2 xe3 xe3p", 0x780C0000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa xe", ""),
    ("3DSTATE_VFG", "dg2 xe2 xe3 xe3p", 0x78570000, 0xFFFF0000, (7, 0), 2, 4, (), "mesa", ""),
    ("3DSTATE_VF_COMPONENT_PACKING", "gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x78550000, 0xFFFF0000, (7, 0), 2, 5, (), "mesa", ""),
    ("3DSTATE_VF_INSTANCING", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x78490000, 0xFFFF0000, (7, 0), 2, 3, (), "mesa", ""),
    ("3DSTATE_VF_SGVS", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x784A0000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_VF_SGVS_2", "gen11 gen12 dg2 xe2 xe3 xe3p", 0x78560000, 0xFFFF0000, (7, 0), 2, 3, (), "mesa", ""),
    ("3DSTATE_VF_STATISTICS", "gen8 gen9 gen11 gen12", 0x680B0000, 0xFFFF0000, None, 1, 1, (), "mesa", ""),
    ("3DSTATE_VF_STATISTICS", "dg2 xe2 xe3 xe3p", 0x680B0000, 0xFFFF0000, None, 1, 1, (), "mesa xe", ""),
    ("3DSTATE_VF_TOPOLOGY", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x784B0000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_VIEWPORT_STATE_POINTERS_CC", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x78230000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_VIEWPORT_STATE_POINTERS_CC_2", "xe3p", 0x788D0000, 0xFFFF0000, (7, 0), 2, None, (), "xe", "no length given in the source; by rule 7:0 plus 2"),
    ("3DSTATE_VIEWPORT_STATE_POINTERS_SF_CLIP", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x78210000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_VIEWPORT_STATE_POINTERS_SF_CLIP_2", "xe3p", 0x78A10000, 0xFFFF0000, (7, 0), 2, None, (), "xe", "no length given in the source; by rule 7:0 plus 2"),
    ("3DSTATE_WM", "gen8 gen9 gen11 gen12", 0x78140000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_WM", "dg2 xe2 xe3 xe3p", 0x78140000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa xe", ""),
    ("3DSTATE_WM_CHROMAKEY", "gen8 gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x784C0000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
    ("3DSTATE_WM_DEPTH_STENCIL", "gen8", 0x784E0000, 0xFFFF0000, (7, 0), 2, 3, (), "mesa", ""),
    ("3DSTATE_WM_DEPTH_STENCIL", "gen9 gen11 gen12 dg2 xe2 xe3 xe3p", 0x784E0000, 0xFFFF0000, (7, 0), 2, 4, (), "mesa", ""),
    ("3DSTATE_WM_HZ_OP", "gen8 gen9 gen11 gen12", 0x78520000, 0xFFFF0000, (7, 0), 2, 5, (), "mesa", ""),
    ("3DSTATE_WM_HZ_OP", "dg2 xe2 xe3 xe3p", 0x78520000, 0xFFFF0000, (7, 0), 2, 6, (), "mesa", ""),
    ("SWTESS_BASE_ADDRESS", "gen8", 0x61030000, 0xFFFF0000, (7, 0), 2, 2, (), "mesa", ""),
)

# INTERFACE_DESCRIPTOR_DATA, the 8-dword block that holds a compute kernel's
# start, inside a walker or (older generations) in memory. dword, low bit, bits.
INTERFACE_DESCRIPTOR = {
    "gen8": (0, 6, 42), "gen9": (0, 6, 42), "gen11": (0, 6, 42), "gen12": (0, 6, 42),
    "dg2": (0, 6, 26), "pvc": (0, 6, 26), "xe2": (0, 6, 26), "xe3": (0, 6, 26),
    "xe3p": (0, 6, 58),     # INTERFACE_DESCRIPTOR_DATA_2
}
# The dword of the command where that block begins.
INTERFACE_DESCRIPTOR_AT = {
    ("COMPUTE_WALKER", "dg2"): 18, ("COMPUTE_WALKER", "pvc"): 18,
    ("COMPUTE_WALKER", "xe2"): 19, ("COMPUTE_WALKER", "xe3"): 19,
    ("COMPUTE_WALKER", "xe3p"): 19, ("COMPUTE_WALKER_2", "xe3p"): 19,
    ("EXECUTE_INDIRECT_DISPATCH", "dg2"): 23, ("EXECUTE_INDIRECT_DISPATCH", "xe2"): 24,
    ("EXECUTE_INDIRECT_DISPATCH", "xe3"): 24, ("EXECUTE_INDIRECT_DISPATCH", "xe3p"): 24,
}

# Bits of dword 0 of MI_BATCH_BUFFER_START, gen8 and later.
BBS_SECOND_LEVEL = 1 << 22      # "nested level" in the nested mode of later ones
BBS_PPGTT = 1 << 8
BBS_PREDICATE = 1 << 15
BBS_INDIRECT_XE3P = 1 << 18

# Length rules by command type, for headers that have no row. The type is
# dword 0 bits 31:29. (text only; rule_length() below is the same in code)
LENGTH_RULES = (
    (0, "MI", "opcode 28:23 below 0x10: 1 dword; else field 7:0 + 2. Wider or narrower fields: "
              "MI_STORE_DATA_IMM and MI_CLFLUSH 9:0; MI_FLUSH_DW, MI_REPORT_PERF_COUNT, MI_LOAD_SCAN_LINES_* 5:0"),
    (2, "blitter / GSC", "field 7:0 + 2 on a copy engine; a GSC engine uses 15:0 + 2"),
    (3, "GFXPIPE, bits 28:27 = 0 common", "field 7:0 + 2"),
    (3, "GFXPIPE, bits 28:27 = 1 single dword", "1 dword (PIPELINE_SELECT, 3DSTATE_VF_STATISTICS)"),
    (3, "GFXPIPE, bits 28:27 = 2 compute/media", "CFE_STATE, COMPUTE_WALKER*, GPGPU_WALKER: 7:0 + 2 (bits above "
        "are flags); MEDIA_*: 15:0 + 2 (14:0 for MEDIA_OBJECT* from gen11)"),
    (3, "GFXPIPE, bits 28:27 = 3 3D", "field 7:0 + 2; 3DSTATE_SO_DECL_LIST and 3DSTATE_BINDING_TABLE_EDIT_* 8:0; "
        "3DSTATE_CPS_POINTERS and 3DSTATE_COARSE_PIXEL 15:0 in genxml"),
    (4, "GFX_STATE", "field 7:0 + 2 (STATE_WRITE_INLINE)"),
    (5, "GFX_EXEC", "field 7:0 + 2 (RESOURCE_BARRIER)"),
)


class Row(namedtuple("Row", "name generation value mask length_bits bias dwords pointers sources note")):
    """One command on one generation."""

    __slots__ = ()

    def kernels(self):
        return tuple(p for p in self.pointers if p.kind == "kernel")


class Pointer(namedtuple("Pointer", "kind label dword low bits")):
    """Where an address stands in a command."""

    __slots__ = ()

    @property
    def alignment(self):
        return 1 << self.low

    @property
    def is64(self):
        return self.low + self.bits > 32


def _generation(name):
    key = name.lower()
    key = ALIASES.get(key, key)
    if key not in GENERATIONS:
        raise KeyError("unknown generation: %s" % name)
    return key


def _source(key, generation):
    found = SOURCES[key]
    return found.get(generation, "") if isinstance(found, dict) else found


def _expand():
    out = {}
    for name, gens, value, mask, bits, bias, dwords, pointers, sources, note in _TABLE:
        for generation in gens.split():
            key = (name, generation)
            if key in out:
                raise ValueError("two rows for %s on %s" % key)
            out[key] = Row(name, generation, value, mask, bits, bias, dwords,
                           tuple(Pointer(*p) for p in pointers),
                           tuple(s for s in (_source(k, generation) for k in sources.split()) if s),
                           note)
    return out


_ROWS = _expand()
_BY_GENERATION = {
    g: sorted((r for r in _ROWS.values() if r.generation == g),
              key=lambda r: -bin(r.mask).count("1"))
    for g in GENERATIONS
}


# STATE_BASE_ADDRESS can switch the base addresses off by this bit. Source: cr (BaseAddressDisable).
BASES_OFF = {"xe3p": {3: 1 << 30}}  # generation: {dword: bit}


def rows(generation=None):
    """All rows, or those of one generation."""
    if generation is None:
        return tuple(_ROWS.values())
    return tuple(_BY_GENERATION[_generation(generation)])


def row(name, generation):
    """The row of a command; KeyError where the generation does not have it."""
    return _ROWS[(name, _generation(generation))]


def identify(dword0, generation):
    """The row whose value and mask fit dword 0, the tightest first; or None."""
    for r in _BY_GENERATION[_generation(generation)]:
        if dword0 & r.mask == r.value:
            return r
    return None


def _field(value, high, low):
    return (value >> low) & ((1 << (high - low + 1)) - 1)


def rule_length(dword0):
    """Returns the dwords by the general rule of the command's type, or None if the type has no rule."""
    kind = dword0 >> 29
    if kind == 0:
        return 1 if _field(dword0, 28, 23) < 0x10 else _field(dword0, 7, 0) + 2
    if kind in (2, 4, 5):
        return _field(dword0, 7, 0) + 2
    if kind == 3:
        pipe, opcode = _field(dword0, 28, 27), _field(dword0, 26, 24)
        if pipe == 1:
            return 1
        if pipe == 2 and opcode != 2:
            return _field(dword0, 15, 0) + 2
        return _field(dword0, 7, 0) + 2
    return None


def length_of(dword0, generation):
    """Dwords of the command: by its row if it has one, else by the rule."""
    r = identify(dword0, generation)
    if r is None:
        return rule_length(dword0)
    if r.length_bits is None:
        return r.bias
    return _field(dword0, *r.length_bits) + r.bias


def _put(words, pointer, address):
    if address < 0 or address % pointer.alignment:
        raise ValueError("0x%x is not aligned to %d bytes" % (address, pointer.alignment))
    if address >> (pointer.low + pointer.bits):
        raise ValueError("0x%x does not fit in %d bits" % (address, pointer.low + pointer.bits))
    words[pointer.dword] |= address & 0xFFFFFFFF
    if pointer.is64:
        words[pointer.dword + 1] |= address >> 32


def _get(words, pointer):
    raw = words[pointer.dword]
    if pointer.is64:
        raw |= words[pointer.dword + 1] << 32
    return raw & (((1 << pointer.bits) - 1) << pointer.low)


def encode(name, generation, start=None, length=None, header=0, words=None):
    """Bytes of a command, little endian, zero but for what is asked.

    start   address for its pointer, or a list of them for several (None skips);
            for STATE_BASE_ADDRESS it also sets the modify bit
    length  total dwords; by default the row's. Needed where the row has none
    header  further bits of dword 0 (flags), added with or
    words   {dword index: value} added with or
    """
    r = row(name, generation)
    total = r.dwords if length is None else length
    if r.length_bits is None:
        if length is not None and length != r.bias:
            raise ValueError("%s has a fixed length of %d" % (name, r.bias))
        total = r.bias
    if total is None:
        raise ValueError("%s has no default length" % name)
    if total < 1:
        raise ValueError("no room for the header")
    out = [0] * total
    out[0] = r.value | header
    if r.length_bits is not None:
        high, low = r.length_bits
        field = total - r.bias
        if not 0 <= field < 1 << (high - low + 1):
            raise ValueError("%d dwords do not fit the length field" % total)
        out[0] |= field << low
    if start is not None:
        addresses = [start] if isinstance(start, int) else list(start)
        if len(addresses) > len(r.pointers):
            raise ValueError("%s has %d pointers on %s" % (name, len(r.pointers), r.generation))
        for pointer, address in zip(r.pointers, addresses):
            if address is None:
                continue
            if pointer.dword + (2 if pointer.is64 else 1) > total:
                raise ValueError("%s: %d dwords do not reach its pointer" % (name, total))
            _put(out, pointer, address)
            if pointer.kind == "instruction_base":
                out[pointer.dword] |= 1
    for index, value in (words or {}).items():
        if not 0 <= index < total:
            raise ValueError("dword %d is outside the command" % index)
        out[index] |= value
    return struct.pack("<%dI" % total, *out)


def starts(data, generation):
    """((kind, label, address), ...) of one command given as bytes."""
    words = struct.unpack("<%dI" % (len(data) // 4), data[:len(data) // 4 * 4])
    r = identify(words[0], generation)
    if r is None:
        return ()
    total = min(length_of(words[0], generation), len(words))
    return tuple((p.kind, p.label, _get(words, p)) for p in r.pointers
                 if p.dword + (2 if p.is64 else 1) <= total)
