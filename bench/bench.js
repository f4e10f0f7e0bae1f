// V8: functions that get hot and are compiled, typed arrays, objects, closures.
function sieve(n) {
  const s = new Uint8Array(n);
  let count = 0;
  for (let i = 2; i < n; i++) {
    if (s[i]) continue;
    count++;
    for (let j = i * 2; j < n; j += i) s[j] = 1;
  }
  return count;
}
class Node2 { constructor(v) { this.v = v; this.l = this.r = null; } }
function insert(root, v) {
  while (true) {
    const side = v < root.v ? 'l' : 'r';
    if (!root[side]) { root[side] = new Node2(v); return; }
    root = root[side];
  }
}
const root = new Node2(500000);
let x = 1;
for (let i = 0; i < 300000; i++) { x = (x * 1103515245 + 12345) % 2147483648; insert(root, x % 1000000); }
console.log(sieve(12000000), [1, 2, 3].map(v => v * x).reduce((p, q) => p + q));
