# SPDX-License-Identifier: Apache-2.0
"""Skein for Python: what a service marks in its code is in its recording.

    import skein

    skein.start(service="checkout")
    with skein.region("query", sql=text):          # until the block ends, on this thread
        skein.instant("cache_miss", key=7)
    skein.counter("queue_depth", 12)
    skein.log("retrying", level=skein.WARN)

    @skein.region("checkout")                      # each call; coroutines become spans
    def checkout(cart): ...

    async with skein.span("fetch", url=url):       # may interleave with others of its thread,
        await get(url)                             # and end on another

Events go into a ring in shared memory, which the host's skein-agent keeps; nothing else happens
until somebody asks for a capture. The binding is ctypes over libskein.so: an event costs about a
microsecond more than in C. Where there is no libskein.so, everything here does nothing, and `why`
says so: a service must not fail for want of its recorder.

Arguments are keywords: bool, int (64 bits), float, and anything else as its str(). An event's type
is its name with the names and types of its arguments; a process may have TYPES_MAX of them, beyond
which events are counted in `refused` and not recorded. So put what varies into arguments, not into
names. Threads: all functions, any thread. Nothing blocks but start() and stop().
"""

import ctypes
import ctypes.util
import functools
import inspect
import os
import sys
import threading

__all__ = ["DEBUG", "INFO", "WARN", "ERROR", "TYPES_MAX", "attached", "counter", "health", "instant",
           "log", "region", "snapshot", "span", "start", "stop", "thread_name", "wait_attached"]

DEBUG, INFO, WARN, ERROR = 0, 1, 2, 3

ARGS_MAX = 6
TYPES_MAX = 4096
GROUPS = {"app": 0, "net": 1, "io": 2, "lock": 3, "thread": 4, "sleep": 5, "log": 6}

_INSTANT, _RANGE_BEGIN, _SPAN, _COUNTER, _LOG = 1, 2, 3, 4, 5
_U64, _I64, _F64, _BOOL, _STR = 1, 2, 3, 4, 6


class _ArgDesc(ctypes.Structure):
    _fields_ = [("type", ctypes.c_uint8), ("name", ctypes.c_char_p), ("unit", ctypes.c_char_p)]


class _Site(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint64), ("name", ctypes.c_char_p), ("text", ctypes.c_char_p),
                ("file", ctypes.c_char_p), ("line", ctypes.c_uint32), ("klass", ctypes.c_uint8),
                ("group", ctypes.c_uint8), ("nargs", ctypes.c_uint8),
                ("args", _ArgDesc * ARGS_MAX)]


class _Value(ctypes.Union):
    _fields_ = [("u64", ctypes.c_uint64), ("i64", ctypes.c_int64), ("f64", ctypes.c_double),
                ("str", ctypes.c_char_p)]


class _Scope(ctypes.Structure):
    _fields_ = [("depth", ctypes.c_uint32)]


class _Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("service", ctypes.c_char_p),
                ("labels", ctypes.c_char_p), ("agent_socket", ctypes.c_char_p),
                ("mode", ctypes.c_int), ("ring_bytes", ctypes.c_uint64)]


def _load():
    """libskein.so, and why not. PyDLL: no call here waits, so none gives up the interpreter."""
    wanted = os.environ.get("SKEIN_LIBRARY")
    error = "there is no libskein.so.0"
    for name in [wanted] if wanted else ["libskein.so.0", ctypes.util.find_library("skein")]:
        if not name:
            continue
        try:
            library = ctypes.PyDLL(name)
            library.skein_span_begin  # older ones lack it
            return library, ""
        except (OSError, AttributeError) as failure:
            error = str(failure)
    return None, error


_lib, why = _load()
refused = 0

if _lib is not None:
    _site_p, _values_p = ctypes.POINTER(_Site), ctypes.POINTER(_Value)
    _lib.skein_emit.argtypes = [_site_p, _values_p]
    _lib.skein_emit.restype = None
    _lib.skein_region_open.argtypes = [_site_p, _values_p]
    _lib.skein_region_open.restype = _Scope
    _lib.skein_end.argtypes = []
    _lib.skein_end.restype = None
    _lib.skein_span_begin.argtypes = [_site_p]
    _lib.skein_span_begin.restype = ctypes.c_uint64
    _lib.skein_span_end.argtypes = [_site_p, ctypes.c_uint64, _values_p]
    _lib.skein_span_end.restype = None
    _lib.skein_attached.restype = ctypes.c_bool
    _lib.skein_health.argtypes = [ctypes.c_bool, ctypes.c_char_p]
    _lib.skein_snapshot.argtypes = [ctypes.c_char_p]
    _lib.skein_thread_name.argtypes = [ctypes.c_char_p]
    _lib.skein_thread_name.restype = None
    _lib.skein_status_text.argtypes = [ctypes.c_int]
    _lib.skein_status_text.restype = ctypes.c_char_p
    _thread_stack = getattr(_lib, "skein_thread_stack", None)  # older ones lack it
    if _thread_stack is not None:
        _thread_stack.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    # These two wait, and let other threads run meanwhile.
    _waiting = ctypes.CDLL(_lib._name)
    _waiting.skein_start.argtypes = [ctypes.POINTER(_Options)]
    _waiting.skein_wait_attached.argtypes = [ctypes.c_uint]
    _waiting.skein_stop.restype = None


def _bytes(text):
    return str(text).encode("utf-8", "replace").replace(b"\0", b"\xef\xbf\xbd")


# ---- threads ----

class _Thread(threading.local):
    """Has libskein know the stack of each thread, so that what lasts on it carries its frames."""

    def __init__(self):  # once in each thread, with its first look at this
        if _lib is not None and _thread_stack is not None:
            _thread_stack(None, 0)

    def begin(self):
        pass


_thread = _Thread()


# ---- event types ----

# Never shrinks: libskein keeps their addresses. Without a lock: a signal's handler, a finalizer or
# the child of a fork comes here while another has it, or this very thread.
_sites = {}


def _kind(value):
    if isinstance(value, bool):
        return _BOOL
    if isinstance(value, int):
        if -(1 << 63) <= value < 1 << 63:
            return _I64
        return _U64 if 0 <= value < 1 << 64 else _STR
    return _F64 if isinstance(value, float) else _STR


def _site_new(klass, group, name, shape):
    number = GROUPS.get(group, group)
    if not isinstance(number, int) or not 0 <= number < 64:
        raise ValueError("group is one of %s, or a number from 16 to 63; not %r"
                         % (", ".join(GROUPS), group))
    if len(shape) > ARGS_MAX:
        raise ValueError("an event has at most %d arguments, not %d" % (ARGS_MAX, len(shape)))
    site = _Site(name=_bytes(name), text=b"", file=b"", klass=klass, group=number,
                 nargs=len(shape))
    for i, (key, kind) in enumerate(shape):
        site.args[i] = _ArgDesc(kind, _bytes(key), b"")
    return ctypes.pointer(site), site  # the pointer is what calls take; both stay


def _site(klass, group, name, shape):
    """The event type; None: there are too many."""
    global refused
    key = (klass, group, name, shape)
    found = _sites.get(key)
    if found is None:
        if len(_sites) >= TYPES_MAX:  # threads that come at once may exceed it by one each
            refused += 1
            return None
        found = _sites.setdefault(key, _site_new(klass, group, name, shape))
    return found[0]


def _shape(args):
    return tuple((key, _kind(value)) for key, value in args.items())


def _values(shape, args):
    values = (_Value * len(shape))() if shape else None
    for i, ((_, kind), value) in enumerate(zip(shape, args)):
        if kind == _STR:
            values[i].str = _bytes(value)  # the array keeps the bytes
        elif kind == _F64:
            values[i].f64 = value
        elif kind == _I64:
            values[i].i64 = value
        else:
            values[i].u64 = value
    return values


def _emit(klass, group, name, args):
    if _lib is None:
        return
    shape = _shape(args)
    site = _site(klass, group, name, shape)
    if site is not None:
        _lib.skein_emit(site, _values(shape, args.values()))


# ---- what people call ----

def start(service=None, labels=None, socket=None, ring_bytes=0):
    """Starts recording as soon as an agent can be reached, now or later. `labels`: a dict, or
    "zone=a,version=2". Returns whether the recorder runs; if not, `why` says why."""
    global why
    if _lib is None:
        return False
    if isinstance(labels, dict):
        labels = ",".join("%s=%s" % pair for pair in labels.items())
    options = _Options(size=ctypes.sizeof(_Options), ring_bytes=ring_bytes)
    if service is not None:
        options.service = _bytes(service)
    if labels is not None:
        options.labels = _bytes(labels)
    if socket is not None:
        options.agent_socket = _bytes(socket)
    status = _waiting.skein_start(ctypes.byref(options))
    why = "" if status == 0 else _lib.skein_status_text(status).decode()
    return status == 0


def stop():
    """Ends recording: a normal end. Runs by itself at exit."""
    if _lib is not None:
        _waiting.skein_stop()


def attached():
    """Whether events are recorded now."""
    return _lib is not None and _lib.skein_attached()


def wait_attached(timeout_ms):
    """Waits until they are; returns whether they are. For tools that are soon over, and tests."""
    return _lib is not None and _waiting.skein_wait_attached(timeout_ms) == 0


def snapshot(reason=""):
    """Asks for a capture of what happened just before. Returns whether it was asked for."""
    return _lib is not None and _lib.skein_snapshot(_bytes(reason)) == 0


def health(ok, reason=None):
    """The service's heartbeat: that it is well, or not and why. Returns whether it was said."""
    return (_lib is not None
            and _lib.skein_health(bool(ok), None if reason is None else _bytes(reason)) == 0)


def thread_name(name):
    """Names the calling thread in captures, at most 31 bytes."""
    if _lib is not None:
        _lib.skein_thread_name(_bytes(name))


def instant(name, /, group="app", **args):
    """Something happened."""
    _emit(_INSTANT, group, name, args)


def counter(name, value, /, group="app"):
    """A value from now on."""
    if isinstance(value, (bool, int, float)):
        _emit(_COUNTER, group, name, {"value": value})
    else:
        raise TypeError("a counter's value is a number, not %s" % type(value).__name__)


def log(text, /, level=INFO, group="log"):
    """A line of the log."""
    if _lib is not None:
        shape = (("level", _U64), ("text", _STR))
        site = _site(_LOG, group, "log", shape)
        if site is not None:
            _lib.skein_emit(site, _values(shape, (int(level), text)))


class span:
    """A region that need not nest: `with`, `async with`, or a decorator. One record at its end, so a
    snapshot does not show it while it lasts. Of an exception the type's name is argument `error`."""

    def __init__(self, name, /, group="app", **args):
        self._what, self._args = (group, name), args
        self._site = None
        if _lib is not None:
            self._shape = _shape(args)
            self._site = _site(_SPAN, group, name, self._shape)

    def __enter__(self):
        self._begin = _lib.skein_span_begin(self._site) if self._site is not None else 0
        return self

    def __exit__(self, kind, error, trace):
        if self._begin == 0:
            return
        args, shape, site = self._args, self._shape, self._site
        if kind is not None and len(args) < ARGS_MAX:
            args = {**args, "error": kind.__name__}
            shape = _shape(args)
            site = _site(_SPAN, *self._what, shape)
        if site is not None:
            _lib.skein_span_end(site, self._begin, _values(shape, args.values()))

    async def __aenter__(self):
        return self.__enter__()

    async def __aexit__(self, *exception):
        self.__exit__(*exception)

    def _again(self):
        return type(self)(self._what[1], group=self._what[0], **self._args)

    def __call__(self, function):
        if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
            raise TypeError("a generator is left and entered again: mark regions inside of it")
        if inspect.iscoroutinefunction(function):
            group, name = self._what
            args = self._args

            @functools.wraps(function)
            async def coroutine(*a, **k):
                with span(name, group=group, **args):
                    return await function(*a, **k)
            return coroutine

        @functools.wraps(function)
        def wrapper(*a, **k):
            with self._again():
                return function(*a, **k)
        return wrapper


class region(span):
    """A region of the calling thread: `with`, or a decorator (of a coroutine it makes a span).
    Regions nest; a snapshot shows those that are open. Not over an `await` or a `yield`."""

    def __init__(self, name, /, group="app", **args):
        self._what, self._args = (group, name), args
        self._site = None
        if _lib is not None:
            self._shape = _shape(args)
            self._site = _site(_RANGE_BEGIN, group, name, self._shape)

    def __enter__(self):
        _thread.begin()
        # What was not recorded must not end another's: the ring may come in between.
        self._begun = (self._site is not None and _lib.skein_region_open(
            self._site, _values(self._shape, self._args.values())).depth != 0)
        return self

    def __exit__(self, kind, error, trace):
        if self._begun:
            _lib.skein_end()

    async def __aenter__(self):
        raise TypeError("a region does not last over an await: use skein.span")

    __aexit__ = None


if sys.byteorder != "little":  # never met; the ring is native, this binding's unions are not tried
    _lib, why = None, "this binding knows little-endian machines only"
