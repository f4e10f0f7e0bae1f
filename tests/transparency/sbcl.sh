# Common Lisp, whose image wants 0x50000000: the compiler, the garbage collector, a condition handled.
command -v sbcl >/dev/null || { echo "no sbcl"; exit 77; }
cat > t.lisp <<'EOF'
(print (+ 1 2))
(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(print (compiled-function-p (compile 'fib)))
(print (fib 24))
(print (let ((l nil)) (dotimes (i 300000) (push (list i (* i i)) l)) (gc :full t) (reduce #'+ l :key #'second)))
(print (handler-case (car 5) (type-error () :type-error)))
(print (expt 3 200))
(terpri)
EOF
$RUN sbcl --script t.lisp
echo $?
