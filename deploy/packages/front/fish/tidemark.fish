# SPDX-License-Identifier: Apache-2.0
# fish completions for tidemark; after a program's short name, the program's own.
function __tidemark_program
    set -l words (commandline -opc)
    test (count $words) -ge 2; or return
    complete -C (string join ' ' -- tidemark-$words[2] $words[3..] (commandline -ct))
end
complete -c tidemark -f
complete -c tidemark -n __fish_use_subcommand -a collector -d 'receives, joins and stores reports'
complete -c tidemark -n __fish_use_subcommand -a controller -d 'estimates, advises, sets; console'
complete -c tidemark -n __fish_use_subcommand -a switch -d 'the embedded P4 switch'
complete -c tidemark -n __fish_use_subcommand -a traffic -d 'TCP traffic with known truth'
complete -c tidemark -n __fish_use_subcommand -a lab -d 'experiments on real TCP'
complete -c tidemark -n __fish_use_subcommand -a demo -d 'a recorded run, live in the console'
complete -c tidemark -n __fish_use_subcommand -a help -d 'what the command takes'
complete -c tidemark -n __fish_use_subcommand -s h -l help -d 'what the command takes'
complete -c tidemark -n __fish_use_subcommand -s V -l version -d 'versions of the programs'
complete -c tidemark -n '__fish_seen_subcommand_from collector controller switch traffic lab' -a '(__tidemark_program)'
complete -c tidemark -n '__fish_seen_subcommand_from demo' -l replay -d 'a recorded run'
complete -c tidemark -n '__fish_seen_subcommand_from demo' -x -l port -d 'port of the console'
complete -c tidemark -n '__fish_seen_subcommand_from demo' -x -l speed -d '1 is as recorded'
complete -c tidemark -n '__fish_seen_subcommand_from demo' -l once -d 'print the estimates, and end'
