# openssl: digests, ciphers, keys; `speed` only for its status and shape.
command -v openssl >/dev/null || { echo "no openssl"; exit 77; }
seq 100000 > in
for d in md5 sha1 sha256 sha512 sha3-256 blake2b512; do $RUN openssl dgst -$d in; done
$RUN openssl enc -aes-256-gcm -help 2>/dev/null
$RUN openssl enc -aes-256-cbc -K 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff \
	-iv 000102030405060708090a0b0c0d0e0f -in in | sha256sum
$RUN openssl genrsa 1024 2>/dev/null | $RUN openssl rsa -noout -check 2>/dev/null
$RUN openssl speed -seconds 1 -bytes 1024 sha256 aes-128-cbc 2>/dev/null | sed 's/[0-9.]\+k\?/N/g' | tail -3 | tr -s ' '
echo ${PIPESTATUS[0]}
