# SPDX-License-Identifier: Apache-2.0
"""Cases of transparency.py: programs that start others, among them those that the tracer cannot enter
(other C libraries, sanitizers, other machines, roots and users without the tracer)."""

# The program ./p says "here", and ends with 3; OTHERS starts it in whatever way there is.
SOURCE = "cat >p.c <<'E'\n#include <stdio.h>\n#include <unistd.h>\nint main(int n, char **v) { usleep(1000); printf(\"here %d\\n\", n); return 3; }\nE\n"
OTHERS = """
./p; echo $?; (exec ./p a); echo $?; ./p b & wait $!; echo $?; echo "$(./p c)"
dash -c './p d; echo $?; exec ./p e'; echo $?
/usr/bin/python3 -c '
import os, subprocess, threading
def say(*words): print(*words, flush=True)
say(subprocess.run(["./p"]).returncode, subprocess.run(["./p", "x"], close_fds=False).returncode)
say(os.system("./p f") >> 8, os.popen("./p g").read(), os.spawnv(os.P_WAIT, "./p", ["p", "h"]))
say(os.waitpid(os.posix_spawn("./p", ["p"], os.environ), 0)[1] >> 8)
say(subprocess.run("./p i; true", shell=True, env=dict(os.environ, MORE="1"), stdout=subprocess.PIPE).stdout)
got = []
def by_thread(): got.append(subprocess.run(["./p"], stdout=subprocess.PIPE).returncode)
many = [threading.Thread(target=by_thread) for _ in range(4)]
[t.start() for t in many]; [t.join() for t in many]
say(got)'
perl -e '$| = 1; print system("./p"), `./p j`; system("./p k; true"); open F, "-|", "./p"; print <F>; close F; exec {"./p"} "p"'; echo $?
printf 'all:\\n\\t@./p; true\\n\\t-@./p l m 2>&1; true\\n' >M; make -s -f M
find p -exec ./{} n \\;; seq 4 | xargs -P4 -n1 ./p; env ./p; nice ./p o; timeout 9 ./p; setsid -w ./p q; echo $?
printf '#!%s/p r\\n' "$PWD" >s; chmod +x s; ./s; echo $?
printf './p; echo text' >t; chmod +x t; ./t; env ./t; echo "$PWD" >/dev/null
rm -f p p.c M s t *.so *.o
"""
MADE = (  # name, how it is made, what that needs, belongs to the short run
    ("musl", "musl-gcc -o p p.c", ("musl-gcc",), True),
    ("asan", "gcc -fsanitize=address -o p p.c", (), True),
    ("bits_32", "printf '.globl _start\\n_start: mov $4,%%eax\\nmov $1,%%ebx\\ncall 1f\\n1: pop %%ecx\\nadd $(m-1b),%%ecx\\nmov $5,%%edx\\nint $0x80\\nmov $1,%%eax\\nmov $3,%%ebx\\nint $0x80\\nm: .ascii \"here\\\\n\"\\n' >p.s; echo 'int x;' >d.c; gcc -m32 -shared -nostdlib -o libd.so d.c; gcc -m32 -nostdlib -pie -o p p.s -Wl,--dynamic-linker=/lib/ld-linux.so.2 -Wl,--no-as-needed -L. -ld -Wl,-rpath,$PWD; rm p.s d.c", ("/lib/ld-linux.so.2",), True),
    ("asan_clang", "clang -fsanitize=address -shared-libasan -Wl,-rpath,$(dirname $(clang -print-file-name=libclang_rt.asan-x86_64.so)) -o p p.c", ("clang",), False),
    ("asan_static", "gcc -fsanitize=address -static-libasan -o p p.c", (), False),
    ("tsan", "gcc -fsanitize=thread -o p p.c", (), False),
    ("tsan_clang", "clang -fsanitize=thread -o p p.c", ("clang",), False),
    ("msan", "clang -fsanitize=memory -o p p.c", ("clang",), False),
    ("ubsan", "gcc -fsanitize=undefined -o p p.c", (), False),
    ("lsan", "gcc -fsanitize=leak -o p p.c", (), False),
    ("static", "gcc -static -o p p.c", (), False),
    ("static_pie", "gcc -static-pie -o p p.c", (), False),
    ("own_linker", "cp /lib64/ld-linux-x86-64.so.2 ld.so; printf '\\001' | dd of=ld.so bs=1 seek=15 conv=notrunc status=none; gcc -o p p.c -Wl,--dynamic-linker=$PWD/ld.so; OWN=1", (), False),
    ("execute_only", "gcc -o p p.c; chmod 111 p", (), False),
)

# A root folder R with a shell, ls and cat of this system's, and its libraries.
ROOT = "R=$PWD/r; for f in /bin/sh /bin/ls /bin/cat /bin/echo; do for g in $f $(ldd $f | grep -o '/[^ ]*'); do mkdir -p $R$(dirname $g); [ -e $R$g ] || cp -L $g $R$g; done; done\n"
END = "\nrm -rf r"
# The tracer can be read by root alone, in a mount namespace of its own.
SECRET = "unshare -m sh -c '[ -z \"$LD_PRELOAD\" ] || { cp \"${LD_PRELOAD%%%%:*}\" l; chmod 600 l; mount --bind l \"${LD_PRELOAD%%%%:*}\"; }\n%s'"
NOBODY = "--reuid 65534 --regid 65534 --clear-groups"


def starts(Case):
    def root(name, script, needs=(), **more):
        return Case(name, ROOT + script + END, needs=needs, root=True, ignore=("^r",), **more)

    def secret(name, script, needs=(), **more):
        return Case(name, SECRET % script, needs=("unshare", *needs), root=True, ignore=("^l$",), **more)

    return [
        *[Case("starts_" + name, SOURCE + make + OTHERS, needs=(*needs, "gcc", "perl", "make"), quick=quick, heavy=not quick, unordered=True, run_s=1.5,
               ignore=("^ld.so$",))
          for name, make, needs, quick in MADE],
        Case("static_parents", SOURCE + "for b in 'musl-gcc -o p' 'gcc -fsanitize=address -o q'; do $b p.c; done; busybox sh -c './p; echo $?; ./q a; echo $?; x=$(./p b); echo $x; exec ./q c'; echo $?; seq 3 | busybox xargs -n1 ./p; busybox find p -exec ./q {} \\;; busybox timeout 9 ./p; chroot / $(command -v busybox) nice ./q 2>&1; rm p q p.c", needs=("busybox", "musl-gcc", "gcc"), root=True, quick=True),
        Case("starts_unread", SOURCE + "musl-gcc -o p p.c; gcc -fsanitize=address -o q p.c; for n in 3 4 5; do (ulimit -n $n; ./p; ./q; sh -c './p a; ./q b'); done; chmod 111 p q; chmod 755 .; setpriv " + NOBODY + " sh -c './p; ./q; cat p 2>&1'; rm -f p q p.c", needs=("musl-gcc", "gcc", "setpriv"), root=True, quick=True),
        Case("musl_by_linker", SOURCE + "musl-gcc -o p p.c; for i in 1 2 3; do $(readelf -l p | sed -n 's/.*interpreter: \\(.*\\)].*/\\1/p') ./p $i; echo $?; done; rm p p.c", needs=("musl-gcc", "readelf")),
        Case("glibc_by_linker", SOURCE + "gcc -fsanitize=address -o p p.c; L=/lib64/ld-linux-x86-64.so.2; $L ./p; echo $?; $L --argv0 x ./p a; echo $?; $L --library-path /nowhere /bin/echo b; $L /bin/sh -c './p c'; echo $?; $L; echo $?; rm p p.c", needs=("gcc",)),
        Case("asan_report", "printf '#include <stdlib.h>\\nint main(void) { char *p = malloc(8); free(p); return *(volatile char *)p; }' >p.c; gcc -g -fsanitize=address -o p p.c; ./p; echo $?; sh -c './p 2>&1 | grep -c heap-use-after-free'; rm p p.c", needs=("gcc",), unlike=((r"==\d+==|0x[0-9a-f]+|pc .*|T\d+|\(BuildId.*", ""), (r"(?s)SUMMARY.*", ""))),
        Case("asan_told", SOURCE + "gcc -fsanitize=address -o p p.c; export ASAN_OPTIONS=verify_asan_link_order=0; ./p; echo $?; sh -c ./p; echo $?; rm p p.c", needs=("gcc",)),
        Case("asan_shell", "cat >p.c <<'E'\n#include <stdlib.h>\nint main(void) { return system(\"sleep 0.1; echo below; ls /; ldd /bin/true >/dev/null; exit 5\") >> 8; }\nE\ngcc -fsanitize=address -o p p.c; ./p; echo $?; sh -c './p; echo $?'; rm p p.c", needs=("gcc",)),
        Case("ldd", "ldd /bin/ls | sed 's/ (.*//'; LD_TRACE_LOADED_OBJECTS=1 /bin/true | wc -l; /usr/bin/python3 -c 'import subprocess; print(subprocess.run([\"ldd\", \"/bin/true\"], capture_output=True).stdout.count(b\"=>\"))'", quick=True),
        Case("preloads_of_its_own", "echo 'int answer(void) { return 42; }' >a.c; gcc -shared -fPIC -o a.so a.c; for p in ./p ./q; do echo \"#include <dlfcn.h>\n#include <stdio.h>\nint main(void) { printf(\\\"%d\\\\n\\\", dlsym(RTLD_DEFAULT, \\\"answer\\\") != NULL); return 0; }\" >p.c; done; gcc -o p p.c; gcc -fsanitize=undefined -o q p.c; LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$PWD/a.so sh -c './p; ./q'; LD_PRELOAD=\"$PWD/a.so ${LD_PRELOAD-}\" ./p; rm p q a.c p.c a.so", needs=("gcc",)),
        # ---- roots and containers ----
        root("chroot_shell", "chroot r /bin/sh -c 'ls /bin; echo $?; cat /nothing; echo $?; exec ls /bin'; echo $?", needs=("chroot",), quick=True),
        root("chroot_perl", "perl -e '$| = 1; chroot \"r\"; chdir \"/\"; system(\"/bin/ls\", \"/bin\"); system(\"ls /bin; :\"); print `ls /bin; exit 4`, $? >> 8, \"\\n\"; open F, \"|cat\"; print F \"piped\\n\"; close F; exec \"/bin/ls\", \"/none\"'; echo $?", needs=("perl",), quick=True),
        root("chroot_and_back", "perl -e '$| = 1; open D, \"<\", \"/\"; chroot \"r\"; system(\"/bin/echo in; :\"); chdir D; chroot \".\"; system(\"echo out; :\"); print join(\",\", sort glob(\"/bin/l[s]\")), \"\\n\"'; echo $?", needs=("perl",)),
        root("chroot_threads", "/usr/bin/python3 -c '\nimport os, subprocess, threading\nos.chroot(\"r\"); os.chdir(\"/\")\ndef one(i): out[i] = (subprocess.run([\"/bin/echo\", str(i)], capture_output=True), os.popen(\"echo %d; :\" % i).read())\nout = {}\nmany = [threading.Thread(target=one, args=(i,)) for i in range(8)]\n[t.start() for t in many]; [t.join() for t in many]\nfor i in range(8): print(i, out[i][0].stdout, out[i][0].stderr, out[i][1])\nprint(os.system(\"ls /bin\"))\n'", racy=True, run_s=0.3),
        root("chroot_static", "cp $(command -v busybox) r/bin/busybox; chroot r /bin/busybox sh -c 'busybox echo a; echo b | busybox cat; busybox ls /bin'; echo $?", needs=("chroot", "busybox")),
        root("chroot_user", "chmod 755 . r; chroot --userspec=65534:65534 r /bin/sh -c 'ls /bin; cat /none; exit 6'; echo $?", needs=("chroot",)),
        root("unshare_root", "unshare -R r /bin/sh -c 'ls /bin; echo $?'; unshare -m sh -c 'mount -t tmpfs x /tmp; ls /tmp; perl -e \"system q(ls /tmp; echo in)\"'", needs=("unshare", "perl")),
        root("pivot_root", "unshare -m sh -c 'mount --bind r r; mkdir -p r/old; cd r; pivot_root . old; exec /bin/sh -c \"ls /bin; cat /none; echo \\$?\"'; echo $?", needs=("unshare", "pivot_root")),
        root("bwrap_root", "bwrap --ro-bind r / /bin/sh -c 'ls /bin; cat /none; exit 5'; echo $?", needs=("bwrap",), quick=True),
        Case("bwrap_usr", "bwrap --ro-bind /usr /usr --symlink usr/lib /lib --symlink usr/lib64 /lib64 --symlink usr/bin /bin --proc /proc --dev /dev --unshare-all --die-with-parent sh -c 'ls /; python3 -c \"import os; print(os.getpid() > 1, os.system(chr(58)))\"; exit 4'; echo $?", needs=("bwrap",), root=True),
        Case("bwrap_whole", "bwrap --ro-bind / / --dev-bind /dev /dev --proc /proc --unshare-pid sh -c 'echo $$; sleep 0.1; cat /proc/1/comm; ls /proc | grep -c ^[0-9]'; echo $?", needs=("bwrap",), root=True),
        root("bwrap_filter", "/usr/bin/python3 -c 'import struct; open(\"f\", \"wb\").write(struct.pack(\"HBBI\", 6, 0, 0, 0x7fff0000))'; bwrap --seccomp 9 --ro-bind r / /bin/sh -c 'ls /bin; exit 7' 9<f; echo $?; bwrap --seccomp 9 --ro-bind / / ls /etc/passwd 9<f; echo $?", needs=("bwrap",)),
        Case("bwrap_musl", SOURCE + "musl-gcc -o p p.c; bwrap --ro-bind / / ./p; echo $?; bwrap --ro-bind / / sh -c './p a; exec ./p b'; echo $?; rm p p.c", needs=("bwrap", "musl-gcc"), root=True),
        Case("bwrap_nobody", "setpriv " + NOBODY + " bwrap --ro-bind / / --unshare-user --uid 7 --gid 7 sh -c 'id -u; ls /root; exit 8' 2>&1; echo $?", needs=("bwrap", "setpriv"), root=True),
        # ---- users ----
        Case("users_stderr", "su -s /bin/sh nobody -c 'id -un; ls /root 2>&1; exit 3'; echo $?; setpriv --reuid 65534 --clear-groups sh -c 'id -u; ls /; perl -e \"print 2\"'; echo $?; runuser -u nobody -- sh -c 'id -un'", needs=("su", "setpriv", "runuser", "perl"), root=True),
        secret("secret_setpriv", "setpriv --reuid 65534 --clear-groups sh -c \"id -u; cat /none\"; setpriv " + NOBODY + " perl -e \"print 1; system q(ls /; exit 2); print \\$? >> 8\"; setpriv " + NOBODY + " --inh-caps=-all --bounding-set=-all --no-new-privs /bin/echo a", needs=("setpriv", "perl"), quick=True),
        secret("secret_su", "su -s /bin/sh nobody -c \"id -un; sleep 0.1; cat /none; exit 3\"; echo $?; runuser -u nobody -- ls /none; echo $?", needs=("su", "runuser")),
        secret("secret_python", "/usr/bin/python3 -c \"import subprocess; print(subprocess.run([chr(105) + chr(100)], user=65534, group=65534, extra_groups=[]).returncode)\"; /usr/bin/python3 -c \"import os; os.setgroups([]); os.setgid(65534); os.setuid(65534); print(os.system(chr(105)+chr(100)), os.popen(chr(105)+chr(100)).read())\""),
        secret("secret_perl", "perl -e \"\\$> = 65534; system q(id -u); system q(echo shell; :); print qx(id -ru; :)\"", needs=("perl",)),
        secret("secret_unshare", "unshare -U sh -c \"id -u; cat /none\"; echo $?; setpriv " + NOBODY + " unshare -Ur sh -c \"id -u; cat /none\"; echo $?"),
        secret("secret_daemon", "start-stop-daemon -S -p /none -c nobody -x /bin/ls -- /none; echo $?; capsh --user=nobody -- -c \"id -un; cat /none\"; echo $?", needs=("start-stop-daemon", "capsh")),
        Case("setuid_child", "cp /bin/sh q; cp /usr/bin/id i; chown 65534 i; chmod 4755 i; chmod 755 .; sh -c './i -u; ./i -ru'; setpriv --reuid 1 --clear-groups sh -c './i -u; ./q -c \"id -u\"'; echo $?; rm q i", needs=("setpriv",), root=True),
        Case("newgrp_sg", "sg daemon -c 'id -gn; exit 3'; echo $?", needs=("sg",), root=True),
        # ---- shells and interpreters ----
        Case("zsh", "zsh -fc 'exec 5>o; print -u5 five; exec 5>&-; cat o; x=$(echo sub); print $x; for i in {1..20}; do y=$(echo $i); done; print $y; print multi >a >b; cat a b; coproc cat; print -p hi; read -p l; print $l; sleep 0.1; (exit 3); print $?; trap \"print bye\" EXIT; =(ls) 2>/dev/null; cat <(print process)'; echo $?", needs=("zsh",)),
        Case("tcsh", "tcsh -fc 'set x = `echo sub`; echo $x; foreach i (1 2 3)\necho $i | cat\nend\n(exit 3); echo $status; sleep 0.1; ls /none |& wc -l'; echo $?", needs=("tcsh",)),
        Case("yash", "yash --norcfile -c 'exec 4>o; echo four >&4; exec 4>&-; cat o; for i in 1 2 3; do x=$(echo $i | cat); echo $x; done; sleep 0.1 & wait $!; echo $?; (exit 3); echo $?; cat <(echo in)'; echo $?", needs=("yash",)),
        Case("busybox_pipes", "busybox sh -c 'seq 30 | busybox sort -r | head -3; find /etc/hostname -exec cat {} \\; | wc -l; x=$(ls /etc/passwd); echo $x; (exit 4); echo $?; seq 5 | busybox xargs -n1 echo; exec ls /none'; echo $?", needs=("busybox",)),
        Case("expect", "expect -c 'spawn -noecho sh -c {echo ask; read x; echo got $x; exit 3}; expect ask; send \"me\\r\"; expect {got me}; expect eof; puts [lindex [wait] 3]'; echo $?", needs=("expect",), unlike=((r"\r", ""),)),
        Case("gawk_mawk", "for a in gawk mawk; do seq 5 | $a '{ print | \"sort -r\" } END { close(\"sort -r\"); \"echo sub\" | getline x; print x; print system(\"exit 3\") }'; done; gawk 'BEGIN { c = \"cat\"; print \"to\" |& c; close(c, \"to\"); c |& getline l; print l }'", needs=("gawk", "mawk")),
        Case("m4", "echo 'esyscmd(echo sub; sleep 0.1)syscmd(exit 3)sysval' | m4; echo $?", needs=("m4",)),
        Case("node_spawn", "node -e 'const {spawnSync,execFileSync,fork}=require(\"child_process\");console.log(spawnSync(\"ls\",[\"/none\"]).stderr.toString());console.log(execFileSync(\"sh\",[\"-c\",\"echo $A\"],{env:{A:\"1\",PATH:process.env.PATH}}).toString());console.log(spawnSync(\"exit 4\",{shell:true}).status);console.log(spawnSync(\"./nosuch\").error.code)'; echo $?", needs=("node",)),
        Case("go_starts", "cat >g.go <<'E'\npackage main\nimport (\"fmt\"; \"os\"; \"os/exec\")\nfunc main() { o, e := exec.Command(\"sh\", \"-c\", \"echo sub; exit 3\").CombinedOutput(); fmt.Println(string(o), e); o, _ = exec.Command(\"ls\", \"/none\").CombinedOutput(); fmt.Print(string(o)); os.Exit(5) }\nE\nexport GOCACHE=$PWD/c HOME=$PWD; go build -o g g.go; ./g; echo $?; chmod -R u+w c; rm -rf c g g.go go .config", needs=("go",), heavy=True, run_s=6, ignore=("^c", "^go", "config")),
        # ---- programs that start programs ----
        Case("git_hooks", "export GIT_AUTHOR_DATE=2000-01-01T00:00:00Z GIT_COMMITTER_DATE=2000-01-01T00:00:00Z GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; " + SOURCE + "gcc -fsanitize=address -o p p.c; git init -q -b m r; printf '#!/bin/sh\\n../p hook >&2\\n' >r/.git/hooks/pre-commit; chmod +x r/.git/hooks/pre-commit; cd r; echo 1 >f; git add f; git commit -qm no; echo $?; printf '#!/bin/sh\\n../p; true\\n' >.git/hooks/pre-commit; git commit -qm yes; echo $?; git -c alias.x='!../p a' x; echo $?; echo '* filter=u' >.gitattributes; git config filter.u.clean 'tr a-z A-Z'; echo word >g; git add g; git show :g; GIT_EDITOR='sed -i s/yes/edited/' git commit -q --amend; git log --format=%s; cd ..; rm -rf r p p.c", needs=("git", "gcc"), run_s=1),
        Case("fakeroot", "fakeroot sh -c 'touch a; chown 3:4 a; stat -c %u:%g a; mknod d c 1 3; ls d; tar cf t.tar a; tar tvf t.tar | cut -c1-20; id -u; sleep 0.1; exit 3'; echo $?; rm -f a d t.tar", needs=("fakeroot",), run_s=0.5),
        Case("faketime", "faketime '2001-02-03 04:05:06' sh -c 'date +%Y-%m-%d; /usr/bin/python3 -c \"import time; print(time.localtime().tm_year)\"; sleep 0.1'; echo $?", needs=("faketime",), run_s=0.3),
        Case("tini", "tini -s -- sh -c 'sleep 0.1 & echo child; exit 3'; echo $?; tini -s -- sh -c 'kill -TERM $$'; echo $?", needs=("tini",)),
        Case("moreutils", "seq 3 >f; sort -r f | sponge f; cat f; chronic sh -c 'echo no; exit 0'; chronic sh -c 'echo out; echo err >&2; exit 3'; echo $?; mispipe 'exit 4' cat; echo $?; echo a | pee 'tr a b' 'cat; sleep 0.1' | sort; ifne cat <f", needs=("sponge", "chronic", "mispipe", "pee", "ifne")),
        Case("inotifywait", "mkdir d; inotifywait -q -e create --format %f d >o 2>e & p=$!; until grep -q inotify /proc/$p/fdinfo/* 2>/dev/null; do sleep 0.02; done; touch d/x; wait $p; echo $?; cat o e", needs=("inotifywait",)),
        Case("cpio_pigz", "mkdir d; seq 5000 >d/a; find d | sort | cpio -o --quiet --reproducible 2>/dev/null | pigz -n -p 2 | gzip -dc | cpio -it --quiet; rm -r d", needs=("cpio", "pigz")),
        Case("dpkg_deb", "mkdir -p k/DEBIAN k/usr; printf 'Package: k\\nVersion: 1\\nArchitecture: all\\nMaintainer: a <a@b>\\nDescription: k\\n' >k/DEBIAN/control; echo x >k/usr/x; chmod 755 k k/DEBIAN; dpkg-deb --root-owner-group -Zxz -b k k.deb; dpkg-deb -c k.deb | awk '{print $1, $2, $6}'; dpkg-deb -f k.deb Package; dpkg-deb -R k.deb u; cat u/usr/x; rm -rf k k.deb u", needs=("dpkg-deb", "xz")),
        Case("valgrind", "valgrind -q --error-exitcode=9 --trace-children=yes sh -c 'echo in; /bin/echo below; exit 3'; echo $?", needs=("valgrind",), heavy=True, run_s=3),
        Case("gdb", "gdb -nx -batch -ex 'set startup-with-shell on' -ex run -ex 'info program' --args /bin/sh -c 'exit 3' 2>&1 | grep -E 'exited|not being run'", needs=("gdb",), heavy=True, run_s=1, unlike=((r"process \d+", "process"), (r"\[Thread .*\n", ""))),
        Case("strace_starts", "strace -qq -f -e trace=execve -e signal=none -o t sh -c '/bin/echo a; /bin/echo b'; grep -c 'execve(.*= 0' t", needs=("strace",), ignore=("^t$",)),
        Case("dbus_session", "dbus-run-session -- sh -c 'dbus-send --session --print-reply=literal --dest=org.freedesktop.DBus / org.freedesktop.DBus.NameHasOwner string:org.freedesktop.DBus | tr -d \" \"; sleep 0.1; exit 3' 2>/dev/null; echo $?", needs=("dbus-run-session", "dbus-send"), run_s=0.4),
        Case("setarch", "setarch x86_64 -R sh -c 'uname -m; exit 3'; echo $?; linux32 uname -m", needs=("setarch", "linux32")),
        Case("exec_environments", "env -i A=1 /bin/sh -c 'export | grep -c A'; env -u HOME A=2 sh -c 'echo $A ${HOME-none}'; perl -e '%ENV = (A => 3); exec \"/bin/sh\", \"-c\", \"echo \\$A\"'; /usr/bin/python3 -c 'import os; os.execve(\"/bin/sh\", [\"odd name\", \"-c\", \"echo $0 $A\"], {\"A\": \"4\"})'; bash -c 'exec -c /bin/sh -c \"echo ${A-none}\"'; bash -c 'exec -a other sh -c \"echo \\$0\"'", needs=("perl",)),
        Case("exec_errors", "mkdir d; echo 'exit 6' >t; chmod +x t; cp /bin/true n; chmod 644 n; ln -s l l; printf '#!/none\\n' >i; chmod +x i; for s in bash dash; do for p in ./none ./d ./n ./l ./i ./t none /etc/passwd/x; do $s -c \"$p\" 2>/dev/null; echo $s $p $?; done; done; for p in ./none ./d ./n ./l ./i none; do env $p; echo $?; nice $p 2>/dev/null; echo $?; /usr/bin/python3 -c \"import os, subprocess\ntry: os.execvp('$p', ['x'])\nexcept OSError as e: print(e.errno)\ntry: subprocess.run(['$p'])\nexcept OSError as e: print(e.errno)\ntry: os.posix_spawnp('$p', ['x'], os.environ)\nexcept OSError as e: print(e.errno)\"; done", quick=True, run_s=1),
        Case("exec_limits", "ulimit -n 5; sh -c '/bin/echo few; cat /dev/null; ls /none'; bash -c 'exec 3</dev/null 4</dev/null; exec /bin/echo fewer'; echo $?", racy=True),
    ]
