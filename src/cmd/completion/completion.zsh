#compdef gpuprof
# zsh completion, printed by "gpuprof completion zsh". gpuprof itself computes the candidates.
_gpuprof() {
  local -a lines found
  lines=("${(@f)$(${(Q)~words[1]} __complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  compset -P "${(b)lines[2]}"
  case $lines[1] in
    words)
      found=("${(@)lines[3,-1]//:/\\:}")
      found=("${(@)found/$'\t'/:}")
      _describe -t words gpuprof found
      ;;
    files) _files ;;
    folders) _files -/ ;;
    users) _users ;;
    processes) _pids ;;
    command)
      local at=${words[(i)--]}
      shift $at words
      ((CURRENT -= at))
      _normal
      ;;
  esac
}

# If autoloaded by name, complete now. If sourced, register the function.
if [[ $funcstack[1] == _gpuprof ]]; then _gpuprof "$@"; else compdef _gpuprof gpuprof; fi
