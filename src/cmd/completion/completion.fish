# fish completion, printed by "gpuprof completion fish". gpuprof itself computes the candidates.
function __gpuprof_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l lines ($words[1] __complete -- $words[2..] 2>/dev/null)
    set -l kept "$lines[2]"
    set -l begun (string sub -s (math (string length -- "$kept") + 1) -- "$words[-1]")
    switch "$lines[1]"
        case words
            string join \n -- $kept$lines[3..]
        case files
            string join \n -- $kept(__fish_complete_path $begun)
        case folders
            string join \n -- $kept(__fish_complete_directories $begun)
        case users
            string join \n -- $kept(__fish_complete_users)
        case processes
            string join \n -- $kept(__fish_complete_pids)
        case command
            complete -C (string join ' ' -- $words[(math (contains -i -- -- $words) + 1)..])
    end
end

complete -c gpuprof -f -a '(__gpuprof_complete)'
