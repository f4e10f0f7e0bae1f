#!/bin/bash
# Completion: what bash and fish offer for lines that a user begins; zsh reads its script.
set -u
failed=0
fail() { echo "$*"; failed=1; }
for shell in bash zsh fish; do
	"$PCL" --completion=$shell >script.$shell || fail "--completion=$shell: status $?"
done

# bash_offers 'LINE': what is offered for its last word, sorted.
bash_offers()
{
	bash --norc -c 'source script.bash
		read -ra COMP_WORDS <<<"$1"
		[[ $1 = *" " ]] && COMP_WORDS+=("")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
		_pcl pcl
		printf "%s\n" "${COMPREPLY[@]}"' - "$1" 2>/dev/null | sort -u
}
offers() { bash_offers "$1" | grep -qxF -- "$2" || fail "bash: '$1' does not offer $2"; }
offers_not() { bash_offers "$1" | grep -qxF -- "$2" && fail "bash: '$1' offers $2"; }
offers 'pcl co' count
offers 'pcl --pa' --paranoid=
offers 'pcl --users=own che' check
offers 'pcl count --ev' --events=
offers 'pcl check --upd' --update
offers 'pcl --users' --users=own
offers 'pcl fl' flame
offers 'pcl flame --sm' --smallest=
offers 'pcl count --by' --by-function
offers_not 'pcl count --upd' --update
offers_not 'pcl --ev' --events=
touch a_file
offers 'pcl count -o a_f' a_file

if command -v fish >/dev/null; then
	fish_offers() { fish --no-config -c 'source script.fish; complete -C $argv[1]' "$1" | cut -f1 |
		grep -qxF -- "$2"; }
	fish_offers 'pcl cou' count || fail "fish: no count"
	fish_offers 'pcl --para' --paranoid || fish_offers 'pcl --para' --paranoid= || fail "fish: no --paranoid"
	fish_offers 'pcl count --ev' --events || fish_offers 'pcl count --ev' --events= || fail "fish: no --events"
	fish_offers 'pcl check --ev' --events || fish_offers 'pcl check --ev' --events= ||
		fail "fish: no --events of check"
	fish_offers 'pcl list --upd' --update && fail "fish: --update of list"
fi
if command -v zsh >/dev/null; then
	zsh -f -c 'fpath=($PWD $fpath); cp script.zsh _pcl; autoload -U compinit; compinit -u -D; (( $+_comps[pcl] )) && [[ $_comps[pcl] = _pcl ]] && autoload +X _pcl' ||
		fail "zsh does not take the script"
	# In a terminal: what the line becomes when there is one way to go on.
	cat >ask.zsh <<-'END'
		zmodload zsh/zpty
		zpty z zsh -f -i
		zpty -w z "PS1=; fpath=($PWD \$fpath); autoload -U compinit; compinit -u -D; stty -echo; echo 'RE''ADY'"
		zpty -r z out '*READY*'
		zpty -w -n z "$1"$'\t\t'
		sleep ${2:-0.5}
		zpty -w -n z $'\x15echo EN""DED\n'
		zpty -r z out '*ENDED*'
		print -r -- "$out"
	END
	zsh_makes() {
		local said
		said=$(timeout -k 5 20 zsh -f ask.zsh "$1" "${3:-0.5}" | sed 's/\x1b\[[0-9;?]*[a-zA-Z]//g')
		[[ $said = *"$2"* && $said != *events\\\ of* ]] || { [ -z "${3:-}" ] && zsh_makes "$1" "$2" 3; } ||
			{ fail "zsh: $1"; echo "$said"; }
	}
	zsh_makes 'pcl cou' 'pcl count'
	zsh_makes 'pcl count --ev' 'pcl count --events='
	zsh_makes 'pcl --users=own doct' 'pcl --users=own doctor'
fi
exit $failed
