# Members that are stopped and killed at random moments hold nobody up.
"$PCL" "$BUILD/tests/kill/stopped" 3000
