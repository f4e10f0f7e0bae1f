# A large recursive listing.
$RUN ls -lR /usr/include | sha256sum
$RUN ls -lR /usr/include | wc -l
