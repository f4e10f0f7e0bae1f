# The current directory: deep, removed, relative programs, chdir to /.
d=$PWD
for i in $(seq 30); do mkdir -p a-rather-long-directory-name && cd a-rather-long-directory-name; done
$RUN /bin/pwd | sed "s|$d||" | wc -c
echo 'echo relative' > s; chmod +x s; $RUN sh ./s
cp /bin/true here; $RUN ./here; echo $?
mkdir gone; cd gone; rmdir ../gone
$RUN /bin/pwd 2>&1; echo $?
$RUN sh -c 'cd /; /bin/pwd' 2>/dev/null
cd /; $RUN bin/echo from root
# names that also exist under /proc
cd "$d"
$RUN ls exe maps smaps status 2>&1
touch exe maps; echo text > status
$RUN ls exe maps; $RUN cat status ./status
(cd /proc && $RUN sh -c 'ls -d self/exe; cat self/comm; cd self; ls -d exe maps; head -c 3 maps | wc -c')
