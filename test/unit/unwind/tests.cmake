enable_language(ASM)
gpuprof_unit_test(unwind LINK gpuprof_unwind)
target_sources(unit_unwind PRIVATE
  ${CMAKE_CURRENT_SOURCE_DIR}/unwind/snippets_${GPUPROF_PROCESSOR}.S
  ${CMAKE_CURRENT_SOURCE_DIR}/unwind/snippets_debug_${GPUPROF_PROCESSOR}.S)
target_include_directories(unit_unwind PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unwind)
