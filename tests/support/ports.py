# SPDX-License-Identifier: Apache-2.0
"""Ports that two tests never get at once: port.h says how, port.c is the same in C."""
import os
import socket

_kept = {}


def port_take():
    """A tcp port of 127.0.0.1 on which nobody listens, this process's until it ends."""
    for i in range(10000):
        port = 10000 + (os.getpid() * 7 + i) % 10000
        kept = socket.socket(socket.AF_UNIX)
        try:
            kept.bind("\0skein-port-%d" % port)
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            kept.close()
            continue
        _kept[port] = kept
        return port
    raise OSError("no port is free")


def port_give(port):
    """Gives it back before that."""
    _kept.pop(port).close()
