# bash completion for gpuprof: source it, or install it as /usr/share/bash-completion/completions/gpuprof

_gpuprof() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} i
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 ]]; then
    mapfile -t COMPREPLY < <(compgen -W "record flame report annotate diff check latency export merge import dump doctor help version --help --version" -- "$current")
    return
  fi
  if [[ $command == record || $command == check ]]; then
    for ((i = 2; i < COMP_CWORD; i++)); do
      if [[ ${COMP_WORDS[i]} == -- ]]; then  # the target's own completion from here on
        _command_offset $((i + 1)) 2>/dev/null
        return
      fi
    done
  fi
  local words="" shown="--root --trim-to --from-start --no-lines --python --only --hide --collapse-recursion"
  case $previous in
    --stacks) words="auto inproc bpf fp none" ;;
    --backend) words="cupti level_zero opencl drm" ;;
    --wait) words="all main" ;;
    --unit) words="us ns" ;;
    --weight) words="sum time busy exclusive idle count bytes wait alloc" ;;
    --by) words="pid tid thread device stream rank host command range" ;;
    --sort) words="time calls avg max" ;;
    --leaf) words="kernel function line instruction offset stall line,stall stall,line" ;;
    --graph) words="both launch capture" ;;
    --graphs) words="nodes whole" ;;
    --nvtx) words="frames filter off" ;;
    --unsampled) words="spread show" ;;
    --python) words="frames native off" ;;
    --format) words="pprof speedscope folded json csv sqlite perfetto chrome" ;;
    --user) mapfile -t COMPREPLY < <(compgen -u -- "$current"); return ;;
    -p | --pid) mapfile -t COMPREPLY < <(compgen -W "$(cd /proc && echo [0-9]*)" -- "$current"); return ;;
    -o | --output | -i | --input | --svg | --time-series) mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
  esac
  if [[ -z $words ]]; then
    case $command in
      record)
        words="-o --output -p --pid --user --preserve-env --backend --stacks --interval --wait --timeline --latency --pc-sampling --pc-sampling=exact --stalls --sampling-period --sample-every --sass-metrics --kernel --graphs --nvtx-range
          --max-overhead --min-coverage --delay --duration --start-paused --commit -q -v --help --help-all --"
        ;;
      flame)
        words="-i --input -o --output --svg --time-series --from --to --title --weight --unit --lines --leaf --by --graph --nvtx --nvtx-range --unsampled
          --min-coverage $shown --lenient -q -v --help --help-all"
        ;;
      report) words="-i --input --from --to --sort --by --kernel --path --full --top --width --explain --json --min-coverage $shown --lenient -q -v --help --help-all" ;;
      annotate) words="-i --input --from --to --gpu --kernel --limit --lenient -q -v --help --help-all" ;;
      diff)
        words="--top --width --kernel --path --full --json --markdown --folded --svg --inverse $shown --lenient -q -v --help --help-all --"
        ;;
      check)
        words="--runs --self --warmup -o --output --record --baseline --save --commit --old-commit --material --min-effect --max-loss --thresholds --function
          --kernel --max --json --markdown --junit --annotations --width $shown -q -v --help --help-all --"
        ;;
      latency) words="-i --input --paths --kernel --top --width --json $shown --lenient -q -v --help --help-all" ;;
      export) words="-i --input --format -o --output --from --to $shown --lenient -q -v --help --help-all" ;;
      merge) words="-o --output --lenient -q -v --help --help-all" ;;
      import) words="-o --output --folded --lenient -q -v --help --help-all" ;;
      dump) words="-i --input --raw --lenient -q -v --help --help-all" ;;
      doctor) words="--json --help --help-all" ;;
    esac
    if [[ $current != -* && $command != record && $command != doctor ]]; then
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return
    fi
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -o filenames -F _gpuprof gpuprof
