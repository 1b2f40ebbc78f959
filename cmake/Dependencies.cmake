# All dependencies are packages of the distribution. Static archives are preferred, so that the binary also runs on
# machines without these packages.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json 3.11 QUIET)
if(NOT nlohmann_json_FOUND)
  message(FATAL_ERROR "nlohmann-json 3.11 not found (package nlohmann-json3-dev): run ./setup.sh deps, which installs the packages")
endif()

if(GPUPROF_STATIC)
  set(_gpuprof_suffixes ${CMAKE_FIND_LIBRARY_SUFFIXES})
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
endif()
foreach(lib bpf dw elf z lzma bz2 zstd iberty sqlite3 re2)
  find_library(GPUPROF_LIB_${lib} ${lib})
endforeach()
if(GPUPROF_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES ${_gpuprof_suffixes})
endif()
foreach(lib bpf dw elf z zstd iberty sqlite3 re2)
  if(NOT GPUPROF_LIB_${lib})
    message(FATAL_ERROR "lib${lib} not found: run ./setup.sh deps, which installs the packages")
  endif()
endforeach()

add_library(gpuprof_elfutils INTERFACE)
target_link_libraries(gpuprof_elfutils INTERFACE ${GPUPROF_LIB_dw} ${GPUPROF_LIB_elf} ${GPUPROF_LIB_z})
target_link_libraries(gpuprof_elfutils INTERFACE ${GPUPROF_LIB_zstd})
foreach(lib lzma bz2)
  if(GPUPROF_LIB_${lib})
    target_link_libraries(gpuprof_elfutils INTERFACE ${GPUPROF_LIB_${lib}})
  endif()
endforeach()
target_link_libraries(gpuprof_elfutils INTERFACE ${CMAKE_DL_LIBS} Threads::Threads)

add_library(gpuprof_libbpf INTERFACE)
target_link_libraries(gpuprof_libbpf INTERFACE ${GPUPROF_LIB_bpf} ${GPUPROF_LIB_elf} ${GPUPROF_LIB_z} ${GPUPROF_LIB_zstd})

add_library(gpuprof_demangle INTERFACE)
target_link_libraries(gpuprof_demangle INTERFACE ${GPUPROF_LIB_iberty})

find_program(GPUPROF_CLANG NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14)
find_program(GPUPROF_BPFTOOL NAMES bpftool PATHS /usr/sbin /usr/lib/linux-tools)

# Headers of vendors. Without the headers of OpenCL or Level Zero, the build leaves out that backend (see
# Summary.cmake). CUDA's headers are needed only for mocks, and to compare gpuprof's own declarations
# (injection/cupti/api) with them.
find_path(GPUPROF_OPENCL_INCLUDE CL/cl_layer.h)
find_library(GPUPROF_OPENCL_LIBRARY OpenCL)
find_path(GPUPROF_CUDA_INCLUDE cuda.h
  PATHS ${CUDAToolkit_ROOT} $ENV{CUDA_HOME} /usr/local/cuda PATH_SUFFIXES include targets/x86_64-linux/include targets/sbsa-linux/include targets/aarch64-linux/include
  NO_CMAKE_FIND_ROOT_PATH)  # a cross build uses the headers of this machine, which do not depend on the processor
find_path(GPUPROF_CUPTI_INCLUDE cupti.h
  PATHS ${GPUPROF_CUDA_INCLUDE} ${GPUPROF_CUDA_INCLUDE}/.. PATH_SUFFIXES . include extras/CUPTI/include NO_CMAKE_FIND_ROOT_PATH)
if(NOT CMAKE_CROSSCOMPILING)  # nvcc compiles for this machine's processor
  find_program(GPUPROF_NVCC nvcc PATHS /usr/local/cuda/bin)
endif()
find_path(GPUPROF_LEVEL_ZERO_INCLUDE level_zero/ze_api.h)
find_library(GPUPROF_LEVEL_ZERO_LIBRARY ze_loader)  # only for the tests
