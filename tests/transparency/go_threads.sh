# A Go program: its own stacks, signals for preemption, no libc.
command -v go >/dev/null || { echo "no go"; exit 77; }
cat > t.go <<'END'
package main
import ("fmt"; "sync"; "runtime")
func main() {
	var wg sync.WaitGroup
	r := make([]int, 8)
	for i := range r { wg.Add(1); go func(i int) { defer wg.Done(); for j := 0; j < 3000000; j++ { r[i] = (r[i]*31 + j) % 1000003 }; runtime.GC() }(i) }
	wg.Wait()
	defer func() { fmt.Println(r, recover() != nil) }()
	var p *int
	*p = 1
}
END
go build -o t t.go || exit 77
$RUN ./t
