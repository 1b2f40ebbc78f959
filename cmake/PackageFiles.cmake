# Changes the installed files as Debian's packaging policy requires. cpack runs this before it makes the package.
if(NOT CPACK_GENERATOR STREQUAL DEB)
  return()
endif()
set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share)

function(compress file)
  execute_process(COMMAND gzip -9n ${file} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "gzip ${file} failed")
  endif()
endfunction()

file(GLOB pages ${share}/man/man1/*.1)
foreach(page ${pages})
  compress(${page})
endforeach()

# Debian's zsh searches only this folder.
file(RENAME ${share}/zsh/site-functions ${share}/zsh/vendor-completions)

file(READ ${share}/doc/gpuprof/LICENSE license)
file(READ ${share}/doc/gpuprof/THIRD-PARTY-NOTICES notices)
file(WRITE ${share}/doc/gpuprof/copyright
  "gpuprof: Copyright the gpuprof developers\n\n"
  "On Debian systems the Apache License 2.0 is in /usr/share/common-licenses/Apache-2.0.\n\n${license}\n${notices}")
file(REMOVE ${share}/doc/gpuprof/LICENSE ${share}/doc/gpuprof/THIRD-PARTY-NOTICES)
file(COPY ${CPACK_GPUPROF_SOURCE}/CHANGELOG.md DESTINATION ${share}/doc/gpuprof)
file(RENAME ${share}/doc/gpuprof/CHANGELOG.md ${share}/doc/gpuprof/changelog)
compress(${share}/doc/gpuprof/changelog)
file(GLOB_RECURSE written LIST_DIRECTORIES true ${share}/*)
foreach(path ${written})
  if(IS_DIRECTORY ${path})
    file(CHMOD ${path} DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  else()
    file(CHMOD ${path} FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  endif()
endforeach()
