#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every fenced block of README.md as a newcomer would, in its order and in one shell.

    readme.py README BUILD

In a temporary folder, and in a network and a /run and /var/lib of its own, so that the default ports
and folders are free. Blocks by their language:

    console  "$ COMMAND" is run and must succeed; the lines below it are the shape of what it prints
             (on terminals and files alike): words as they are, words with digits stand for any
             such word, "…" for any words or lines. "$ cat FILE" writes the file as it stands there.
    sh       each line must be a target of make.
    c        compiles without a warning, links and runs.
    text     a drawing; not run.

Any other language fails. A command is run again until it prints that shape: daemons take a moment.
"""
import ctypes
import fcntl
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

DEADLINE_S = max(30.0, float(os.environ.get("SKEIN_TEST_DEADLINE_MS", "20000")) / 1000)
END = "readme-block-done"


def fail(what, *more):
    sys.exit("\n".join(["README.md: " + what] + [str(m) for m in more]))


# ---- a world of its own ----


def isolate():
    """Network and mounts of its own; where the kernel refuses, 77: the test is skipped."""
    if os.environ.get("SKEIN_README_INSIDE") != "1":
        words = ["unshare", "--net", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
        if subprocess.run(words + ["true"], capture_output=True).returncode != 0:
            sys.exit(77)
        os.environ["SKEIN_README_INSIDE"] = "1"
        os.execvp("unshare", words + [sys.executable] + sys.argv)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:  # SIOCSIFFLAGS: UP, RUNNING
        fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 0x41))
    libc = ctypes.CDLL(None, use_errno=True)
    for folder in (b"/run", b"/var/lib"):
        if libc.mount(b"none", folder, b"tmpfs", 0, None) != 0:
            sys.exit(77)


def listens(family, kind, address):
    with socket.socket(family, kind) as s:
        try:
            s.connect(address)
        except OSError:
            return False
    return True


def collector_listens():
    return listens(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 7462))


def agent_listens():
    return listens(socket.AF_UNIX, socket.SOCK_SEQPACKET, "/run/skein/agent.sock")


# Who types the commands gives them the moment that they need; a service that is started before its
# agent is there is recorded from later on.
READY = {"skeind": collector_listens, "skein-agent": agent_listens}


def first_served(pid):
    """README shows a machine at rest, where an agent answers within the 5 ms that a start waits for it.
    Beside other tests that takes a higher priority, of the shell's session against others, too. Root may
    have it; whoever may not is served as all are."""
    try:
        os.setpriority(os.PRIO_PROCESS, pid, -10)
        with open(f"/proc/{pid}/autogroup", "w", encoding="ascii") as file:
            file.write("-10")
    except OSError:
        pass


class Shell:
    """One bash for all blocks: variables, jobs and the folder stay."""

    def __init__(self, folder, build, source):
        paths = [os.path.join(build, p) for p in ("cli", "server", "agent", "client-lib/preload")]
        library = os.path.join(build, "client-lib")
        env = dict(os.environ, PATH=":".join(paths + [os.environ["PATH"]]), HOME=folder,
                   CPATH=os.path.join(source, "client-lib/include"), LIBRARY_PATH=library,
                   LD_LIBRARY_PATH=library, NO_COLOR="1")
        for name in ("SKEIN_COLLECTOR", "SKEIN_SOCKET", "SKEIN_TOKEN", "XDG_STATE_HOME"):
            env.pop(name, None)
        self.out = os.path.join(folder, ".out")
        self.bash = subprocess.Popen(["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     cwd=folder, env=env, text=True, start_new_session=True)
        first_served(self.bash.pid)

    def run(self, command):
        """Exit status and output."""
        open(self.out, "w").close()
        if command.endswith("&"):
            line = f"{command[:-1]} >>.log 2>&1 & echo 0 {END}\n"
        else:
            line = f"{{ {command}\n}} >.out 2>&1 </dev/null; echo $? {END}\n"
        self.bash.stdin.write(line)
        self.bash.stdin.flush()
        for answer in self.bash.stdout:
            if END in answer:
                if command.endswith("&"):
                    self.await_ready(command)
                with open(self.out) as file:
                    return int(answer.split()[0]), file.read()
        fail("the shell ended at: " + command)

    def await_ready(self, command):
        ready = READY.get(command.split()[0], lambda: True)
        until = time.monotonic() + DEADLINE_S
        while not ready():
            if time.monotonic() > until:
                fail("does not listen: " + command)
            time.sleep(0.02)

    def end(self):
        self.bash.stdin.write("kill $(jobs -p) 2>/dev/null; wait; exit\n")
        self.bash.stdin.flush()
        try:
            self.bash.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.bash.pid, signal.SIGKILL)


# ---- shapes ----


UNIT = r"(?:ns|us|ms|s|B|[KMGT]iB)"


def pattern(line):
    """Words with a digit are any word, units any unit; all others are themselves."""
    words = []
    for word in line.split():
        if word == "…":
            words.append(".*")
        elif re.search(r"\d", word):
            words.append(r"\S+")
        elif re.fullmatch(UNIT, word):
            words.append(UNIT)
        else:
            words.append(re.escape(word))
    return re.compile(r"\s*" + r"\s+".join(words) + r"\s*$")


def has_shape(shown, printed):
    """Whether the printed lines are as the shown ones, with any lines where "…" stands."""
    def match(i, k):
        while i < len(shown) and shown[i].strip() != "…":
            if k >= len(printed) or not pattern(shown[i]).match(printed[k]):
                return False
            i, k = i + 1, k + 1
        if i == len(shown):
            return k == len(printed)
        return any(match(i + 1, at) for at in range(k, len(printed) + 1))
    return match(0, 0)


def commands_of(block):
    """("$ …" without its comment, lines below it) of a console block."""
    found = []
    for line in block:
        if line.startswith("$ "):
            found.append((re.sub(r"\s{2,}# .*", "", line[2:]), []))
        elif found:
            found[-1][1].append(line)
        else:
            fail("a console block must begin with a command", line)
    return found


# ---- blocks ----


def run_console(shell, block, build, source):
    for command, shown in commands_of(block):
        cat = re.fullmatch(r"cat (\S+)", command)
        if cat:
            with open(os.path.join(os.path.dirname(shell.out), cat.group(1)), "w") as file:
                file.write("\n".join(shown) + "\n")
            continue
        demo = re.fullmatch(r"make demo((?: \w+=\w+)*)", command)
        if demo:  # what make does behind its build
            command = f"{demo.group(1)} DEMO_OUT=$PWD/demo-out {source}/tools/demo.sh {build}"
        until = time.monotonic() + DEADLINE_S
        while True:
            status, printed = shell.run(command)
            good = status == 0 and (not shown or has_shape(shown, printed.splitlines()))
            if good or demo or time.monotonic() > until:
                break
            time.sleep(0.2)
        if not good:
            fail(f"$ {command}", f"exit status {status}; printed:", printed, "instead of:",
                 *shown)


def run_sh(shell, block, build, source):
    for line in block:
        command = line.split("#")[0].strip()
        if not re.fullmatch(r"make \w+", command):
            fail("an sh block names targets of make; use console for commands", line)
        subprocess.run(["make", "-C", source, "-n"] + command.split()[1:], check=True,
                       stdout=subprocess.DEVNULL)


def run_c(shell, block, build, source):
    folder = os.path.dirname(shell.out)
    with open(os.path.join(folder, "checkout.c"), "w") as file:
        file.write("\n".join(block) + "\n")
    for command in ("cc -Wall -Wextra -Werror checkout.c -o checkout -lskein", "./checkout"):
        status, printed = shell.run(command)
        if status != 0:
            fail(command, printed)


def main():
    readme, build = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    source = os.path.dirname(readme)
    isolate()
    runners = {"console": run_console, "sh": run_sh, "c": run_c, "text": lambda *_: None}
    with open(readme) as file:
        blocks = re.findall(r"^```(\w*)\n(.*?)^```$", file.read(), re.M | re.S)
    if not blocks:
        fail("no blocks")
    folder = tempfile.mkdtemp(prefix="skein-readme.")
    shell = Shell(folder, build, source)
    try:
        for language, text in blocks:
            if language not in runners:
                fail(f"a block of language '{language}'; {', '.join(runners)} are run", text)
            runners[language](shell, text.splitlines(), build, source)
    except BaseException:
        log = os.path.join(folder, ".log")
        if os.path.exists(log):
            with open(log) as file:
                print(file.read()[-4000:], file=sys.stderr)
        raise
    finally:
        shell.end()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(blocks)} blocks")


main()
