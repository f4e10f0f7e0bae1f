#!/bin/bash
# Every command of README.md, doc/ci.md and CONTRIBUTING.md does what it is there for: lines of pcl are run, on a
# terminal as a reader does, targets are known to make, and the steps of the recipes are run with the tarball, also as
# in a container of Docker's.
set -u
status=0
fail() { echo "$*"; status=1; }
command -v xz >/dev/null || { echo "no xz"; exit 77; }
unset MAKEFLAGS MAKELEVEL GITHUB_STEP_SUMMARY
path=$PATH
mkdir bin && ln -s "$(readlink -f "$PCL")" bin/pcl
cp "$ROOT/doc/tour.md" FILE
cp "$BUILD/tests/count/hello_static" prog

# The commands of a document: indented lines that are not in a fence, without what follows two blanks or a #.
commands() { awk '/^```/ { fenced = !fenced } !fenced && /^    [a-z]/' "$1" | sed 's/^    //; s/  .*//; s/ *#.*//'; }

# runs WHERE LINE [COMMAND...]: as a user types it, or by COMMAND.
runs() { PATH=$PWD/bin:$path "${@:3}" bash -eo pipefail -c "$2" >out 2>err </dev/null ||
	{ fail "$1: $2: status $?"; tail -n 5 err; }; }
# The same on a terminal: xz, for one, writes no compressed data to one.
types()
{
	printf '%s\n' "$2" >line
	runs "$1" "script -qefc 'bash -eo pipefail line' /dev/null"
	[ ! -s out ] || tail -n 5 out >err
}
script -qec true /dev/null </dev/null >/dev/null 2>&1 || types() { runs "$@"; }

n=0
for document in README.md doc/ci.md CONTRIBUTING.md; do
	while read -r line; do
		n=$((n + 1))
		case $line in
		'pcl perf '*) command -v perf >/dev/null && types "$document" "$line" ;;
		'pcl '*) types "$document" "$line" ;;
		make | 'make '*)
			# shellcheck disable=SC2086 # options and targets
			make -n -C "$ROOT" ${line#make} >/dev/null 2>err || fail "$document: $line: $(cat err)" ;;
		'tools/install-deps'* | 'tests/run '*) [ -x "$ROOT/${line%% *}" ] || fail "$document: no ${line%% *}" ;;
		*) fail "$document: nobody has tried $line" ;;
		esac
	done < <(commands "$ROOT/$document")
done
[ $n -gt 20 ] || fail "only $n commands were found"

# What README shows is what pcl count prints, but for the numbers.
words() { sed 's/[0-9][0-9,.]*/N/g' | tr -s ' '; }
want=$(awk '/^```/ { if (on) exit; on = 1; next } on' "$ROOT/README.md" | words)
got=$(PATH=$PWD/bin:$path pcl count -- xz -9kc FILE 2>&1 >/dev/null | sed '/^$/d' | words)
[ "$(sed '/^$/d' <<<"$want")" = "$got" ] || fail "README shows $want, pcl count prints $got"

# The regression that README shows, and make demo.
${CC:-gcc} -O2 -g -o lookup "$ROOT/demo/lookup.c" || fail "lookup: $?"
lookup='pcl --pin check --by-function --baseline lookup.json --name lookup'
runs lookup "$lookup --update -- ./lookup 4096; $lookup -- ./lookup 4096; ! $lookup -- ./lookup 1024"
for want in 'instructions +REGRESSION$' '\+[0-9,]+  find \(lookup\)$' '^ regression: 2 of 2 counts above '; do
	grep -qE -- "$want" err && grep -qE -- "$want" "$ROOT/README.md" ||
		{ fail "README shows another regression:"; cat err; }
done

# The recipes.
[ "${BUILD##*/}" = rel ] || exit $status
make --no-print-directory -s -C "$ROOT" tarball >made 2>&1 || { fail "make tarball"; cat made; }
cp "$BUILD"/pcl-*-x86_64.tar.gz .
runs baseline 'pcl --pin check --baseline counts.json --name compress --update -- gzip -9c FILE'
tarball=$(sed -n 's/^ *PCL_TARBALL: *//p' "$ROOT/doc/ci.md" | sort -u)
[ -f "$tarball" ] || fail "doc/ci.md names $tarball, not $(echo pcl-*.gz)"

# The lines of a recipe's commands.
github() { awk '/run: \|/ { on = 1; next } on && !/^          / { on = 0 } on' "$ROOT/doc/ci.md" | sed 's/^ *//'; }
gitlab() { awk '/^  script:/ { on = 1; next } on && !/^    - / { on = 0 } on' "$ROOT/doc/ci.md" | sed 's/^ *- //'; }
for recipe in github gitlab; do
	[ "$($recipe | wc -l)" -ge 3 ] || fail "$recipe: no steps"
	for by in env "$BUILD/tests/restricted/docker"; do
		"$by" true || continue # no seccomp filter can be installed here
		GITHUB_PATH=$PWD/added GITHUB_STEP_SUMMARY=$PWD/summary PCL_TARBALL=$tarball \
			runs $recipe "$($recipe | sed 's|^pcl |./bin/pcl |')" "$by"
	done
done
runs Dockerfile "$(sed -n 's|^RUN pcl |./bin/pcl |p' "$ROOT/doc/ci.md")" "$BUILD/tests/restricted/docker"

# The recipe for translations: files as a runner unpacks them, which anybody may write to.
before() { awk '/^  before_script:/ { on = 1; next } on && !/^    - / { on = 0 } on' "$ROOT/doc/ci.md" | sed 's/^ *- //'; }
mkdir -p project
XDG_CACHE_HOME=$PWD/project/.cache # what the recipe sets
grep -q '^    XDG_CACHE_HOME: $CI_PROJECT_DIR/.cache$' "$ROOT/doc/ci.md" || fail "another XDG_CACHE_HOME"
export XDG_CACHE_HOME
runs translations "cd project; $(before); pcl ls; cp -r .cache ../unpacked; rm -r .cache"
chmod -R a+rwX unpacked && mv unpacked project/.cache
runs translations "cd project; $(before); pcl --stats ls"
grep -q '  1  programs that began with an image' err && ! grep -q 'blocks translated' err ||
	{ fail "translations were not kept:"; cat err; }
unset XDG_CACHE_HOME

grep -q '^| instructions |' summary || fail "no summary"
grep -q '"result":"same"' work.json || fail "no JSON"
[ -x "$(sort -u added)/pcl" ] || fail "the path that is added has no pcl"
exit $status
