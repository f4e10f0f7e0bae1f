import os


def test_sort(instructions):
    words = "the quick brown fox jumps over the lazy dog".split() * int(os.environ.get("TIMES", "20"))
    assert instructions(sorted, words) > 1000
