# Erlang's JIT, whose code is in a memfd that is mapped twice; its schedulers' threads, and a program that it executes.
command -v erl >/dev/null || { echo "no erl"; exit 77; }
cat > t.erl <<'EOF'
-module(t).
-export([main/0]).
fib(N) when N < 2 -> N;
fib(N) -> fib(N-1) + fib(N-2).
main() ->
    Self = self(),
    [spawn(fun() -> Self ! {I, fib(20 + I)} end) || I <- lists:seq(1, 4)],
    [receive {I, F} -> io:format("~p ~p~n", [I, F]) end || I <- lists:seq(1, 4)],
    M = maps:from_list([{X rem 977, X} || X <- lists:seq(1, 50000)]),
    io:format("~p ~p~n", [maps:size(M), lists:sum(maps:values(M))]),
    io:format("~s", [os:cmd("echo executed")]),
    io:format("~p~n", [try hd(M) catch error:E -> E end]),
    halt(3).
EOF
erlc t.erl
$RUN erl -noshell -s t main
echo $?
