# V8's JIT, workers, asynchronous input and output.
command -v node >/dev/null || { echo "no node"; exit 77; }
cat > t.js <<'END'
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
if (!isMainThread) { parentPort.postMessage(fib(workerData)); }
else {
  let a = []; for (let i = 0; i < 200000; i++) a.push((i * 7919) % 10007); a.sort((x, y) => x - y);
  console.log(fib(24), a[1000], a[199999]);
  const m = new Map(); for (const x of a) m.set(x, (m.get(x) || 0) + 1); console.log(m.size);
  try { null.x } catch (e) { console.log(e.constructor.name) }
  console.log("abc".repeat(1000).replace(/b./g, "x").length, JSON.stringify({ a: [1, 2, { b: 3 }] }));
  let done = 0, sum = 0;
  for (let i = 0; i < 2; i++) new Worker(__filename, { workerData: 15 + i }).on('message', r => { sum += r; if (++done == 2) { console.log(sum); process.exitCode = 6; } });
}
END
$RUN node t.js
echo $?
