# Pure Python: calls, dictionaries, lists, strings.
def queens(n, row=0, cols=0, d1=0, d2=0):
    if row == n:
        return 1
    found = 0
    for c in range(n):
        bit, a, b = 1 << c, 1 << (row + c), 1 << (row - c + n)
        if not (cols & bit or d1 & a or d2 & b):
            found += queens(n, row + 1, cols | bit, d1 | a, d2 | b)
    return found


words = {}
for i in range(2500000):
    key = "w%d" % (i * 7919 % 5003)
    words[key] = words.get(key, 0) + i
print(queens(10), sum(sorted(words.values())[:100]))
