# SPDX-License-Identifier: Apache-2.0
"""The programs of transparency.py. A case prints what is the same in every run, and nothing else."""

from dataclasses import dataclass, field


@dataclass
class Case:
    name: str
    script: str  # for bash, in an empty folder; $PORT is free, $SUBJECT is subject.c
    needs: tuple = ()
    quick: bool = False  # belongs to the short run
    racy: bool = False  # many runs: what goes wrong goes wrong now and then
    heavy: bool = False  # one way of tracing is enough
    root: bool = False
    unordered: bool = False  # lines come in any order
    unlike: tuple = field(default=())  # (pattern, in its place)
    ignore: tuple = field(default=())  # patterns of files that differ


CASES = [
    # ---- shells and their descriptors ----
    Case("bash_progress", 'exec 3>&1\nv=$( { echo progress >&3; echo result; } )\necho "v=$v"', quick=True, racy=True),
    Case("bash_3_to_9", 'for i in 3 4 5 6 7 8 9; do eval "exec $i>out.$i"; done\nfor i in 3 4 5 6 7 8 9; do eval "echo to $i >&$i"; eval "exec $i>&-"; done\ncat out.*', quick=True, racy=True),
    Case("bash_low_numbers", "exec 5> 5.txt 6> 6.txt 4> 4.txt; echo a >&5; echo b >&6; echo c >&4; exec 5>&-; ls /proc/self/fd | wc -l; cat *.txt", quick=True, racy=True),
    Case("dash_low_numbers", "exec dash -c 'exec 5> 5.txt 6> 6.txt 4> 4.txt; echo a >&5; echo b >&6; echo c >&4; exec 5>&-; cat *.txt'", needs=("dash",), quick=True, racy=True),
    Case("bash_closed_streams", "exec 0<&-; true >x; echo closed; bash -c 'exec <&-; cat' 2>&1; echo $?; exec 2>&-; ls /nonexistent; echo $?", racy=True),
    Case("bash_substitution", "diff <(seq 1 100) <(seq 1 100 | sed s/50/x/); cat <(echo a) <(echo b); echo $?", racy=True),
    Case("bash_coproc", 'coproc C { while read -r a; do echo "got $a"; done; }\nfor i in 1 2 3; do echo $i >&${C[1]}; read -r l <&${C[0]}; echo "$l"; done\necho ${C[0]} ${C[1]}', racy=True),
    Case("bash_jobs", "trap 'echo caught' USR1; sleep 5 & p=$!; kill -USR1 $$; kill $p; wait $p; echo $?; (exit 7) & wait $!; echo $?"),
    Case("bash_read_timeout", "read -t 0.1 a < <(sleep 0.5); echo $?; read -t 5 a < <(echo word); echo $a"),
    Case("bash_limits", "ulimit -n 12; exec 9>nine; echo 9 >&9; exec 11>&9; echo $?; (exec 12>&9) 2>/dev/null; echo $?"),
    Case("bash_pipestatus", "false | true | (exit 3) | cat; echo ${PIPESTATUS[*]}; set -o pipefail; false | true; echo $?"),
    Case("bash_heredoc", "for i in 1 2 3; do cat <<E | tr a-z A-Z\nline $i\nE\ndone; cat <<< string"),
    Case("dash_loop", "dash -c 'i=0; while [ $i -lt 60 ]; do x=$(echo $i); i=$((x+1)); done; echo $i'", needs=("dash",)),
    Case("dash_trap", "dash -c 'trap \"echo bye\" EXIT; (kill -9 $$) ; sleep 1' ; echo $?", needs=("dash",), unlike=((r"line 1: +\d+ ", ""),)),
    # ---- tools ----
    Case("make_gcc", "for i in 1 2 3 4; do echo \"int f$i(void){return $i;}\" >f$i.c; done\necho 'int f1(void),f2(void),f3(void),f4(void);int main(void){return f1()+f2()+f3()+f4();}' >m.c\nprintf 'm: f1.o f2.o f3.o f4.o m.o\\n\\tgcc -o $@ $^\\n%%.o: %%.c\\n\\tgcc -c -o $@ $<\\n' >Makefile\nmake -s -j4; ./m; echo $?", needs=("make", "gcc"), unordered=True),
    Case("make_recursive", "mkdir a b; for d in a b; do printf 'all: x y z\\nx y z:\\n\\t@touch $@\\n' >$d/Makefile; done; printf 'all: a b\\n.PHONY: a b\\na b:\\n\\t@$(MAKE) -s -C $@\\n' >Makefile; make -s -j3; find . | sort; echo $?", needs=("make",), racy=True),
    Case("tar", "mkdir d; seq 1 2000 >d/a; ln -s a d/b; tar --sort=name --mtime=@0 --owner=0 --group=0 -czf t.tgz d; rm -r d; tar xzf t.tgz; tar tzf t.tgz; rm t.tgz", needs=("tar", "gzip")),
    Case("tar_pipe", "mkdir d e; seq 1 200000 >d/a; tar cf - d | tar xf - -C e; cmp d/a e/d/a; echo $?"),
    Case("rsync", "mkdir a; seq 1 1000 >a/x; seq 1 50 >a/y; rsync -a --delete a/ b/; echo more >>a/x; rsync -ai a/ b/; cmp a/x b/x", needs=("rsync",), unlike=((r"^(\S+) ", r""),), ignore=()),
    Case("git", "export GIT_AUTHOR_DATE=2000-01-01T00:00:00Z GIT_COMMITTER_DATE=2000-01-01T00:00:00Z GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; git init -q -b m r; cd r; for i in 1 2 3; do echo $i >f; git add f; git commit -qm $i; done; git log --format=%H; git clone -q . ../c; cd ../c; git gc -q; git fsck; git rev-list --count HEAD; cd ..; rm -rf r c", needs=("git",)),
    Case("xargs", "seq 1 40 | xargs -P4 -n1 sh -c 'echo $0'", unordered=True),
    Case("xz", "seq 1 100000 | xz -T2 -c | xz -dc | md5sum", needs=("xz",)),
    Case("zstd", "seq 1 100000 | zstd -qc -T2 | zstd -qdc | md5sum", needs=("zstd",)),
    Case("sort", "seq 1 100000 | sort -r --parallel=2 -S 1M | head -3; seq 5 | shuf --random-source=/dev/zero"),
    Case("find_exec", "mkdir -p a/b/c; touch a/1 a/b/2 a/b/c/3; find a -type f -exec sh -c 'echo $0; exit 1' {} \\; | sort; find a | sort | xargs ls -d"),
    Case("dd", "dd if=/dev/zero of=z bs=4k count=64 status=none; dd if=z bs=1 count=3 2>/dev/null | od -c; wc -c z"),
    Case("tee_timeout", "seq 3 | tee a b >c; timeout 0.2 sleep 5; echo $?; timeout -s KILL 0.2 sh -c 'while :; do :; done'; echo $?", unlike=((r"line 1: +\d+ ", ""),)),
    Case("flock", "for i in 1 2 3 4; do flock l sh -c 'n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) >n' & done; wait; cat n", needs=("flock",)),
    Case("stdbuf_nohup", "seq 3 | stdbuf -oL sed s/2/x/; nohup sh -c 'echo kept' 2>/dev/null; env -i /bin/echo bare"),
    Case("awk_sed", "seq 9 >f; awk '{s+=$1; print | \"cat\"} END {print s; close(\"cat\")}' f; sed -i s/5/five/ f; awk 'BEGIN { while ((\"echo a b\" | getline l) > 0) print l }'"),
    Case("diff_patch", "seq 9 >a; seq 9 | sed s/5/x/ >b; diff -u --label a --label b a b >p; patch -s a p; cmp a b; echo $?", needs=("patch",)),
    Case("sqlite3", "for i in 1 2 3; do sqlite3 d.db 'create table if not exists t(a); insert into t values(1)'; done; sqlite3 d.db 'select count(*) from t'; rm d.db", needs=("sqlite3",)),
    Case("openssl", "echo text | openssl dgst -sha256; openssl enc -aes-128-cbc -K 00 -iv 00 -in /etc/hostname 2>/dev/null | wc -c; openssl rand 8 | wc -c", needs=("openssl",)),
    Case("ssh_keygen", "ssh-keygen -q -t ed25519 -N '' -f k; ls; wc -l <k.pub", needs=("ssh-keygen",), ignore=("^k",)),
    Case("curl_file", "echo x >f; curl -s file://$PWD/f; curl -s http://127.0.0.1:1/; echo $?", needs=("curl",)),
    Case("bc_jq_ed", "echo 2^100 | bc; echo '{\"a\":[1,2]}' | jq -c .a; printf 'a\\nx\\n.\\nw f\\nq\\n' | ed -s; cat f", needs=("bc", "jq", "ed")),
    Case("tclsh", "echo 'set f [open \"|cat\" r+]; puts $f x; flush $f; puts [gets $f]; after 100; puts $f; close $f' | tclsh", needs=("tclsh",)),
    Case("script", "script -qec 'tty >/dev/null && echo terminal' /dev/null; echo $?", needs=("script",)),
    Case("socat", "socat UNIX-LISTEN:s,fork EXEC:cat & p=$!; until [ -S s ]; do sleep 0.05; done; for i in 1 2 3; do echo $i | socat - UNIX-CONNECT:s; done; kill $p; wait $p; echo $?", needs=("socat",), unlike=((r"^\d{4}/.*", "log"),), ignore=("^s$",)),
    Case("nice_taskset", "nice -n 5 nice; taskset -c 0 sh -c 'taskset -p $$' | sed 's/.*://'; prlimit --nofile=8 sh -c 'ulimit -n; exec 7>&1; echo seven >&7'", needs=("taskset", "prlimit")),
    Case("strace", "strace -qq -f -e trace=exit_group -o t sh -c 'exit 3'; echo $?; grep -c exit_group t", needs=("strace",), ignore=("^t$",)),
    # ---- languages ----
    Case("perl_fork", "perl -e 'for (1..30) { pipe(R,W); if (!fork) { close R; print W \"$_\\n\"; exit $_ } close W; print scalar <R>; wait; print $?>>8, \"\\n\" }'", needs=("perl",), racy=True),
    Case("perl_numbers", "perl -e 'open(A,\">a\"); open(B,\">b\"); print fileno(A), fileno(B), \"\\n\"; close A; select(undef,undef,undef,0.2); open(C,\">c\"); print fileno(C), \"\\n\"; print `echo sub`; system(\"exit 4\"); print $?>>8, \"\\n\"'", needs=("perl",), quick=True, racy=True),
    Case("python_fork", "/usr/bin/python3 -W error -c '\nimport os, time\ntime.sleep(0.1)\nfor i in range(20):\n    pid = os.fork()\n    if pid == 0: os._exit(i)\n    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n    with open(\"/proc/self/stat\") as f: print(f.read().split(\")\")[1].split()[17])\n'", needs=("/usr/bin/python3",), quick=True),
    Case("python_subprocess", "/usr/bin/python3 -c '\nimport subprocess\nfor i in range(15):\n    print(subprocess.run([\"ls\", \"/proc/self/fd\"], capture_output=True, close_fds=bool(i % 2), text=True).stdout.split())\np = subprocess.Popen([\"cat\"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=lambda: None)\nprint(p.communicate(b\"x\" * 100000)[0].__len__())\n'", quick=True, racy=True),
    Case("python_multiprocessing", "cat >m.py <<'E'\nimport multiprocessing as mp\ndef f(x): return x * x\nif __name__ == '__main__':\n    for kind in ('fork', 'spawn', 'forkserver'):\n        with mp.get_context(kind).Pool(3) as p: print(kind, sum(p.map(f, range(200))))\nE\n/usr/bin/python3 -W error m.py; rm -rf __pycache__"),
    Case("python_threads", "/usr/bin/python3 -c '\nimport threading, queue, time\nq = queue.Queue()\nts = [threading.Thread(target=lambda: (time.sleep(0.001), q.put(1))) for _ in range(200)]\n[t.start() for t in ts]; [t.join() for t in ts]\nprint(q.qsize(), threading.active_count())\n'", racy=True),
    Case("python_asyncio", "/usr/bin/python3 -c '\nimport asyncio\nasync def one(i):\n    p = await asyncio.create_subprocess_exec(\"echo\", str(i), stdout=asyncio.subprocess.PIPE)\n    return (await p.communicate())[0].decode().strip()\nasync def main(): print(await asyncio.gather(*[one(i) for i in range(20)]))\nasyncio.run(main())\n'", racy=True),
    Case("python_numbers", "/usr/bin/python3 -c '\nimport os, time, resource, socket\nt = time.time()\nodd = 0\nwhile time.time() - t < 0.3:\n    a = os.open(\"/dev/null\", 0); b, c = os.pipe(); odd += (a, b, c) != (3, 4, 5)\n    os.close(a); os.close(b); os.close(c)\nprint(odd)\nresource.setrlimit(resource.RLIMIT_NOFILE, (6, 6))\ns = socket.socketpair(); f = os.open(\"/dev/null\", 0)\ntry: os.open(\"/dev/null\", 0)\nexcept OSError as e: print(e.errno)\n'", quick=True, racy=True),
    Case("python_signals", "/usr/bin/python3 -c '\nimport signal, time, os\ngot = []\nsignal.signal(signal.SIGALRM, lambda *a: got.append(1))\nsignal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)\nwhile len(got) < 10: signal.pause()\nsignal.setitimer(signal.ITIMER_REAL, 0)\nprint(signal.sigpending(), sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))\n'"),
    Case("python_http", "echo hello >f; /usr/bin/python3 -m http.server --bind 127.0.0.1 $PORT >/dev/null 2>&1 & p=$!; for i in $(seq 200); do curl -sf http://127.0.0.1:$PORT/f && break; sleep 0.05; done; for i in 1 2 3; do curl -s http://127.0.0.1:$PORT/f; done; kill $p; wait $p; echo $?", needs=("curl",)),
    Case("node", "node -e 'const fs=require(\"fs\");const {execSync,spawn}=require(\"child_process\");console.log(fs.openSync(\"x\",\"w\")>2);console.log(execSync(\"echo sub\").toString().trim());const c=spawn(\"cat\");c.stdout.on(\"data\",d=>console.log(d.toString()));c.on(\"close\",n=>console.log(n));c.stdin.end(\"in\")'", needs=("node",)),
    Case("node_workers", "node -e 'const {Worker}=require(\"worker_threads\");let n=0;for(let i=0;i<6;i++){new Worker(\"require(\\\"worker_threads\\\").parentPort.postMessage(1)\",{eval:true}).on(\"message\",()=>{if(++n==6)console.log(\"six\")})}'", needs=("node",)),
    Case("java", "cat >H.java <<'E'\npublic class H { public static void main(String[] a) throws Exception { Thread[] t = new Thread[20]; int[] n = {0}; for (int i = 0; i < 20; i++) (t[i] = new Thread(() -> { synchronized (n) { n[0]++; } })).start(); for (Thread x : t) x.join(); System.out.println(n[0]); System.out.println(new String(Runtime.getRuntime().exec(new String[]{\"echo\",\"sub\"}).getInputStream().readAllBytes()).trim()); System.exit(3); } }\nE\njava H.java; echo $?", needs=("java", "javac")),
    # ---- servers ----
    Case("nginx", "echo hello >index.html; chmod 755 .; printf 'daemon off; worker_processes 2; pid %s/pid; error_log stderr crit; events {} http { access_log off; server { listen 127.0.0.1:%s; root %s; } }' $PWD $PORT $PWD >n.conf; nginx -p $PWD -c $PWD/n.conf & p=$!; until curl -sf http://127.0.0.1:$PORT/ >/dev/null; do sleep 0.05; done; for i in $(seq 10); do curl -s http://127.0.0.1:$PORT/; done; kill -HUP $p; sleep 0.3; curl -s http://127.0.0.1:$PORT/; kill -QUIT $p; wait $p; echo $?", needs=("nginx", "curl"), ignore=("n.conf", "_temp")),
    Case("nginx_daemon", "echo hello >index.html; chmod 755 .; printf 'pid %s/pid; error_log %s/err crit; events {} http { access_log off; server { listen 127.0.0.1:%s; root %s; } }' $PWD $PWD $PORT $PWD >n.conf; nginx -p $PWD -c $PWD/n.conf; echo $?; until curl -sf http://127.0.0.1:$PORT/ >/dev/null; do sleep 0.05; done; for i in 1 2 3; do curl -s http://127.0.0.1:$PORT/; done; p=$(cat pid); nginx -p $PWD -c $PWD/n.conf -s quit; while kill -0 $p 2>/dev/null; do sleep 0.05; done; cat err", needs=("nginx", "curl"), unlike=((r"^\S+ \S+ \[notice\].*", "notice"),), ignore=("n.conf", "_temp")),
    Case("redis", "redis-server --port 0 --unixsocket $PWD/s --save '' --appendonly yes --logfile log & p=$!; until redis-cli -s s ping >/dev/null 2>&1; do sleep 0.05; done; for i in 1 2 3; do redis-cli -s s incr n; done; redis-cli -s s bgsave >/dev/null; redis-cli -s s bgrewriteaof >/dev/null; redis-cli -s s config set save '' >/dev/null; redis-cli -s s shutdown nosave; wait $p; echo $?", needs=("redis-server", "redis-cli"), ignore=("log", "dump", "appendonly", "temp")),
    Case("memcached", "memcached -u nobody -l 127.0.0.1 -p $PORT -t 2 & p=$!; for i in $(seq 100); do printf 'set a 0 0 1\\r\\nx\\r\\nget a\\r\\nquit\\r\\n' | nc -w1 127.0.0.1 $PORT 2>/dev/null && break; sleep 0.05; done; kill $p; wait $p; echo $?", needs=("memcached", "nc"), racy=False),
    Case("haproxy", "printf 'global\\n maxconn 50\\n nbthread 2\\ndefaults\\n mode http\\n timeout connect 1s\\n timeout client 2s\\n timeout server 2s\\nfrontend f\\n bind 127.0.0.1:%s\\n http-request return status 200 content-type text/plain string hello\\n' $PORT >h.cfg; haproxy -c -f h.cfg >/dev/null; echo $?; haproxy -db -f h.cfg >/dev/null 2>&1 & p=$!; until curl -sf http://127.0.0.1:$PORT/ >/dev/null; do sleep 0.05; done; for i in 1 2 3; do curl -s http://127.0.0.1:$PORT/; echo; done; kill -USR1 $p; wait $p; echo $?", needs=("haproxy", "curl"), ignore=("h.cfg",)),
    Case("haproxy_workers", "printf 'global\\n maxconn 50\\ndefaults\\n mode http\\n timeout connect 1s\\n timeout client 2s\\n timeout server 2s\\nfrontend f\\n bind 127.0.0.1:%s\\n http-request return status 200 content-type text/plain string hello\\n' $PORT >h.cfg; haproxy -W -db -f h.cfg >/dev/null 2>&1 & p=$!; until curl -sf http://127.0.0.1:$PORT/ >/dev/null; do sleep 0.05; done; curl -s http://127.0.0.1:$PORT/; kill -TERM $p; wait $p; echo $?", needs=("haproxy", "curl"), ignore=("h.cfg",)),
    Case("postgres", "chmod 777 .; B=/usr/lib/postgresql/15/bin; D=$PWD/d; P='setpriv --reuid postgres --regid postgres --clear-groups env HOME=/tmp'; $P $B/initdb -D $D -A trust -N >/dev/null 2>&1; echo $?; $P $B/pg_ctl -D $D -o \"-k $PWD -c listen_addresses='' -F\" -l $PWD/d/log -w -s start; for i in 1 2 3 4 5; do psql -h $PWD -U postgres -Atc \"select count(*) from pg_class c, generate_series(1,$i) where relname='pg_class'\"; done; psql -h $PWD -U postgres -Atc 'set parallel_setup_cost=0; set max_parallel_workers_per_gather=2; select pg_sleep(0.1); create table t as select generate_series(1,100000) a; select sum(a) from t'; $P $B/pg_ctl -D $D -m fast -s -w stop; echo $?; rm -rf d", needs=("psql", "initdb", "setpriv"), root=True, heavy=True, ignore=("^d/", "PGSQL")),
    Case("mariadb", "chmod 777 .; U='--user=mysql --datadir='$PWD/d' --skip-networking --socket='$PWD/s; mkdir d; chown mysql d; mariadb-install-db --user=mysql --datadir=$PWD/d --skip-test-db --auth-root-authentication-method=normal >/dev/null 2>&1; echo $?; mariadbd --no-defaults $U --innodb-buffer-pool-size=8M >log 2>&1 & p=$!; until mariadb --no-defaults -uroot -S$PWD/s -e 'select 1' >/dev/null 2>&1; do kill -0 $p || break; sleep 0.1; done; for i in 1 2 3; do mariadb --no-defaults -uroot -S$PWD/s -Ne \"select $i+1, sleep(0.05)\"; done; mariadb --no-defaults -uroot -S$PWD/s -e shutdown; wait $p; echo $?; rm -rf d", needs=("mariadbd", "mariadb", "mariadb-install-db"), root=True, heavy=True, ignore=("^log", "^d/")),
    Case("start_stop_daemon", "start-stop-daemon -S -b -m -p $PWD/pid -x /bin/sleep -- 30; echo $?; for i in $(seq 100); do [ -s pid ] && start-stop-daemon -T -p pid && break; sleep 0.02; done; echo up; start-stop-daemon -K -p pid --retry TERM/5; echo $?", needs=("start-stop-daemon",), unlike=((r"\d{2,}", "N"),), ignore=("^pid",), racy=True),
    # ---- identity and namespaces ----
    Case("unshare_user", "unshare -Ur id -u; unshare -Ur sh -c 'sleep 0.1; cat /proc/self/uid_map; unshare -n ls /sys/class/net >/dev/null; echo $?'; echo $?", needs=("unshare",), quick=True, racy=True),
    Case("unshare_pid", "unshare -Urpf --mount-proc sh -c 'echo $$; sleep 0.1; ls -d /proc/1; cat /proc/1/comm'; echo $?", needs=("unshare",), racy=True),
    Case("setpriv", "setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs sh -c 'sleep 0.1; id; grep -E \"Cap|NoNew\" /proc/self/status'", needs=("setpriv",), root=True),
    Case("su_chroot", "su -s /bin/sh nobody -c 'id -un; sleep 0.1; cat /etc/shadow 2>&1 | wc -l'; chroot / id -u; runuser -u nobody -- id -u", needs=("su", "chroot", "runuser"), root=True),
    # ---- subject.c ----
    *[Case("subject_" + name, f"$SUBJECT {name}; echo $?", quick=True, racy=name in RACY)
      for RACY in [("numbers", "twice", "new_user", "dropper", "strict_beside", "tight_young", "threads", "vforker", "stacks", "same_storage")]
      for name in ("numbers", "closer", "close_range", "twice", "daemon", "dropper", "no_new_privs", "new_user", "new_user_raw",
                   "forker", "raw_forker", "vforker", "tight", "tight_syscall", "tight_young", "strict", "strict_beside",
                   "no_tsc", "signals", "interrupted", "threads", "session", "last_call", "last_instruction", "last_thread", "tasks_limit", "stacks", "queue_notice", "same_storage")],
]
