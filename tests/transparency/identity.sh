# What a program can ask about itself.
$RUN readlink /proc/self/exe
$RUN sh -c 'cat /proc/$$/comm; tr "\0" " " < /proc/$$/cmdline; echo'
$RUN /usr/bin/python3 -c '
import os, sys
print(os.readlink("/proc/self/exe"), open("/proc/self/comm").read(), open("/proc/self/cmdline", "rb").read())
print(os.readlink("/proc/%d/exe" % os.getpid()), os.readlink("/proc/thread-self/exe"))
maps = open("/proc/self/maps").read()
print("[stack]" in maps, "[heap]" in maps, "[vdso]" in maps, os.path.realpath("/usr/bin/python3") in maps, "pcl" in maps)
print(open("/proc/self/environ", "rb").read().count(b"\0") == len(os.environ))
print(len(os.listdir("/proc/self/task")))
print(os.stat("/proc/self/exe").st_ino == os.stat("/usr/bin/python3").st_ino)'
$RUN sh -c 'exec -a other /bin/sh -c "echo \$0; cat /proc/\$\$/cmdline | tr \"\\0\" \" \""'
$RUN ldd /bin/true | sed 's/(0x.*)//'
