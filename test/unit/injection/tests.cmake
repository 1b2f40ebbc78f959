# The common code of the injection libraries runs in child processes of the test. The OpenCL layer runs in real
# programs, if an OpenCL driver is installed.
gpuprof_unit_test(injection LINK gpuprof_inject_runtime_checked gpuprof_base Threads::Threads)

if(TARGET gpuprof_inject_opencl AND TARGET example_opencl)
  foreach(program opencl_semantics opencl_threads opencl_calls opencl_exit opencl_unfinished)
    add_executable(${program} ${CMAKE_CURRENT_SOURCE_DIR}/injection/opencl/${program}.cpp)
    target_include_directories(${program} SYSTEM PRIVATE ${GPUPROF_OPENCL_INCLUDE})
    target_link_libraries(${program} PRIVATE ${GPUPROF_OPENCL_LIBRARY} Threads::Threads)
  endforeach()
  add_executable(opencl_loads ${CMAKE_CURRENT_SOURCE_DIR}/injection/opencl/opencl_loads.cpp)
  target_include_directories(opencl_loads SYSTEM PRIVATE ${GPUPROF_OPENCL_INCLUDE})
  target_link_libraries(opencl_loads PRIVATE ${CMAKE_DL_LIBS})
  add_library(opencl_extension_layer MODULE ${CMAKE_CURRENT_SOURCE_DIR}/injection/opencl/extension_layer.cpp)
  target_include_directories(opencl_extension_layer SYSTEM PRIVATE ${GPUPROF_OPENCL_INCLUDE})
  # Tail calls are off, so that each function has a frame on the stack.
  foreach(program opencl_calls opencl_exit)
    target_compile_options(${program} PRIVATE -O1 -g -fno-optimize-sibling-calls)
  endforeach()
  target_compile_definitions(unit_injection PRIVATE
    GPUPROF_TEST_EXTENSIONS="$<TARGET_FILE:opencl_extension_layer>"
    GPUPROF_TEST_LAYER="$<TARGET_FILE:gpuprof_inject_opencl>"
    GPUPROF_TEST_EXAMPLE="$<TARGET_FILE:example_opencl>"
    GPUPROF_TEST_SEMANTICS="$<TARGET_FILE:opencl_semantics>"
    GPUPROF_TEST_THREADS="$<TARGET_FILE:opencl_threads>"
    GPUPROF_TEST_CALLS="$<TARGET_FILE:opencl_calls>")
  add_dependencies(unit_injection gpuprof_inject_opencl example_opencl opencl_semantics opencl_threads opencl_calls
                   opencl_extension_layer)
else()
  set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/injection/opencl/layer_test.cpp
                              ${CMAKE_CURRENT_SOURCE_DIR}/injection/opencl/opencl_calls_test.cpp
                              PROPERTIES HEADER_FILE_ONLY ON)
endif()

target_sources(unit_injection PRIVATE ${PROJECT_SOURCE_DIR}/injection/cupti/calls.cpp
                                     ${PROJECT_SOURCE_DIR}/injection/cupti/cubin.cpp
                                     ${PROJECT_SOURCE_DIR}/injection/cupti/probes/block_summary.cpp
                                     ${PROJECT_SOURCE_DIR}/injection/cupti/probes/fat_binary.cpp
                                     ${PROJECT_SOURCE_DIR}/injection/cupti/probes/lz4_block.cpp
                                     ${PROJECT_SOURCE_DIR}/injection/cupti/probes/ptx_lexer.cpp
                                     ${PROJECT_SOURCE_DIR}/injection/cupti/probes/ptx_module.cpp
                                     ${PROJECT_SOURCE_DIR}/injection/cupti/probes/ptx_probes.cpp
                                     ${PROJECT_SOURCE_DIR}/injection/cupti/sampling/sampling_texts.cpp
                                     ${PROJECT_SOURCE_DIR}/injection/cupti/windows/passed_launches.cpp
                                     ${PROJECT_SOURCE_DIR}/injection/cupti/windows/unfinished_launches.cpp)

target_link_libraries(unit_injection PRIVATE ${GPUPROF_LIB_zstd})

if(GPUPROF_LEVEL_ZERO_INCLUDE)
  target_include_directories(unit_injection SYSTEM PRIVATE ${GPUPROF_LEVEL_ZERO_INCLUDE})
  target_sources(unit_injection PRIVATE ${PROJECT_SOURCE_DIR}/injection/level_zero/stalls/stall_stream.cpp
                                       ${PROJECT_SOURCE_DIR}/injection/level_zero/stalls/stall_values.cpp)
else()
  set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/injection/level_zero_stalls_test.cpp
                              PROPERTIES HEADER_FILE_ONLY ON)
endif()

# The test walks stacks without frame pointers, and with libraries that replace each other.
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/injection/native_walk_test.cpp
                            PROPERTIES COMPILE_OPTIONS "-O3;-fomit-frame-pointer;-fno-optimize-sibling-calls")
foreach(size SMALL LARGE)
  string(TOLOWER test_frames_${size} library)
  add_library(${library} MODULE ${CMAKE_CURRENT_SOURCE_DIR}/injection/frames_library.cpp)
  target_compile_options(${library} PRIVATE -O2 -fomit-frame-pointer -fno-stack-protector)
  target_compile_definitions(${library} PRIVATE GPUPROF_TEST_FRAME_BYTES=$<IF:$<STREQUAL:${size},SMALL>,72,104>)
  target_compile_definitions(unit_injection PRIVATE GPUPROF_TEST_FRAMES_${size}="$<TARGET_FILE:${library}>")
  add_dependencies(unit_injection ${library})
endforeach()
