gpuprof_unit_test(record LINK gpuprof_record gpuprof_inject_runtime_checked)
# The BPF engine's test looks up this program's functions by symbol and walks through their frames.
target_compile_options(unit_record PRIVATE -fno-omit-frame-pointer -fno-optimize-sibling-calls)
# The table walk is tested on frames without frame pointers.
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/bpf/bpf_stacks_test.cpp
                            ${CMAKE_CURRENT_LIST_DIR}/bpf/bpf_python_test.cpp PROPERTIES COMPILE_OPTIONS "-fomit-frame-pointer")
