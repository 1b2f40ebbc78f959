/* The commands of Intel GPUs that a batch may hold, since Gen8. gpuprof reads their lengths and their kernels by these
 * tables and by nothing else. A command that is in no row ends the scan of its batch. Plain C without libc.
 *
 * Sources: "Mesa N" is src/intel/genxml of Mesa 24.0, with the additions of 2025 to 20 (Xe2) and 30 (Xe3). "NEO" is
 * shared/source/generated of intel/compute-runtime of August 2026. "xe" and "i915" are the Linux drivers, which name
 * some commands that the others lack; their lengths follow the rule of their type. A test compares the tables with an
 * independent transcription, and with the sources if they are at hand. */
#ifndef GPUPROF_WIRE_GPU_COMMANDS_H
#define GPUPROF_WIRE_GPU_COMMANDS_H

/* ROW(opcode, mask, length_bits, names, source)
 *
 * `opcode`, `mask`: value and mask of bits 31:16 of the command's first dword. The mask depends only on the command's
 * type: see gpuprof_batch_key() in wire/batch_scan.h.
 * `length_bits`: the lowest bits of the first dword hold the command's length in dwords, minus 2. If generations
 * differ, this is the widest field, whose additional bits are 0 in the others. 0: the command has one dword. */
/* clang-format off */
#define GPUPROF_GPU_COMMANDS(ROW) \
  ROW(0x0000, 0xff80, 0, "MI_NOOP", "Mesa 8-20") \
  ROW(0x0080, 0xff80, 0, "MI_SET_PREDICATE", "Mesa 8-20") \
  ROW(0x0100, 0xff80, 0, "MI_USER_INTERRUPT", "Mesa 8-20") \
  ROW(0x0180, 0xff80, 0, "MI_WAIT_FOR_EVENT", "Mesa 8-20") \
  ROW(0x0200, 0xff80, 0, "MI_WAIT_FOR_EVENT_2", "Mesa 11-20") \
  ROW(0x0280, 0xff80, 0, "MI_ARB_CHECK", "Mesa 8-20") \
  ROW(0x0300, 0xff80, 0, "MI_RS_CONTROL", "Mesa 8-20") \
  ROW(0x0380, 0xff80, 0, "MI_REPORT_HEAD", "Mesa 8-20") \
  ROW(0x0400, 0xff80, 0, "MI_ARB_ON_OFF", "Mesa 8-20") \
  ROW(0x0480, 0xff80, 0, "MI_URB_ATOMIC_ALLOC / MI_MEM_FENCE", "Mesa 8-9, Mesa 20, NEO PVC-Xe3p") \
  ROW(0x0500, 0xff80, 0, "MI_BATCH_BUFFER_END", "Mesa 8-20") \
  ROW(0x0580, 0xff80, 0, "MI_SUSPEND_FLUSH", "Mesa 8-20") \
  ROW(0x0600, 0xff80, 0, "MI_PREDICATE", "Mesa 8-20") \
  ROW(0x0680, 0xff80, 0, "MI_TOPOLOGY_FILTER", "Mesa 8-20") \
  ROW(0x0700, 0xff80, 0, "MI_SET_APPID", "Mesa 12-20") \
  ROW(0x0780, 0xff80, 0, "MI_RS_CONTEXT", "Mesa 8-20") \
  ROW(0x0900, 0xff80, 6, "MI_LOAD_SCAN_LINES_INCL", "Mesa 8-20") \
  ROW(0x0980, 0xff80, 6, "MI_LOAD_SCAN_LINES_EXCL", "Mesa 8-20") \
  ROW(0x0a00, 0xff80, 8, "MI_DISPLAY_FLIP", "Mesa 9-20") \
  ROW(0x0c00, 0xff80, 8, "MI_SET_CONTEXT", "Mesa 8-20") \
  ROW(0x0c80, 0xff80, 8, "MI_URB_CLEAR", "Mesa 8") \
  ROW(0x0d00, 0xff80, 8, "MI_MATH", "Mesa 8-20") \
  ROW(0x0d80, 0xff80, 8, "MI_SEMAPHORE_SIGNAL", "Mesa 8-20") \
  ROW(0x0e00, 0xff80, 8, "MI_SEMAPHORE_WAIT", "Mesa 8-20") \
  ROW(0x0e80, 0xff80, 8, "MI_FORCE_WAKEUP", "Mesa 9-20") \
  ROW(0x1000, 0xff80, 10, "MI_STORE_DATA_IMM", "Mesa 8-20") \
  ROW(0x1080, 0xff80, 8, "MI_STORE_DATA_INDEX", "Mesa 8-20") \
  ROW(0x1100, 0xff80, 8, "MI_LOAD_REGISTER_IMM", "Mesa 8-20") \
  ROW(0x1200, 0xff80, 8, "MI_STORE_REGISTER_MEM", "Mesa 8-20") \
  ROW(0x1300, 0xff80, 6, "MI_FLUSH_DW", "Mesa 11-20") \
  ROW(0x1380, 0xff80, 10, "MI_CLFLUSH", "Mesa 8-20") \
  ROW(0x1400, 0xff80, 6, "MI_REPORT_PERF_COUNT", "Mesa 8-20") \
  ROW(0x1480, 0xff80, 8, "MI_LOAD_REGISTER_MEM", "Mesa 8-20") \
  ROW(0x1500, 0xff80, 8, "MI_LOAD_REGISTER_REG", "Mesa 8-20") \
  ROW(0x1580, 0xff80, 8, "MI_RS_STORE_DATA_IMM", "Mesa 8-20") \
  ROW(0x1600, 0xff80, 8, "MI_LOAD_URB_MEM", "Mesa 8-9") \
  ROW(0x1680, 0xff80, 8, "MI_STORE_URB_MEM", "Mesa 8-9") \
  ROW(0x1700, 0xff80, 8, "MI_COPY_MEM_MEM", "Mesa 8-20") \
  ROW(0x1780, 0xff80, 8, "MI_ATOMIC", "Mesa 8-20") \
  ROW(0x1880, 0xff80, 8, "MI_BATCH_BUFFER_START", "Mesa 8-20") \
  ROW(0x1b00, 0xff80, 8, "MI_CONDITIONAL_BATCH_BUFFER_END", "Mesa 8-20") \
  ROW(0x1d80, 0xff80, 8, "MI_SEMAPHORE_WAIT_64", "NEO Xe3p") \
  ROW(0x5040, 0xffc0, 8, "XY_BLOCK_COPY_BLT", "Mesa 12-20") \
  ROW(0x5080, 0xffc0, 8, "XY_FAST_COPY_BLT", "i915 9-12.5, xe") \
  ROW(0x5100, 0xffc0, 8, "XY_FAST_COLOR_BLT", "Mesa 12-20") \
  ROW(0x5200, 0xffc0, 8, "XY_CTRL_SURF_COPY_BLT", "i915 DG2, xe") \
  ROW(0x5400, 0xffc0, 8, "XY_COLOR_BLT", "i915 8-12") \
  ROW(0x54c0, 0xffc0, 8, "XY_SRC_COPY_BLT", "i915 8-11, NEO Gen12") \
  ROW(0x5680, 0xffc0, 8, "MEM_COPY", "NEO PVC-Xe3p") \
  ROW(0x56c0, 0xffc0, 8, "MEM_SET", "NEO PVC-Xe3p") \
  ROW(0x6003, 0xffff, 8, "STATE_PREFETCH", "Mesa 8-9, NEO PVC-Xe3p") \
  ROW(0x6005, 0xffff, 8, "STATE_BYTE_STRIDE", "Mesa 20") \
  ROW(0x6101, 0xffff, 8, "STATE_BASE_ADDRESS", "Mesa 8-20") \
  ROW(0x6102, 0xffff, 8, "STATE_SIP", "Mesa 8-20") \
  ROW(0x6103, 0xffff, 8, "SWTESS_BASE_ADDRESS", "Mesa 8") \
  ROW(0x6104, 0xffff, 8, "GPGPU_CSR_BASE_ADDRESS", "Mesa 8-9, NEO Gen12") \
  ROW(0x6105, 0xffff, 8, "STATE_COMPUTE_MODE", "Mesa 12.5-20") \
  ROW(0x6106, 0xffff, 8, "3DSTATE_BTD", "Mesa 12.5-20") \
  ROW(0x6109, 0xffff, 8, "STATE_SYSTEM_MEM_FENCE_ADDRESS", "Mesa 20, NEO PVC-Xe3p") \
  ROW(0x610b, 0xffff, 8, "STATE_CONTEXT_DATA_BASE_ADDRESS", "NEO Xe2-Xe3p") \
  ROW(0x680b, 0xffff, 0, "3DSTATE_VF_STATISTICS", "Mesa 8-20") \
  ROW(0x6904, 0xffff, 0, "PIPELINE_SELECT", "Mesa 8-20") \
  ROW(0x7000, 0xffff, 16, "MEDIA_VFE_STATE", "Mesa 8-12") \
  ROW(0x7001, 0xffff, 16, "MEDIA_CURBE_LOAD", "Mesa 8-12") \
  ROW(0x7002, 0xffff, 16, "MEDIA_INTERFACE_DESCRIPTOR_LOAD", "Mesa 8-12") \
  ROW(0x7004, 0xffff, 16, "MEDIA_STATE_FLUSH", "Mesa 8-12") \
  ROW(0x7100, 0xffff, 16, "MEDIA_OBJECT", "Mesa 8-12") \
  ROW(0x7102, 0xffff, 16, "MEDIA_OBJECT_PRT", "Mesa 8-12") \
  ROW(0x7103, 0xffff, 16, "MEDIA_OBJECT_WALKER", "Mesa 8-12") \
  ROW(0x7105, 0xffff, 8, "GPGPU_WALKER", "Mesa 8-12") \
  ROW(0x7106, 0xffff, 16, "MEDIA_OBJECT_GRPID", "Mesa 8-12") \
  ROW(0x7200, 0xfffc, 8, "CFE_STATE", "Mesa 12.5-30, NEO DG2-Xe3") \
  ROW(0x7208, 0xfffc, 8, "COMPUTE_WALKER", "Mesa 12.5-30, NEO DG2-Xe3") \
  ROW(0x7220, 0xfffc, 8, "COMPUTE_WALKER_2", "NEO Xe3p") \
  ROW(0x7800, 0xffff, 8, "3DSTATE_DRAWING_RECTANGLE_FAST", "Mesa 20") \
  ROW(0x7802, 0xffff, 8, "3DSTATE_CUSTOM_SAMPLE_PATTERN", "xe Xe3p") \
  ROW(0x7804, 0xffff, 8, "3DSTATE_CLEAR_PARAMS", "Mesa 8-12.5") \
  ROW(0x7805, 0xffff, 8, "3DSTATE_DEPTH_BUFFER", "Mesa 8-20") \
  ROW(0x7806, 0xffff, 8, "3DSTATE_STENCIL_BUFFER", "Mesa 8-20") \
  ROW(0x7807, 0xffff, 8, "3DSTATE_HIER_DEPTH_BUFFER", "Mesa 8-20") \
  ROW(0x7808, 0xffff, 8, "3DSTATE_VERTEX_BUFFERS", "Mesa 8-20") \
  ROW(0x7809, 0xffff, 8, "3DSTATE_VERTEX_ELEMENTS", "Mesa 8-20") \
  ROW(0x780a, 0xffff, 8, "3DSTATE_INDEX_BUFFER", "Mesa 8-20") \
  ROW(0x780c, 0xffff, 8, "3DSTATE_VF", "Mesa 8-20") \
  ROW(0x780d, 0xffff, 8, "3DSTATE_MULTISAMPLE", "Mesa 8-20") \
  ROW(0x780e, 0xffff, 8, "3DSTATE_CC_STATE_POINTERS", "Mesa 8-20") \
  ROW(0x780f, 0xffff, 8, "3DSTATE_SCISSOR_STATE_POINTERS", "Mesa 8-20") \
  ROW(0x7810, 0xffff, 8, "3DSTATE_VS", "Mesa 8-20") \
  ROW(0x7811, 0xffff, 8, "3DSTATE_GS", "Mesa 8-20") \
  ROW(0x7812, 0xffff, 8, "3DSTATE_CLIP", "Mesa 8-20") \
  ROW(0x7813, 0xffff, 8, "3DSTATE_SF", "Mesa 8-20") \
  ROW(0x7814, 0xffff, 8, "3DSTATE_WM", "Mesa 8-20") \
  ROW(0x7815, 0xffff, 8, "3DSTATE_CONSTANT_VS", "Mesa 8-20") \
  ROW(0x7816, 0xffff, 8, "3DSTATE_CONSTANT_GS", "Mesa 8-20") \
  ROW(0x7817, 0xffff, 8, "3DSTATE_CONSTANT_PS", "Mesa 8-20") \
  ROW(0x7818, 0xffff, 8, "3DSTATE_SAMPLE_MASK", "Mesa 8-20") \
  ROW(0x7819, 0xffff, 8, "3DSTATE_CONSTANT_HS", "Mesa 8-20") \
  ROW(0x781a, 0xffff, 8, "3DSTATE_CONSTANT_DS", "Mesa 8-20") \
  ROW(0x781b, 0xffff, 8, "3DSTATE_HS", "Mesa 8-20") \
  ROW(0x781c, 0xffff, 8, "3DSTATE_TE", "Mesa 8-20") \
  ROW(0x781d, 0xffff, 8, "3DSTATE_DS", "Mesa 8-20") \
  ROW(0x781e, 0xffff, 8, "3DSTATE_STREAMOUT", "Mesa 8-20") \
  ROW(0x781f, 0xffff, 8, "3DSTATE_SBE", "Mesa 8-20") \
  ROW(0x7820, 0xffff, 8, "3DSTATE_PS", "Mesa 8-20") \
  ROW(0x7821, 0xffff, 8, "3DSTATE_VIEWPORT_STATE_POINTERS_SF_CLIP", "Mesa 8-20") \
  ROW(0x7822, 0xffff, 16, "3DSTATE_CPS / 3DSTATE_CPS_POINTERS", "Mesa 11-20") \
  ROW(0x7823, 0xffff, 8, "3DSTATE_VIEWPORT_STATE_POINTERS_CC", "Mesa 8-20") \
  ROW(0x7824, 0xffff, 8, "3DSTATE_BLEND_STATE_POINTERS", "Mesa 8-20") \
  ROW(0x7826, 0xffff, 8, "3DSTATE_BINDING_TABLE_POINTERS_VS", "Mesa 8-20") \
  ROW(0x7827, 0xffff, 8, "3DSTATE_BINDING_TABLE_POINTERS_HS", "Mesa 8-20") \
  ROW(0x7828, 0xffff, 8, "3DSTATE_BINDING_TABLE_POINTERS_DS", "Mesa 8-20") \
  ROW(0x7829, 0xffff, 8, "3DSTATE_BINDING_TABLE_POINTERS_GS", "Mesa 8-20") \
  ROW(0x782a, 0xffff, 8, "3DSTATE_BINDING_TABLE_POINTERS_PS", "Mesa 8-20") \
  ROW(0x782b, 0xffff, 8, "3DSTATE_SAMPLER_STATE_POINTERS_VS", "Mesa 8-20") \
  ROW(0x782c, 0xffff, 8, "3DSTATE_SAMPLER_STATE_POINTERS_HS", "Mesa 8-20") \
  ROW(0x782d, 0xffff, 8, "3DSTATE_SAMPLER_STATE_POINTERS_DS", "Mesa 8-20") \
  ROW(0x782e, 0xffff, 8, "3DSTATE_SAMPLER_STATE_POINTERS_GS", "Mesa 8-20") \
  ROW(0x782f, 0xffff, 8, "3DSTATE_SAMPLER_STATE_POINTERS_PS", "Mesa 8-20") \
  ROW(0x7830, 0xffff, 8, "3DSTATE_URB_VS", "Mesa 8-20") \
  ROW(0x7831, 0xffff, 8, "3DSTATE_URB_HS", "Mesa 8-20") \
  ROW(0x7832, 0xffff, 8, "3DSTATE_URB_DS", "Mesa 8-20") \
  ROW(0x7833, 0xffff, 8, "3DSTATE_URB_GS", "Mesa 8-20") \
  ROW(0x7834, 0xffff, 8, "3DSTATE_GATHER_CONSTANT_VS", "Mesa 8-20") \
  ROW(0x7835, 0xffff, 8, "3DSTATE_GATHER_CONSTANT_GS", "Mesa 8-20") \
  ROW(0x7836, 0xffff, 8, "3DSTATE_GATHER_CONSTANT_HS", "Mesa 8-20") \
  ROW(0x7837, 0xffff, 8, "3DSTATE_GATHER_CONSTANT_DS", "Mesa 8-20") \
  ROW(0x7838, 0xffff, 8, "3DSTATE_GATHER_CONSTANT_PS", "Mesa 8-20") \
  ROW(0x7843, 0xffff, 9, "3DSTATE_BINDING_TABLE_EDIT_VS", "Mesa 8-20") \
  ROW(0x7844, 0xffff, 9, "3DSTATE_BINDING_TABLE_EDIT_GS", "Mesa 8-20") \
  ROW(0x7845, 0xffff, 9, "3DSTATE_BINDING_TABLE_EDIT_HS", "Mesa 8-20") \
  ROW(0x7846, 0xffff, 9, "3DSTATE_BINDING_TABLE_EDIT_DS", "Mesa 8-20") \
  ROW(0x7847, 0xffff, 9, "3DSTATE_BINDING_TABLE_EDIT_PS", "Mesa 8-20") \
  ROW(0x7849, 0xffff, 8, "3DSTATE_VF_INSTANCING", "Mesa 8-20") \
  ROW(0x784a, 0xffff, 8, "3DSTATE_VF_SGVS", "Mesa 8-20") \
  ROW(0x784b, 0xffff, 8, "3DSTATE_VF_TOPOLOGY", "Mesa 8-20") \
  ROW(0x784c, 0xffff, 8, "3DSTATE_WM_CHROMAKEY", "Mesa 8-20") \
  ROW(0x784d, 0xffff, 8, "3DSTATE_PS_BLEND", "Mesa 8-20") \
  ROW(0x784e, 0xffff, 8, "3DSTATE_WM_DEPTH_STENCIL", "Mesa 8-20") \
  ROW(0x784f, 0xffff, 8, "3DSTATE_PS_EXTRA", "Mesa 8-20") \
  ROW(0x7850, 0xffff, 8, "3DSTATE_RASTER", "Mesa 8-20") \
  ROW(0x7851, 0xffff, 8, "3DSTATE_SBE_SWIZ", "Mesa 8-20") \
  ROW(0x7852, 0xffff, 8, "3DSTATE_WM_HZ_OP", "Mesa 8-20") \
  ROW(0x7854, 0xffff, 8, "3DSTATE_RS_CONSTANT_POINTER", "Mesa 9-20") \
  ROW(0x7855, 0xffff, 8, "3DSTATE_VF_COMPONENT_PACKING", "Mesa 9-20") \
  ROW(0x7856, 0xffff, 8, "3DSTATE_VF_SGVS_2", "Mesa 11-20") \
  ROW(0x7857, 0xffff, 8, "3DSTATE_VFG", "Mesa 12.5-20") \
  ROW(0x7858, 0xffff, 8, "3DSTATE_URB_ALLOC_VS", "xe DG2-Xe3p") \
  ROW(0x7859, 0xffff, 8, "3DSTATE_URB_ALLOC_HS", "xe DG2-Xe3p") \
  ROW(0x785a, 0xffff, 8, "3DSTATE_URB_ALLOC_DS", "xe DG2-Xe3p") \
  ROW(0x785b, 0xffff, 8, "3DSTATE_URB_ALLOC_GS", "xe DG2-Xe3p") \
  ROW(0x7860, 0xffff, 8, "3DSTATE_SO_BUFFER_INDEX_0", "Mesa 12-20") \
  ROW(0x7861, 0xffff, 8, "3DSTATE_SO_BUFFER_INDEX_1", "Mesa 12-20") \
  ROW(0x7862, 0xffff, 8, "3DSTATE_SO_BUFFER_INDEX_2", "Mesa 12-20") \
  ROW(0x7863, 0xffff, 8, "3DSTATE_SO_BUFFER_INDEX_3", "Mesa 12-20") \
  ROW(0x786c, 0xffff, 8, "3DSTATE_PRIMITIVE_REPLICATION", "Mesa 12-20") \
  ROW(0x786d, 0xffff, 8, "3DSTATE_CONSTANT_ALL", "Mesa 12-20") \
  ROW(0x786e, 0xffff, 8, "3DSTATE_TBIMR_TILE_PASS_INFO", "Mesa 12.5-20") \
  ROW(0x786f, 0xffff, 8, "3DSTATE_AMFS", "xe DG2-Xe3p") \
  ROW(0x7871, 0xffff, 8, "3DSTATE_DEPTH_BOUNDS", "Mesa 12-20") \
  ROW(0x7872, 0xffff, 8, "3DSTATE_AMFS_TEXTURE_POINTERS", "xe DG2-Xe3p") \
  ROW(0x7873, 0xffff, 8, "3DSTATE_CONSTANT_TS_POINTER", "xe DG2-Xe3p") \
  ROW(0x7877, 0xffff, 8, "3DSTATE_MESH_CONTROL", "Mesa 12.5-20") \
  ROW(0x7878, 0xffff, 8, "3DSTATE_MESH_DISTRIB", "Mesa 12.5-20") \
  ROW(0x7879, 0xffff, 8, "3DSTATE_TASK_REDISTRIB", "Mesa 12.5-20") \
  ROW(0x787a, 0xffff, 8, "3DSTATE_MESH_SHADER", "Mesa 12.5-20") \
  ROW(0x787b, 0xffff, 8, "3DSTATE_MESH_SHADER_DATA", "Mesa 12.5-20") \
  ROW(0x787c, 0xffff, 8, "3DSTATE_TASK_CONTROL", "Mesa 12.5-20") \
  ROW(0x787d, 0xffff, 8, "3DSTATE_TASK_SHADER", "Mesa 12.5-20") \
  ROW(0x787e, 0xffff, 8, "3DSTATE_TASK_SHADER_DATA", "Mesa 12.5-20") \
  ROW(0x787f, 0xffff, 8, "3DSTATE_URB_ALLOC_MESH", "Mesa 12.5-20") \
  ROW(0x7880, 0xffff, 8, "3DSTATE_URB_ALLOC_TASK", "Mesa 12.5-20") \
  ROW(0x7881, 0xffff, 8, "3DSTATE_CLIP_MESH", "Mesa 12.5-20") \
  ROW(0x7882, 0xffff, 8, "3DSTATE_SBE_MESH", "Mesa 12.5-20") \
  ROW(0x7883, 0xffff, 8, "3DSTATE_CPSIZE_CONTROL_BUFFER", "Mesa 12.5-20") \
  ROW(0x7889, 0xffff, 16, "3DSTATE_COARSE_PIXEL", "Mesa 30, xe Xe3-Xe3p") \
  ROW(0x788a, 0xffff, 8, "3DSTATE_MESH_SHADER_DATA_EXT", "xe Xe3p") \
  ROW(0x788b, 0xffff, 8, "3DSTATE_TASK_SHADER_DATA_EXT", "xe Xe3p") \
  ROW(0x788d, 0xffff, 8, "3DSTATE_VIEWPORT_STATE_POINTERS_CC_2", "xe Xe3p") \
  ROW(0x788e, 0xffff, 8, "3DSTATE_CC_STATE_POINTERS_2", "xe Xe3p") \
  ROW(0x788f, 0xffff, 8, "3DSTATE_SCISSOR_STATE_POINTERS_2", "xe Xe3p") \
  ROW(0x78a0, 0xffff, 8, "3DSTATE_BLEND_STATE_POINTERS_2", "xe Xe3p") \
  ROW(0x78a1, 0xffff, 8, "3DSTATE_VIEWPORT_STATE_POINTERS_SF_CLIP_2", "xe Xe3p") \
  ROW(0x7900, 0xffff, 8, "3DSTATE_DRAWING_RECTANGLE", "Mesa 8-20") \
  ROW(0x7901, 0xffff, 8, "3DSTATE_URB_MEMORY", "xe Xe3p") \
  ROW(0x7902, 0xffff, 8, "3DSTATE_SAMPLER_PALETTE_LOAD0", "Mesa 8-20") \
  ROW(0x7904, 0xffff, 8, "3DSTATE_CHROMA_KEY", "Mesa 8-20") \
  ROW(0x7906, 0xffff, 8, "3DSTATE_POLY_STIPPLE_OFFSET", "Mesa 8-20") \
  ROW(0x7907, 0xffff, 8, "3DSTATE_POLY_STIPPLE_PATTERN", "Mesa 8-20") \
  ROW(0x7908, 0xffff, 8, "3DSTATE_LINE_STIPPLE", "Mesa 8-20") \
  ROW(0x790a, 0xffff, 8, "3DSTATE_AA_LINE_PARAMETERS", "Mesa 8-20") \
  ROW(0x790c, 0xffff, 8, "3DSTATE_SAMPLER_PALETTE_LOAD1", "Mesa 8-20") \
  ROW(0x7911, 0xffff, 8, "3DSTATE_MONOFILTER_SIZE", "Mesa 8-20") \
  ROW(0x7912, 0xffff, 8, "3DSTATE_PUSH_CONSTANT_ALLOC_VS", "Mesa 8-20") \
  ROW(0x7913, 0xffff, 8, "3DSTATE_PUSH_CONSTANT_ALLOC_HS", "Mesa 8-20") \
  ROW(0x7914, 0xffff, 8, "3DSTATE_PUSH_CONSTANT_ALLOC_DS", "Mesa 8-20") \
  ROW(0x7915, 0xffff, 8, "3DSTATE_PUSH_CONSTANT_ALLOC_GS", "Mesa 8-20") \
  ROW(0x7916, 0xffff, 8, "3DSTATE_PUSH_CONSTANT_ALLOC_PS", "Mesa 8-20") \
  ROW(0x7917, 0xffff, 9, "3DSTATE_SO_DECL_LIST", "Mesa 8-20") \
  ROW(0x7918, 0xffff, 8, "3DSTATE_SO_BUFFER", "Mesa 8-20") \
  ROW(0x7919, 0xffff, 8, "3DSTATE_BINDING_TABLE_POOL_ALLOC", "Mesa 8-20") \
  ROW(0x791a, 0xffff, 8, "3DSTATE_GATHER_POOL_ALLOC", "Mesa 8-20") \
  ROW(0x791c, 0xffff, 8, "3DSTATE_SAMPLE_PATTERN", "Mesa 8-20") \
  ROW(0x791d, 0xffff, 8, "3DSTATE_URB_CLEAR", "Mesa 9-20") \
  ROW(0x791e, 0xffff, 8, "3DSTATE_3D_MODE", "Mesa 11-20") \
  ROW(0x791f, 0xffff, 8, "3DSTATE_SUBSLICE_HASH_TABLE", "Mesa 12-20") \
  ROW(0x7920, 0xffff, 8, "3DSTATE_SLICE_TABLE_STATE_POINTERS", "Mesa 11-20") \
  ROW(0x7922, 0xffff, 8, "3DSTATE_PTBR_TILE_PASS_INFO", "xe DG2-Xe3p") \
  ROW(0x79a0, 0xffff, 8, "3DSTATE_SLICE_TABLE_STATE_POINTER_2", "xe Xe3p") \
  ROW(0x7a00, 0xffff, 8, "PIPE_CONTROL", "Mesa 8-20") \
  ROW(0x7b00, 0xffff, 8, "3DPRIMITIVE / 3DPRIMITIVE_EXTENDED", "Mesa 8-20") \
  ROW(0x7b01, 0xffff, 8, "3DMESH_1D", "Mesa 12.5-20") \
  ROW(0x7b02, 0xffff, 8, "3DMESH_3D", "Mesa 12.5-20") \
  ROW(0x7c00, 0xffff, 8, "EXECUTE_INDIRECT_DRAW", "Mesa 12.5-20") \
  ROW(0x7c01, 0xffff, 8, "EXECUTE_INDIRECT_DISPATCH", "Mesa 12.5-20") \
  ROW(0x7d80, 0xff80, 8, "L3_CONTROL", "NEO Gen12") \
  ROW(0xac00, 0xfc00, 8, "RESOURCE_BARRIER", "Mesa 20, NEO Xe2-Xe3p")
/* clang-format on */

/* ROW(opcode, dwords, bits, is_shader, start, start, start, source): where a command holds addresses of kernels.
 *
 * `dwords`: length of the command. A command of this table with another length ends the scan.
 * `start`: index of the dword in which an address begins, at bit 6. 0: no further address.
 * `bits`: length of an address: 26 bits end in the same dword, 58 in the next one.
 * `is_shader`: 1: the address 0 means that the shader is off. */
/* clang-format off */
#define GPUPROF_GPU_KERNELS(ROW) \
  ROW(0x7208, 39, 26, 0, 18, 0, 0, "COMPUTE_WALKER: Mesa 12.5, NEO DG2 and PVC") \
  ROW(0x7208, 40, 26, 0, 19, 0, 0, "COMPUTE_WALKER: Mesa 20-30, NEO Xe2 and Xe3") \
  ROW(0x7220, 64, 58, 0, 19, 0, 0, "COMPUTE_WALKER_2: NEO Xe3p") \
  ROW(0x7c01, 44, 26, 0, 23, 0, 0, "EXECUTE_INDIRECT_DISPATCH: Mesa 12.5") \
  ROW(0x7c01, 45, 26, 0, 24, 0, 0, "EXECUTE_INDIRECT_DISPATCH: Mesa 20-30") \
  ROW(0x7810, 9, 58, 1, 1, 0, 0, "3DSTATE_VS: Mesa 8-30") \
  ROW(0x7811, 10, 58, 1, 1, 0, 0, "3DSTATE_GS: Mesa 8-30") \
  ROW(0x781b, 9, 58, 1, 3, 0, 0, "3DSTATE_HS: Mesa 8-12.5") \
  ROW(0x781b, 8, 58, 1, 3, 0, 0, "3DSTATE_HS: Mesa 20-30") \
  ROW(0x781d, 9, 58, 1, 1, 0, 0, "3DSTATE_DS: Mesa 8") \
  ROW(0x781d, 11, 58, 1, 1, 9, 0, "3DSTATE_DS: Mesa 9-30, the second is for two patches at once") \
  ROW(0x7820, 12, 58, 1, 1, 8, 10, "3DSTATE_PS: Mesa 8-12.5, one for each SIMD width; Mesa 20-30 has the first two") \
  ROW(0x787a, 8, 58, 1, 1, 0, 0, "3DSTATE_MESH_SHADER: Mesa 12.5-30") \
  ROW(0x787d, 7, 58, 1, 1, 0, 0, "3DSTATE_TASK_SHADER: Mesa 12.5-30")
/* clang-format on */

#endif /* GPUPROF_WIRE_GPU_COMMANDS_H */
