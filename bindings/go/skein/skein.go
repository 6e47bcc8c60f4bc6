// SPDX-License-Identifier: Apache-2.0

// Package skein marks what a Go service does in its recording (see Skein's README):
//
//	skein.Start(skein.Options{Service: "checkout"})
//	span := skein.Begin("query", skein.Str("sql", text))
//	defer span.End()
//	skein.Instant("cache_miss", skein.Int("key", key))
//	skein.Counter("queue_depth", 12)
//
// Events go into a ring in shared memory, which the host's skein-agent keeps; nothing else happens
// until somebody asks for a capture. The package is cgo over libskein, which has no dependency of
// its own: an event costs a call into C, some 100 ns. A ring written by Go itself would have to
// follow threads, forks and signals as libskein does, beside a runtime that owns all three.
//
// Goroutines move between threads, so there are spans only: one record, written where they end, on
// the thread that the goroutine has then. Captures name threads, not goroutines; pass an argument to
// tell requests apart. An event's type is its name with the names and types of its arguments; a
// process may have TypesMax of them, beyond which events are counted in Refused and not recorded.
// So put what varies into arguments, not into names. All functions: any goroutine.
package skein

/*
#cgo pkg-config: skein
#include <stdlib.h>
#include <string.h>
#include <skein/skein.h>

// Texts of arguments lie in one row, each with its NUL; such a value is the text's place in it.
static void skein_go_values(const struct skein_site *site, const uint64_t *numbers,
                            const char *texts, union skein_value *values)
{
    for (int i = 0; i < site->nargs; i++)
        if (site->args[i].type == SKEIN_T_STR)
            values[i].str = texts + numbers[i];
        else
            values[i].u64 = numbers[i];
}

static void skein_go_emit(struct skein_site *site, const uint64_t *numbers, const char *texts)
{
    union skein_value values[SKEIN_ARGS_MAX];
    skein_go_values(site, numbers, texts, values);
    skein_emit(site, values);
}

static void skein_go_span_end(struct skein_site *site, uint64_t begin, const uint64_t *numbers,
                              const char *texts)
{
    union skein_value values[SKEIN_ARGS_MAX];
    skein_go_values(site, numbers, texts, values);
    skein_span_end(site, begin, values);
}

static struct skein_site *skein_go_site(uint8_t klass, uint8_t group, const char *name)
{
    struct skein_site *site = calloc(1, sizeof *site);
    if (site == NULL)
        return NULL;
    site->name = name;
    site->text = site->file = "";
    site->klass = klass;
    site->group = group;
    return site;
}

static void skein_go_arg(struct skein_site *site, uint8_t type, const char *name)
{
    site->args[site->nargs].type = type;
    site->args[site->nargs].name = name;
    site->args[site->nargs++].unit = "";
}

static int skein_go_start(char *service, char *labels, char *socket, uint64_t ring_bytes)
{
    struct skein_options options = {.size = sizeof options,
                                    .service = service,
                                    .labels = labels,
                                    .agent_socket = socket,
                                    .ring_bytes = ring_bytes};
    return skein_start(&options);
}
*/
import "C"

import (
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// Group says which of a policy's event groups an event belongs to; 16 to 63 are a service's own.
type Group uint8

const (
	App    Group = C.SKEIN_GROUP_APP
	Net    Group = C.SKEIN_GROUP_NET
	IO     Group = C.SKEIN_GROUP_IO
	Lock   Group = C.SKEIN_GROUP_LOCK
	Thread Group = C.SKEIN_GROUP_THREAD
	Sleep  Group = C.SKEIN_GROUP_SLEEP
)

// Level of a log line.
type Level uint8

const (
	Debug Level = C.SKEIN_DEBUG
	Info  Level = C.SKEIN_INFO
	Warn  Level = C.SKEIN_WARN
	Error Level = C.SKEIN_ERROR
)

const (
	// TypesMax is how many event types a process may have.
	TypesMax = 4096
	argsMax  = C.SKEIN_ARGS_MAX
)

// Arg is an argument of an event.
type Arg struct {
	name string
	kind uint8
	bits uint64
	text string
}

func Int(name string, value int64) Arg {
	return Arg{name: name, kind: C.SKEIN_T_I64, bits: uint64(value)}
}
func Uint(name string, value uint64) Arg { return Arg{name: name, kind: C.SKEIN_T_U64, bits: value} }
func Float(name string, value float64) Arg {
	return Arg{name: name, kind: C.SKEIN_T_F64, bits: math.Float64bits(value)}
}
func Str(name, value string) Arg { return Arg{name: name, kind: C.SKEIN_T_STR, text: value} }
func Bool(name string, value bool) Arg {
	a := Arg{name: name, kind: C.SKEIN_T_BOOL}
	if value {
		a.bits = 1
	}
	return a
}

// ---- event types ----

type shape struct {
	class uint8
	group Group
	name  string
	args  [argsMax]struct {
		name string
		kind uint8
	}
	count int
}

var (
	sites     sync.Map // of shape: *C.struct_skein_site; never shrinks, libskein keeps addresses
	siteCount int64
	siteLock  sync.Mutex
	refused   uint64
)

// Refused is how many events were not recorded, as the process has too many types, or they had more
// than six arguments.
func Refused() uint64 { return atomic.LoadUint64(&refused) }

// For C: a copy that stays, without what would end it early.
func text(s string) *C.char {
	return C.CString(strings.ReplaceAll(s, "\x00", "\uFFFD"))
}

func siteOf(class uint8, group Group, name string, args []Arg) *C.struct_skein_site {
	if len(args) > argsMax || group > 63 {
		atomic.AddUint64(&refused, 1)
		return nil
	}
	key := shape{class: class, group: group, name: name, count: len(args)}
	for i, a := range args {
		key.args[i].name, key.args[i].kind = a.name, a.kind
	}
	if found, ok := sites.Load(key); ok {
		return found.(*C.struct_skein_site)
	}
	siteLock.Lock()
	defer siteLock.Unlock()
	if found, ok := sites.Load(key); ok {
		return found.(*C.struct_skein_site)
	}
	if siteCount >= TypesMax {
		atomic.AddUint64(&refused, 1)
		return nil
	}
	site := C.skein_go_site(C.uint8_t(class), C.uint8_t(group), text(name))
	if site == nil {
		atomic.AddUint64(&refused, 1)
		return nil
	}
	for _, a := range args {
		C.skein_go_arg(site, C.uint8_t(a.kind), text(a.name))
	}
	siteCount++
	sites.Store(key, site)
	return site
}

// numbers and texts as skein_go_values takes them.
func values(args []Arg) (numbers [argsMax]uint64, texts []byte) {
	for i, a := range args {
		numbers[i] = a.bits
		if a.kind != C.SKEIN_T_STR {
			continue
		}
		numbers[i] = uint64(len(texts))
		texts = append(append(texts, strings.ReplaceAll(a.text, "\x00", "\uFFFD")...), 0)
	}
	return numbers, append(texts, 0)
}

func emit(class uint8, group Group, name string, args []Arg) {
	site := siteOf(class, group, name, args)
	if site == nil {
		return
	}
	numbers, texts := values(args)
	C.skein_go_emit(site, (*C.uint64_t)(unsafe.Pointer(&numbers[0])), (*C.char)(unsafe.Pointer(&texts[0])))
}

// ---- events ----

// Instant records that something happened.
func (g Group) Instant(name string, args ...Arg) { emit(C.SKEIN_CLASS_INSTANT, g, name, args) }

// Counter records a value from now on.
func (g Group) Counter(name string, value int64) {
	emit(C.SKEIN_CLASS_COUNTER, g, name, []Arg{Int("value", value)})
}

// Begin begins a span.
func (g Group) Begin(name string, args ...Arg) Span {
	site := siteOf(C.SKEIN_CLASS_SPAN, g, name, args)
	if site == nil {
		return Span{}
	}
	return Span{site: site, begin: C.skein_span_begin(site), args: args}
}

func Instant(name string, args ...Arg)    { App.Instant(name, args...) }
func Counter(name string, value int64)    { App.Counter(name, value) }
func Begin(name string, args ...Arg) Span { return App.Begin(name, args...) }

// Log records a line of the log.
func Log(level Level, line string) {
	emit(C.SKEIN_CLASS_LOG, Group(C.SKEIN_GROUP_LOG), "log", []Arg{Uint("level", uint64(level)), Str("text", line)})
}

// Span is a region of a goroutine. The zero Span is none.
type Span struct {
	site  *C.struct_skein_site
	begin C.uint64_t
	args  []Arg
}

// End records the span, once, from whichever goroutine.
func (s *Span) End() {
	if s.begin == 0 {
		return
	}
	numbers, texts := values(s.args)
	C.skein_go_span_end(s.site, s.begin, (*C.uint64_t)(unsafe.Pointer(&numbers[0])),
		(*C.char)(unsafe.Pointer(&texts[0])))
	s.begin = 0
}

// ---- process ----

// Options of Start; zero is the default.
type Options struct {
	Service, Labels, Socket string // Labels: "zone=a,version=2"
	RingBytes               uint64
}

func optional(s string) *C.char {
	if s == "" {
		return nil
	}
	return text(s)
}

func failure(status C.int) error {
	if status == 0 {
		return nil
	}
	return errors.New("skein: " + C.GoString(C.skein_status_text(status)))
}

// Start begins recording as soon as an agent can be reached, now or later.
func Start(o Options) error {
	service, labels, socket := optional(o.Service), optional(o.Labels), optional(o.Socket)
	defer C.free(unsafe.Pointer(service))
	defer C.free(unsafe.Pointer(labels))
	defer C.free(unsafe.Pointer(socket))
	return failure(C.skein_go_start(service, labels, socket, C.uint64_t(o.RingBytes)))
}

// Stop ends recording: a normal end. Go's os.Exit and the return of main run no exit handlers, so
// call it there; without, the process counts as gone without a word.
func Stop() { C.skein_stop() }

// Attached says whether events are recorded now.
func Attached() bool { return bool(C.skein_attached()) }

// WaitAttached waits until they are, and says whether they are.
func WaitAttached(most time.Duration) bool {
	return C.skein_wait_attached(C.uint(most/time.Millisecond)) == 0
}

// Health is the service's heartbeat: that it is well, or not and why.
func Health(ok bool, why string) error {
	reason := optional(why)
	defer C.free(unsafe.Pointer(reason))
	return failure(C.skein_health(C.bool(ok), reason))
}

// Snapshot asks for a capture of what happened just before.
func Snapshot(why string) error {
	reason := text(why)
	defer C.free(unsafe.Pointer(reason))
	return failure(C.skein_snapshot(reason))
}
