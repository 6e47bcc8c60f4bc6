#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A file system in memory whose syncs can be held up: the kernel waits for them as for a disk that
does not answer. It speaks FUSE itself, in a mount namespace of its own (and a user namespace, where
it is not root's), which ends with it.

  slow_disk.py FOLDER      mounted there, says "ready"; then each line of standard input, "hold" or
                           "go", holds syncs up or lets them end, and is answered by itself;
                           "held" is answered by the number of those that are held up

Who is to see the folder is started with nsenter, by this process's pid.
"""
import ctypes
import errno
import os
import select
import stat
import struct
import sys
import time

LOOKUP, FORGET, GETATTR, SETATTR, MKNOD, MKDIR, UNLINK, RMDIR, RENAME = 1, 2, 3, 4, 8, 9, 10, 11, 12
OPEN, READ, WRITE, STATFS, RELEASE, FSYNC, FLUSH, INIT = 14, 15, 16, 17, 18, 20, 25, 26
OPENDIR, READDIR, RELEASEDIR, FSYNCDIR, CREATE, INTERRUPT, DESTROY = 27, 28, 29, 30, 35, 36, 38
BATCH_FORGET, RENAME2 = 42, 45
HEADER = struct.Struct("<IIQQIIIHH")
SET_MODE, SET_SIZE = 1, 8
SILENT = object()  # no answer: never, or not now


class Node:
    def __init__(self, number, mode):
        self.number, self.mode = number, mode
        self.data, self.names = bytearray(), {}
        self.changed = time.time()

    def attributes(self):
        at, n = int(self.changed), len(self.data)
        return struct.pack("<6Q10I", self.number, n, (n + 511) // 512, at, at, at, 0, 0, 0, self.mode,
                           2 if self.names else 1, os.getuid(), os.getgid(), 0, 4096, 0)

    def entry(self):
        return struct.pack("<4Q2I", self.number, 0, 0, 0, 0, 0) + self.attributes()


class Disk:
    def __init__(self, device):
        self.device = device
        self.nodes = {1: Node(1, stat.S_IFDIR | 0o777)}
        self.last = 1
        self.holding, self.held = False, []

    # ---- what a request asks for: bytes of the answer, an OSError, or SILENT ----

    def child(self, parent, name):
        if name not in self.nodes[parent].names:
            raise OSError(errno.ENOENT, "")
        return self.nodes[self.nodes[parent].names[name]]

    def made(self, parent, name, mode):
        self.last += 1
        node = self.nodes[self.last] = Node(self.last, mode)
        self.nodes[parent].names[name] = self.last
        return node

    def initialised(self, _node, body):
        _major, _minor, ahead = struct.unpack_from("<3I", body)
        return struct.pack("<4I2H2I2H8I", 7, 31, ahead, 0, 16, 12, 1 << 17, 1, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0)

    def attributes_set(self, node, body):
        valid, = struct.unpack_from("<I", body)
        size, = struct.unpack_from("<Q", body, 16)
        mode, = struct.unpack_from("<I", body, 68)
        node = self.nodes[node]
        if valid & SET_SIZE:
            node.data = node.data[:size].ljust(size, b"\0")
        if valid & SET_MODE:
            node.mode = stat.S_IFMT(node.mode) | stat.S_IMODE(mode)
        return struct.pack("<QII", 0, 0, 0) + node.attributes()

    def created(self, node, body):
        mode, = struct.unpack_from("<I", body, 4)
        return self.made(node, body[16:].rstrip(b"\0"), mode).entry() + bytes(16)

    def folder_made(self, node, body):
        mode, = struct.unpack_from("<I", body)
        return self.made(node, body[8:].rstrip(b"\0"), stat.S_IFDIR | mode).entry()

    def renamed(self, node, names, to):
        old, new = names.split(b"\0")[:2]
        self.nodes[to].names[new] = self.child(node, old).number
        del self.nodes[node].names[old]
        return b""

    def removed(self, node, body):
        self.child(node, body.rstrip(b"\0"))
        del self.nodes[node].names[body.rstrip(b"\0")]
        return b""

    def read(self, node, body):
        _handle, offset, size = struct.unpack_from("<QQI", body)
        return bytes(self.nodes[node].data[offset:offset + size])

    def written(self, node, body):
        _handle, offset, size = struct.unpack_from("<QQI", body)
        node = self.nodes[node]
        node.data = node.data.ljust(offset, b"\0")
        node.data[offset:offset + size] = body[40:40 + size]
        node.changed = time.time()
        return struct.pack("<II", size, 0)

    def listed(self, node, body):
        _handle, offset, size = struct.unpack_from("<QQI", body)
        out = b""
        for i, (name, number) in enumerate(sorted(self.nodes[node].names.items())):
            kind = stat.S_IFMT(self.nodes[number].mode) >> 12
            row = struct.pack("<QQII", number, i + 1, len(name), kind) + name
            row += bytes(-len(row) % 8)
            if i >= offset and len(out) + len(row) <= size:
                out += row
        return out

    def synced(self, unique):
        if self.holding:
            self.held.append(unique)
            return SILENT
        return b""

    def result(self, opcode, unique, node, body):
        if opcode in (FSYNC, FSYNCDIR):
            return self.synced(unique)
        if opcode in (FORGET, BATCH_FORGET, INTERRUPT):
            return SILENT
        if opcode in (RELEASE, RELEASEDIR, FLUSH, DESTROY):
            return b""
        if opcode in (OPEN, OPENDIR):
            return bytes(16)
        if opcode == STATFS:
            return struct.pack("<5Q4I24x", 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 4096, 255, 4096, 0)
        if opcode == LOOKUP:
            return self.child(node, body.rstrip(b"\0")).entry()
        if opcode == GETATTR:
            return struct.pack("<QII", 0, 0, 0) + self.nodes[node].attributes()
        if opcode == MKNOD:
            return self.made(node, body[16:].rstrip(b"\0"), struct.unpack_from("<I", body)[0]).entry()
        if opcode in (RENAME, RENAME2):
            return self.renamed(node, body[16 if opcode == RENAME2 else 8:], struct.unpack_from("<Q", body)[0])
        does = {INIT: self.initialised, SETATTR: self.attributes_set, CREATE: self.created, MKDIR: self.folder_made,
                UNLINK: self.removed, RMDIR: self.removed, READ: self.read, WRITE: self.written, READDIR: self.listed}
        if opcode not in does:
            raise OSError(errno.ENOSYS, "")
        return does[opcode](node, body)

    # ---- the device ----

    def answer(self, unique, error, body=b""):
        try:
            os.write(self.device, struct.pack("<IiQ", 16 + len(body), -error, unique) + body)
        except FileNotFoundError:
            pass  # who asked has been killed meanwhile

    def request(self):
        data = os.read(self.device, (1 << 17) + (1 << 12))
        _length, opcode, unique, node, *_ = HEADER.unpack_from(data)
        try:
            body = self.result(opcode, unique, node, data[HEADER.size:])
        except OSError as error:
            self.answer(unique, error.errno)
            return
        if body is not SILENT:
            self.answer(unique, 0, body)

    def command(self, word):
        if word == "held":
            print(len(self.held), flush=True)
            return
        self.holding = word == "hold"
        if not self.holding:
            for unique in self.held:
                self.answer(unique, 0)
            self.held = []
        print(word, flush=True)


def libc_call(name, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), "%s: %s" % (name, os.strerror(ctypes.get_errno())))


def namespaces_enter():
    """Of its own: what is mounted here ends with the last process in them."""
    user, group = os.geteuid(), os.getegid()
    libc_call("unshare", 0x00020000 | (0 if user == 0 else 0x10000000))  # CLONE_NEWNS, CLONE_NEWUSER
    if user != 0:
        for name, text in (("setgroups", "deny"), ("uid_map", "%d %d 1" % (user, user)),
                           ("gid_map", "%d %d 1" % (group, group))):
            with open("/proc/self/" + name, "w", encoding="ascii") as file:
                file.write(text)
    libc_call("mount", b"none", b"/", None, 0x44000, None)  # MS_REC | MS_PRIVATE


def main():
    folder = sys.argv[1]
    try:
        namespaces_enter()
        device = os.open("/dev/fuse", os.O_RDWR)
        options = "fd=%d,rootmode=40000,user_id=%d,group_id=%d" % (device, os.getuid(), os.getgid())
        libc_call("mount", b"slow_disk", folder.encode(), b"fuse", 6, options.encode())  # MS_NOSUID | MS_NODEV
    except OSError as error:
        print("no file system of our own here (%s)" % error, flush=True)
        return
    disk = Disk(device)
    print("ready", flush=True)
    while True:
        for ready in select.select([device, sys.stdin], [], [])[0]:
            if ready == device:
                disk.request()
                continue
            line = sys.stdin.readline()
            if not line:
                return
            disk.command(line.strip())


if __name__ == "__main__":
    main()
