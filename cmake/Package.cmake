# cpack --config build-release/CPackConfig.cmake makes a Debian package, and a tarball that runs from any folder. If
# SOURCE_DATE_EPOCH is set, the same commit always gives the same bytes.
set(CPACK_GENERATOR "DEB;TGZ")
set(CPACK_PACKAGE_NAME gpuprof)
set(CPACK_PACKAGE_CONTACT "gpuprof developers <gpuprof@users.noreply.github.com>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "record/report profiler for GPU programs")
set(CPACK_PACKAGE_DESCRIPTION
"gpuprof shows which code path, native and Python, down to the line, is
responsible for which GPU time: of CUDA, OpenCL and Level Zero programs as
they are, and of the jobs of kernel drivers. It records like perf, and draws
flame graphs, tables and comparisons.")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_FILE_NAME gpuprof-${PROJECT_VERSION}-linux-${GPUPROF_PROCESSOR})
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/PackageGenerator.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/PackageFiles.cmake)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_GPUPROF_SOURCE ${PROJECT_SOURCE_DIR})

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
if(GPUPROF_PROCESSOR STREQUAL aarch64)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)  # cpack would name the architecture of the machine that cross-compiles
endif()
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
find_program(GPUPROF_SHLIBDEPS dpkg-shlibdeps)
if(GPUPROF_SHLIBDEPS AND NOT CMAKE_CROSSCOMPILING)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
else()
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.36)")  # libc of Debian 12, on which the package is built
endif()
include(CPack)
