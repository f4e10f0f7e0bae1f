"""Something for a profiler to look at: counts words, sorts them, writes them down."""
import collections
import json

words = collections.Counter(str(i * i % 9973) for i in range(150000))
print(len(json.dumps(sorted(words.items(), key=lambda item: -item[1]))))
