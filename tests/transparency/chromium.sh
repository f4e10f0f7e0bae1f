# Chromium with its own sandbox: user, pid and network namespaces, an empty root, seccomp filters that stop what they do
# not know.
command -v chromium > /dev/null || { echo "no chromium"; exit 77; }
home=$(mktemp -d) || exit 1
# Its zygotes and helpers end a moment later than chromium itself, and may write an image of the cache until then.
trap 'until rm -rf "$home" 2> /dev/null; do sleep 0.1; done' EXIT
run=$RUN
become=
if [ "$(id -u)" = 0 ]; then
	# As root it runs without a sandbox only. The user may not be able to reach the tree: give it a copy.
	become="setpriv --reuid=65534 --regid=65534 --clear-groups"
	[ -z "$RUN" ] || { cp "$(readlink -f "$PCL")" "$(readlink -f "$PCL")rt" "$home" && run=$home/pcl; } || exit 1
	chown -R 65534:65534 "$home" || exit 1
fi
$become unshare -Upf true 2> /dev/null || { echo "the host does not let an ordinary user make namespaces"; exit 77; }
export HOME=$home XDG_RUNTIME_DIR=$home
cd "$home" || exit 1
timeout -k 5 250 $become $run chromium --headless --disable-gpu --dump-dom \
	'data:text/html,<p>hello<script>document.write(6*7)</script>' 2> err
echo "status $?"
grep -aE 'seccomp-bpf failure|Sanity checks|No usable sandbox' err
exit 0
