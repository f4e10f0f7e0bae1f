# A member cannot make another one raise a signal in itself that it has not asked for: see raise.c.
"$PCL" "$BUILD/tests/kill/raise"
