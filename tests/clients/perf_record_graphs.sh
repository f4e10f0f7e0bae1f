# Call graphs and branch stacks of perf record, and what perf report and perf script make of them.
source "$ROOT/tests/clients/perf_functions.bash"
every="-e instructions:u -c 100003"

# chains PATTERN: of the samples in leaf, nearly all have call chains like that.
chains() {
	script -F ip,sym
	fold '^leaf'
	most "$1"
}
whole='^leaf;middle;outer;work;main;'

record -g $every -- "$shape" 500
chains "$whole"
report --no-children -g callee -s sym
between 1 100 '[0-9.]+% +\[\.\] leaf'
# Not of all: a sample in front of leaf's frame, which is pushed by its first instruction, has outer above it.
between 1 100 '--middle'
report --children -s sym,dso
between 1 1 '^ +(9|10)[0-9.]+% +[0-9.]+% +\[\.\] main +shape'
report --no-children -g folded,0.5,caller -s sym
between 1 100 'main;work;outer;middle;leaf'
record --call-graph fp $every -- "$shape" 200
chains "$whole"

# The stack of each sample, unwound by perf; and the same of code that has no frame pointers.
record --call-graph dwarf,2048 $every -- "$shape" 200
chains "$whole"
gcc -DBARE -O2 -g -fno-inline -fomit-frame-pointer -fno-optimize-sibling-calls -pthread \
	-o bare "$ROOT/tests/clients/shape.c" || fail gcc
record --call-graph dwarf,2048 $every -- ./bare 200
chains "$whole"

# Call stacks from the branches (LBR call stack mode).
record --call-graph lbr $every -- ./bare 200
chains '^leaf;middle;outer;work;main'

# The exact call stack, for every event or for one.
what="pcl --call-stacks perf record -g"
"$PCL" --call-stacks perf record --no-bpf-event -q -o data -g $every -- ./bare 200 2>err </dev/null ||
	fail "$what: $(cat err)"
chains "$whole"
between 20 1000 '_start$'
record -g -e cpu/instructions,callstack/u -c 100003 -- ./bare 200
chains "$whole"

# Branches: all of them, of one kind, and the history of a sample in the report.
edge='0x[0-9a-f]+/0x[0-9a-f]+/-/-/-/0/'
record -b $every -- "$shape" 200
script -F brstack
most "^ *($edge +){32}$"
script -F ip,brstacksym
most ' leaf\+0x[0-9a-f]+/leaf\+0x[0-9a-f]+/'
report --branch-history --no-children -s sym -n
between 1 100000 'leaf'
report -s symbol_from,symbol_to
between 1 100 '[0-9]% +\[\.\] leaf +\[\.\] leaf'
record -j any,u,save_type $every -- "$shape" 200
script -F brstack
most '/COND'
record -j any_call,u -e branches:u -c 10007 -- "$shape" 500
script -F brstacksym
most '^ *([^ /]+\+0x[0-9a-f]+/(outer|middle|leaf|touch)\+0x0/[^ ]+ +){8}'
record -j any_ret,u -e branches:u -c 10007 -- "$shape" 500
script -F brstacksym
most '^ *((outer|middle|leaf|touch)\+0x[0-9a-f]+/[^ ]+ +){8}'
record -j cond,u -e branches:u -c 10007 -- "$shape" 500
script -F brstacksym
most '^ *(leaf\+0x[0-9a-f]+/leaf\+0x[0-9a-f]+/[^ ]+ +){8}'
exit $status
