# git: a repository is made, cloned and checked.
command -v git >/dev/null || { echo "no git"; exit 77; }
export GIT_AUTHOR_DATE='2024-01-01T00:00:00Z' GIT_COMMITTER_DATE='2024-01-01T00:00:00Z'
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_NOSYSTEM=1
$RUN git init -q -b main one 2>&1
for i in $(seq 30); do seq $i $((i * 40)) > one/file$i; done
(cd one && $RUN git add . && $RUN git commit -q -m first && echo more >> file3 && $RUN git commit -qam second)
$RUN git clone -q --no-local one two 2>&1
(cd two && $RUN git log --oneline && $RUN git fsck 2>&1 | grep -v ^Checking; $RUN git diff HEAD~1 --stat)
