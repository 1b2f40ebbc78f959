# The warning and sanitizer options of all gpuprof targets.
add_library(gpuprof_compiler INTERFACE)
target_compile_options(gpuprof_compiler INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  $<$<BOOL:${GPUPROF_WERROR}>:-Werror>
  -fno-omit-frame-pointer)
# With -g1, stack traces have lines and inlined functions. -g would also add variables, which takes a third of the
# compile time.
target_compile_options(gpuprof_compiler INTERFACE $<$<CONFIG:RelWithDebInfo>:-g1>)
# At -O3, gcc 12 wrongly warns of overlapping copies in `"text" + std::string` (gcc bug 105329, fixed in 13).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(gpuprof_compiler INTERFACE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-Wno-restrict>)
  if(GPUPROF_PROCESSOR STREQUAL aarch64)
    # For aarch64, it also wrongly warns that fmt writes before its buffer of digits.
    target_compile_options(gpuprof_compiler INTERFACE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-Wno-array-bounds>)
  endif()
endif()
# A release does not contain the path of its build folder, so that builds in different folders have the same bytes.
set(GPUPROF_PREFIX_MAP -ffile-prefix-map=${PROJECT_SOURCE_DIR}/= -ffile-prefix-map=${PROJECT_BINARY_DIR}/=)
target_compile_options(gpuprof_compiler INTERFACE $<$<CONFIG:Release>:${GPUPROF_PREFIX_MAP}>)
target_include_directories(gpuprof_compiler INTERFACE ${PROJECT_SOURCE_DIR}/src)
if(GPUPROF_SANITIZE)
  # In sanitizer builds, gcc wrongly warns that std::function and std::regex use uninitialized variables.
  target_compile_options(gpuprof_compiler INTERFACE -fsanitize=${GPUPROF_SANITIZE} -fno-sanitize-recover=all
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(gpuprof_compiler INTERFACE -fsanitize=${GPUPROF_SANITIZE})
endif()

# gpuprof_compile_in_groups(target) compiles up to twelve sources as one. Each header is then read once, which saves
# most of the build time. The sources must not use the same names in anonymous namespaces. A source that has its own
# compiler options is compiled alone.
function(gpuprof_compile_in_groups target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${GPUPROF_UNITY} UNITY_BUILD_BATCH_SIZE 12)
  if(GPUPROF_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # -Wsubobject-linkage would be wrong, because gcc takes a source in a group for a header. In a translation unit of
    # more than 10000 instructions, gcc inlines less. A group has up to twelve sources, so its limit is twelve times
    # as high.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage --param=large-unit-insns=120000)
  endif()
endfunction()

# gpuprof_library(folder SOURCES ... LINK ...) makes a static library of one folder of src/. Its sources may include
# only headers of the libraries after LINK. So the LINK lists are the dependency graph.
function(gpuprof_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(gpuprof_${folder} STATIC ${ARG_SOURCES})
  target_link_libraries(gpuprof_${folder} PUBLIC gpuprof_compiler ${ARG_LINK})
  gpuprof_compile_in_groups(gpuprof_${folder})
endfunction()
