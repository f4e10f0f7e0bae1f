# A member whose poll words another one writes: see poll_words.c.
"$PCL" "$BUILD/tests/kill/poll_words" 3
