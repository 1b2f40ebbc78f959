# Writes OUTPUT, a C++ source with the git commit of the tree SOURCE. If files differ from the commit, ", dirty"
# follows. If SOURCE is not a git checkout but a tarball, the commit is empty. Changes OUTPUT only if its content
# changes.
set(commit "")
find_program(git git)
# If a tarball was unpacked inside another checkout, it must not get the commit of that checkout.
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
