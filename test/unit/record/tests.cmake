gpuprof_unit_test(record LINK gpuprof_record gpuprof_inject_runtime_checked)
# The test of the BPF engine finds functions of this program by symbol, and walks through their frames.
target_compile_options(unit_record PRIVATE -fno-omit-frame-pointer -fno-optimize-sibling-calls)
# The test walks with unwind tables through frames that have no frame pointers.
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/bpf/bpf_stacks_test.cpp
                            ${CMAKE_CURRENT_LIST_DIR}/bpf/bpf_python_test.cpp PROPERTIES COMPILE_OPTIONS "-fomit-frame-pointer")
