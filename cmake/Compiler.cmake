# One interface target carries our warnings and sanitizers; every target of ours links it.
add_library(gpuprof_compiler INTERFACE)
target_compile_options(gpuprof_compiler INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  $<$<BOOL:${GPUPROF_WERROR}>:-Werror>
  -fno-omit-frame-pointer)
# Lines and inlined functions are what stack traces need; variables cost a third of the time to compile, and Debug has them.
target_compile_options(gpuprof_compiler INTERFACE $<$<CONFIG:RelWithDebInfo>:-g1>)
# At -O3 gcc 12 sees overlapping copies in every `"text" + std::string` (its bug 105329, gone in 13).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(gpuprof_compiler INTERFACE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-Wno-restrict>)
endif()
# What is released says nothing of the folder that it was built in, so that another folder gives the same bytes.
set(GPUPROF_PREFIX_MAP -ffile-prefix-map=${PROJECT_SOURCE_DIR}/= -ffile-prefix-map=${PROJECT_BINARY_DIR}/=)
target_compile_options(gpuprof_compiler INTERFACE $<$<CONFIG:Release>:${GPUPROF_PREFIX_MAP}>)
target_include_directories(gpuprof_compiler INTERFACE ${PROJECT_SOURCE_DIR}/src)
if(GPUPROF_SANITIZE)
  # gcc warns about std::function and std::regex when they are instrumented.
  target_compile_options(gpuprof_compiler INTERFACE -fsanitize=${GPUPROF_SANITIZE} -fno-sanitize-recover=all
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(gpuprof_compiler INTERFACE -fsanitize=${GPUPROF_SANITIZE})
endif()

# gpuprof_compile_in_groups(target): headers take most of the time to compile, and a group of sources reads them once.
# So names in the anonymous namespaces of one target must differ. Sources with options of their own stay alone.
function(gpuprof_compile_in_groups target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${GPUPROF_UNITY} UNITY_BUILD_BATCH_SIZE 12)
  if(GPUPROF_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)  # takes a source of a group for a header
  endif()
endfunction()

# gpuprof_library(room SOURCES ... LINK ...): a static library of one folder of src/. What it links is what it may
# include: the link lines are the dependency graph.
function(gpuprof_library room)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(gpuprof_${room} STATIC ${ARG_SOURCES})
  target_link_libraries(gpuprof_${room} PUBLIC gpuprof_compiler ${ARG_LINK})
  gpuprof_compile_in_groups(gpuprof_${room})
  if(GPUPROF_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # gcc inlines less in a file of more than 10000 instructions: a group of twelve may grow as each of them might alone.
    target_compile_options(gpuprof_${room} PRIVATE --param=large-unit-insns=120000)
  endif()
endfunction()
