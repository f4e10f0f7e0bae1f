# A member cannot make others take their files for events: see descriptors.c.
"$PCL" "$BUILD/tests/kill/descriptors"
