#!/bin/bash
# The scripts that users get or run give shellcheck nothing to warn of, those of the tests no error.
set -u
command -v shellcheck >/dev/null || { echo "no shellcheck"; exit 77; }
status=0
is_script() { case $1 in *.sh | *.bash) ;; *) head -n 1 "$1" | grep -qE '^#! ?/bin/(ba)?sh' ;; esac; }
"$PCL" --completion=bash >completion.bash || exit 1
given=() tested=()
for file in "$ROOT"/tools/* "$ROOT"/examples/* "$ROOT"/bench/*; do
	[ -f "$file" ] && is_script "$file" && given+=("$file")
done
while read -r file; do tested+=("$file"); done < <(find "$ROOT/tests" -name '*.sh' -o -name '*.bash')
[ ${#given[@]} -ge 7 ] && [ ${#tested[@]} -ge 100 ] || { echo "found ${#given[@]} and ${#tested[@]} scripts"; exit 1; }
# Completions are split into words; a command's option may be another's too.
shellcheck -s bash -S warning -e SC2207,SC2221,SC2222 -f gcc completion.bash || status=1
shellcheck -s bash -S warning -f gcc "${given[@]}" || status=1
shellcheck -s bash -S error -f gcc "${tested[@]}" || status=1
exit $status
