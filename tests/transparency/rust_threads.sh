# A Rust program with threads, channels and a panic that unwinds.
HOME=$(getent passwd "$(id -u)" | cut -d: -f6); export HOME
rustc=$(command -v rustc || ls "$HOME/.cargo/bin/rustc" 2>/dev/null) || true
[ -x "$rustc" ] || { echo "no rustc"; exit 77; }
cat > t.rs <<'END'
use std::sync::{mpsc, Arc, Mutex};
use std::thread;
fn main() {
    let (tx, rx) = mpsc::channel();
    let total = Arc::new(Mutex::new(0u64));
    for i in 0..4u64 {
        let (tx, total) = (tx.clone(), total.clone());
        thread::spawn(move || {
            let s: u64 = (0..100000u64).map(|x| x * x % (i + 7)).sum();
            *total.lock().unwrap() += s;
            tx.send(i).unwrap();
        });
    }
    drop(tx);
    let mut ids: Vec<u64> = rx.iter().collect();
    ids.sort();
    println!("{:?} {}", ids, total.lock().unwrap());
    let r = thread::spawn(|| { if true { panic!("expected") } }).join();
    println!("{}", r.is_err());
    std::process::exit(5);
}
END
"$rustc" -O -o t t.rs >/dev/null 2>&1 || { echo "rustc does not work here"; exit 77; }
$RUN ./t 2>/dev/null
echo $?
