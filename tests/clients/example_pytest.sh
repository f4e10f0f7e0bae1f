#!/bin/bash
# examples/conftest.py: a test fails that executes more instructions than before, or has no count yet; natively, without
# counters, it is skipped.
. "$ROOT/tests/clients/example_functions.bash"
python=/usr/bin/python3 # whose packages are Debian's
needs $python -m pytest --version
cp "$examples/conftest.py" "$examples/test_count.py" .
run() { "$@" $python -m pytest -q -p no:cacheprovider ${update:+--update-counts} >out 2>&1; }
run pcl --pin && fail "without counts: it passes"
grep -q 'pytest-counts.json has no count of test_count.py::test_sort: --update-counts writes it' out ||
	fail "without counts: $(cat out)"
[ ! -e pytest-counts.json ] || fail "counts are written without --update-counts"
update=yes run pcl --pin || fail "--update-counts: $(cat out)"
grep -q 'test_count.py::test_sort": [0-9]' pytest-counts.json || fail "no pytest-counts.json"
run pcl --pin || fail "$(cat out)"
TIMES=21 run pcl --pin --keep-env=TIMES && fail "more work: it passes"
grep -q 'AssertionError: [0-9]* instructions, before [0-9]*' out || fail "more work: $(cat out)"
cat >test_twice.py <<'END'
import json, pytest

def fails(n):
    raise KeyError(n)

def test_twice(instructions):
    with pytest.raises(KeyError):
        instructions(fails, 1)
    one, two = instructions(sum, range(1000)), instructions(sum, range(1000))
    assert abs(one - two) < one / 10
    assert len(json.load(open("pytest-counts.json"))) == 3
END
update=yes run pcl --pin || fail "two calls in one test: $(cat out)"
rm test_twice.py
run env && { grep -q '1 skipped' out || grep -q '1 passed' out; } || fail "natively: $(cat out)"
exit $status
