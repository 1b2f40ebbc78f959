# Writes OUTPUT, a C++ source with the git commit of the tree SOURCE, and ", dirty" if files differ from it. The
# commit is empty if SOURCE is not a git checkout (a tarball). Rewrites OUTPUT only if it changes.
set(commit "")
find_program(git git)
# A tarball unpacked inside another checkout must not get that checkout's commit.
if(git AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${git} -C ${SOURCE} rev-parse --short=12 HEAD
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${git} -C ${SOURCE} status --porcelain --untracked-files=no
                  OUTPUT_VARIABLE changed ERROR_QUIET)
  if(commit AND changed)
    string(APPEND commit ", dirty")
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "base/version.h"

namespace gpuprof {

std::string_view commit() {
  return "@commit@";
}

}  // namespace gpuprof
]])
