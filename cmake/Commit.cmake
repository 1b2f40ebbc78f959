# Writes OUTPUT, a C++ source with the commit of the tree SOURCE: empty where SOURCE is no git checkout (a tarball), with
# ", dirty" where files differ from it. OUTPUT is touched only when that changes.
set(commit "")
find_program(git git)
# A tarball that lies in somebody's checkout has not its commit.
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
