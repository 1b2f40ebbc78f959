# bash completion, printed by "gpuprof completion bash". gpuprof itself computes the candidates.
_gpuprof() {
  local word kept words=() lines=()
  # bash splits "--option=value" into three words. Join them.
  for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
    if [[ ${#words[@]} -gt 0 && ${words[-1]} == --* && ($word == "=" || ${words[-1]} == *=) ]]; then
      words[-1]+=$word
    else
      words+=("$word")
    fi
  done
  mapfile -t lines < <("${COMP_WORDS[0]/#\~/$HOME}" __complete -- "${words[@]}" 2>/dev/null)
  kept=${lines[1]} word=${words[-1]#"$kept"}
  COMPREPLY=()
  case ${lines[0]} in
    words) COMPREPLY=("${lines[@]:2}") && COMPREPLY=("${COMPREPLY[@]%%$'\t'*}") ;;
    files) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    folders) mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
    users) mapfile -t COMPREPLY < <(compgen -u -- "$word") ;;
    processes) mapfile -t COMPREPLY < <(compgen -W "$(cd /proc && echo [0-9]*)" -- "$word") ;;
    command)
      local at=1
      while [[ ${COMP_WORDS[at]} != -- ]]; do ((at++)); done
      if declare -F _command_offset >/dev/null; then
        _command_offset $((at + 1))
      else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
      fi
      return
      ;;
  esac
  if [[ ${#COMPREPLY[@]} -gt 0 ]]; then COMPREPLY=("${COMPREPLY[@]/#/${kept#*=}}"); fi
}

complete -o filenames -F _gpuprof gpuprof
