# gpuprof_embed(TARGET name FILE path SYMBOL symbol) makes a library that contains the file's bytes, from SYMBOL_begin
# to SYMBOL_end. The assembler's .incbin reads the file. The path must not contain generator expressions.
enable_language(ASM)
function(gpuprof_embed target)
  cmake_parse_arguments(ARG "" "FILE;SYMBOL" "DEPENDS" ${ARGN})
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${target}.S)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[
    .section .rodata
    .global @ARG_SYMBOL@_begin
    .global @ARG_SYMBOL@_end
    .balign 64
@ARG_SYMBOL@_begin:
    .incbin "@ARG_FILE@"
@ARG_SYMBOL@_end:
    .byte 0
    .section .note.GNU-stack,"",%progbits
]])
  add_library(${target} STATIC ${source})
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${ARG_FILE};${ARG_DEPENDS}")
  if(ARG_DEPENDS)
    add_dependencies(${target} ${ARG_DEPENDS})
  endif()
endfunction()
