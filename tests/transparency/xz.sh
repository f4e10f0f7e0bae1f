# xz with two threads, there and back; gzip.
command -v xz >/dev/null || { echo "no xz"; exit 77; }
seq 400000 > in
$RUN xz -T2 -3 --block-size=500000 -kc in > in.xz
sha256sum in.xz
$RUN xz -T2 -dc in.xz | sha256sum
$RUN gzip -6nc in | sha256sum
