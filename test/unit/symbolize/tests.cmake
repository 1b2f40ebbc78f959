# Builds small shared objects and programs from one source, with every file layout that symbolization must handle.
set(_fixtures ${CMAKE_CURRENT_SOURCE_DIR}/symbolize/fixtures)
set(_fixture_dir ${CMAKE_CURRENT_BINARY_DIR}/symbolize_fixtures)
file(MAKE_DIRECTORY ${_fixture_dir})
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=lld GPUPROF_HAS_LLD)
check_linker_flag(CXX -fuse-ld=gold GPUPROF_HAS_GOLD)
if(CMAKE_CROSSCOMPILING)
  set(_clang_target --target=${CMAKE_LIBRARY_ARCHITECTURE} --sysroot=${CMAKE_SYSROOT} -fuse-ld=${CMAKE_LINKER})
endif()

function(_symbolize_library name)
  add_library(${name} SHARED ${_fixtures}/chain.cpp)
  set_target_properties(${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${_fixture_dir})
  target_compile_options(${name} PRIVATE -O2 -g -fno-omit-frame-pointer)
  target_link_options(${name} PRIVATE ${ARGN})
  add_dependencies(symbolize_fixtures ${name})
endfunction()

# Strips NAME.so, and writes its symbols and DWARF to NAME.debug.
function(_symbolize_split name)
  set(debug ${_fixture_dir}/${name}.debug)
  add_custom_command(TARGET ${name} POST_BUILD
    COMMAND ${CMAKE_OBJCOPY} --only-keep-debug $<TARGET_FILE:${name}> ${debug}
    COMMAND ${CMAKE_OBJCOPY} --strip-all ${ARGN} $<TARGET_FILE:${name}>)
endfunction()

add_custom_target(symbolize_fixtures)
_symbolize_library(chain_full)
_symbolize_library(chain_noseparate -Wl,-z,noseparate-code)
_symbolize_library(chain_stripped)
_symbolize_split(chain_stripped)
_symbolize_library(chain_link -Wl,--build-id=none)
_symbolize_split(chain_link --add-gnu-debuglink=${_fixture_dir}/chain_link.debug)
file(WRITE ${_fixture_dir}/empty "")
_symbolize_library(chain_empty_link -Wl,--build-id=none)
_symbolize_split(chain_empty_link --add-section=.gnu_debuglink=${_fixture_dir}/empty)
_symbolize_library(chain_id -Wl,--build-id=sha1)
_symbolize_split(chain_id)
find_program(GPUPROF_XZ xz)
if(GPUPROF_XZ)
  # Mini debug info is a compressed symbol table in a section of the stripped file.
  _symbolize_library(chain_mini)
  set(_mini ${_fixture_dir}/chain_mini.symbols)
  add_custom_command(TARGET chain_mini POST_BUILD
    COMMAND ${CMAKE_OBJCOPY} --strip-debug $<TARGET_FILE:chain_mini> ${_mini}
    COMMAND ${GPUPROF_XZ} --force --keep ${_mini}
    COMMAND ${CMAKE_OBJCOPY} --strip-all --add-section .gnu_debugdata=${_mini}.xz $<TARGET_FILE:chain_mini>)
endif()
if(GPUPROF_HAS_LLD)
  _symbolize_library(chain_lld -fuse-ld=lld)
endif()
if(GPUPROF_HAS_GOLD)
  _symbolize_library(chain_gold -fuse-ld=gold)
endif()
if(GPUPROF_CLANG)
  # The DWARF of clang differs from that of gcc: version 5, no .debug_aranges, and functions inside their namespaces.
  add_custom_command(OUTPUT ${_fixture_dir}/chain_clang.so
    COMMAND ${GPUPROF_CLANG} ${_clang_target} -x c++ -std=c++20 -O2 -gdwarf-5 -fno-omit-frame-pointer -fPIC -shared -nostdlib++
            -o ${_fixture_dir}/chain_clang.so ${_fixtures}/chain.cpp
    DEPENDS ${_fixtures}/chain.cpp)
  add_custom_target(chain_clang DEPENDS ${_fixture_dir}/chain_clang.so)
  add_dependencies(symbolize_fixtures chain_clang)
endif()

# The test builds zebins from these objects, which have a section for each function.
foreach(kind dwarf4 dwarf5 bare)
  set(_object ${_fixture_dir}/kernels_${kind}.o)
  set(_debug -g0)
  if(NOT kind STREQUAL "bare")
    string(REPLACE dwarf -gdwarf- _debug ${kind})
  endif()
  add_custom_command(OUTPUT ${_object}
    COMMAND ${CMAKE_C_COMPILER} -c -O1 ${_debug} -ffunction-sections -fno-asynchronous-unwind-tables
            -o ${_object} ${_fixtures}/kernels.c
    DEPENDS ${_fixtures}/kernels.c)
  add_custom_target(zebin_${kind} DEPENDS ${_object})
  add_dependencies(symbolize_fixtures zebin_${kind})
endforeach()

foreach(kind pie nopie)
  add_executable(symbolize_child_${kind} ${_fixtures}/child.cpp)
  set_target_properties(symbolize_child_${kind} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${_fixture_dir} POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(symbolize_child_${kind} PRIVATE -O2 -g)
  target_link_libraries(symbolize_child_${kind} PRIVATE ${CMAKE_DL_LIBS})
  add_dependencies(symbolize_fixtures symbolize_child_${kind})
endforeach()
target_compile_options(symbolize_child_pie PRIVATE -fPIE)
target_link_options(symbolize_child_pie PRIVATE -pie)
target_compile_options(symbolize_child_nopie PRIVATE -fno-pie)
target_link_options(symbolize_child_nopie PRIVATE -no-pie)

gpuprof_unit_test(symbolize LINK gpuprof_symbolize)
target_compile_definitions(unit_symbolize PRIVATE
  FIXTURE_DIR="${_fixture_dir}" FIXTURE_SOURCES="${_fixtures}")
add_dependencies(unit_symbolize symbolize_fixtures)
