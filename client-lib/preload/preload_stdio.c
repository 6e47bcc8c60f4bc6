/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams: a call whose bytes are in the stream's buffer, or have room there, is passed on without
 * a look at the clock; the others may read or write the descriptor, and are told as that. Any
 * thread. The buffer is looked at without the stream's lock: a guess that another thread makes
 * wrong costs an event, or two looks at the clock.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "preload_wait.h"

#undef fread_unlocked /* macros beside the functions */
#undef fwrite_unlocked

#define LINE_BUFFERED 0x200 /* _IO_LINE_BUF */
#define UNBUFFERED    0x2   /* _IO_UNBUFFERED */
#define PRINTED       512   /* more than most calls print */

/* What is in the buffer, from *at on. Each pointer is read once, and believed where it lies in the
 * buffer: another thread may be filling it, or have put a byte back. */
static size_t readable(const FILE *stream, const char **at)
{
    const char *from = __atomic_load_n(&stream->_IO_read_ptr, __ATOMIC_RELAXED);
    const char *to = __atomic_load_n(&stream->_IO_read_end, __ATOMIC_RELAXED);
    const char *base = __atomic_load_n(&stream->_IO_buf_base, __ATOMIC_RELAXED);
    const char *end = __atomic_load_n(&stream->_IO_buf_end, __ATOMIC_RELAXED);
    *at = from;
    return base != NULL && base <= from && from < to && to <= end ? (size_t)(to - from) : 0;
}

static bool holds(const FILE *stream, size_t size, size_t count)
{
    size_t bytes;
    const char *at;
    return !__builtin_mul_overflow(size, count, &bytes) && bytes <= readable(stream, &at);
}

/* A whole line of at most `most` bytes, or that many bytes of one. */
static bool holds_line(const FILE *stream, int end, size_t most)
{
    const char *at;
    size_t bytes = readable(stream, &at);
    return bytes >= most || (bytes && memchr(at, end, bytes) != NULL);
}

static bool takes(const FILE *stream, size_t size, size_t count)
{
    size_t bytes;
    return !(stream->_flags & (LINE_BUFFERED | UNBUFFERED)) &&
           stream->_IO_write_end > stream->_IO_write_ptr &&
           !__builtin_mul_overflow(size, count, &bytes) &&
           bytes < (size_t)(stream->_IO_write_end - stream->_IO_write_ptr);
}

static bool is_flushed(const FILE *stream)
{
    return stream != NULL && stream->_IO_write_ptr == stream->_IO_write_base;
}

/* -1: all streams. */
static int flushed_fd(const FILE *stream)
{
    return stream != NULL ? stream->_fileno : -1;
}

#define LINE(length) ((length) > 0 ? (size_t)(length)-1 : 0)

/* Result, function, event, whether the buffer will do, descriptor, parameters, arguments. */
#define STREAM_LIST(X)                                                                             \
    X(items, fread, read, holds(stream, size, count), stream->_fileno,                             \
      (void *restrict to, size_t size, size_t count, FILE *restrict stream),                       \
      (to, size, count, stream))                                                                   \
    X(items, fread_unlocked, read, holds(stream, size, count), stream->_fileno,                    \
      (void *restrict to, size_t size, size_t count, FILE *restrict stream),                       \
      (to, size, count, stream))                                                                   \
    X(items, __fread_chk, read, holds(stream, size, count), stream->_fileno,                       \
      (void *restrict to, size_t room, size_t size, size_t count, FILE *restrict stream),          \
      (to, room, size, count, stream))                                                             \
    X(items, __fread_unlocked_chk, read, holds(stream, size, count), stream->_fileno,              \
      (void *restrict to, size_t room, size_t size, size_t count, FILE *restrict stream),          \
      (to, room, size, count, stream))                                                             \
    X(line_text, fgets, read, holds_line(stream, '\n', LINE(length)), stream->_fileno,             \
      (char *restrict to, int length, FILE *restrict stream), (to, length, stream))                \
    X(line_text, fgets_unlocked, read, holds_line(stream, '\n', LINE(length)), stream->_fileno,    \
      (char *restrict to, int length, FILE *restrict stream), (to, length, stream))                \
    X(line_text, __fgets_chk, read, holds_line(stream, '\n', LINE(length)), stream->_fileno,       \
      (char *restrict to, size_t room, int length, FILE *restrict stream),                         \
      (to, room, length, stream))                                                                  \
    X(line_text, __fgets_unlocked_chk, read, holds_line(stream, '\n', LINE(length)),               \
      stream->_fileno, (char *restrict to, size_t room, int length, FILE *restrict stream),        \
      (to, room, length, stream))                                                                  \
    X(ssize_t, getline, read, holds_line(stream, '\n', SIZE_MAX), stream->_fileno,                 \
      (char **restrict to, size_t *restrict room, FILE *restrict stream), (to, room, stream))      \
    X(ssize_t, getdelim, read, holds_line(stream, end, SIZE_MAX), stream->_fileno,                 \
      (char **restrict to, size_t *restrict room, int end, FILE *restrict stream),                 \
      (to, room, end, stream))                                                                     \
    X(ssize_t, __getdelim, read, holds_line(stream, end, SIZE_MAX), stream->_fileno,               \
      (char **restrict to, size_t *restrict room, int end, FILE *restrict stream),                 \
      (to, room, end, stream))                                                                     \
    X(items, fwrite, write, takes(stream, size, count), stream->_fileno,                           \
      (const void *restrict from, size_t size, size_t count, FILE *restrict stream),               \
      (from, size, count, stream))                                                                 \
    X(items, fwrite_unlocked, write, takes(stream, size, count), stream->_fileno,                  \
      (const void *restrict from, size_t size, size_t count, FILE *restrict stream),               \
      (from, size, count, stream))                                                                 \
    X(text_put, fputs, write, takes(stream, 1, strlen(text)), stream->_fileno,                     \
      (const char *restrict text, FILE *restrict stream), (text, stream))                          \
    X(text_put, fputs_unlocked, write, takes(stream, 1, strlen(text)), stream->_fileno,            \
      (const char *restrict text, FILE *restrict stream), (text, stream))                          \
    X(int, puts, write, takes(stdout, 1, strlen(text) + 1), stdout->_fileno, (const char *text),   \
      (text))                                                                                      \
    X(int, vprintf, write, takes(stdout, 1, PRINTED), stdout->_fileno,                             \
      (const char *restrict format, va_list list), (format, list))                                 \
    X(int, vfprintf, write, takes(stream, 1, PRINTED), stream->_fileno,                            \
      (FILE *restrict stream, const char *restrict format, va_list list), (stream, format, list))  \
    X(int, __vprintf_chk, write, takes(stdout, 1, PRINTED), stdout->_fileno,                       \
      (int flag, const char *restrict format, va_list list), (flag, format, list))                 \
    X(int, __vfprintf_chk, write, takes(stream, 1, PRINTED), stream->_fileno,                      \
      (FILE *restrict stream, int flag, const char *restrict format, va_list list),                \
      (stream, flag, format, list))                                                                \
    X(int, fflush, write, is_flushed(stream), flushed_fd(stream), (FILE * stream), (stream))       \
    X(int, fflush_unlocked, write, is_flushed(stream), flushed_fd(stream), (FILE * stream),        \
      (stream))                                                                                    \
    X(int, fclose, write, is_flushed(stream), stream->_fileno, (FILE * stream), (stream))

typedef char *line_text;

/* Results are told in bytes, as those of read() and write(). */
typedef size_t items;
typedef int text_put;

static size_t wait_items(struct wait *wait, size_t count, size_t size)
{
    wait->result = (int64_t)(count * size);
    return count;
}

static char *wait_line(struct wait *wait, char *line)
{
    wait->result = line != NULL ? (int64_t)strlen(line) : 0;
    return line;
}

static int wait_put(struct wait *wait, int result, const char *text)
{
    wait->result = result < 0 ? -errno : (int64_t)strlen(text);
    return result;
}

/* `size` and `text` are the wrapper's parameters. */
#define RESULT_items(wait, count)     wait_items(wait, count, size)
#define RESULT_line_text(wait, line)  wait_line(wait, line)
#define RESULT_text_put(wait, result) wait_put(wait, result, text)

#define X(type, function, event, at_hand, fd, parameters, arguments)                               \
    EXPORT type function parameters                                                                \
    {                                                                                              \
        if (at_hand)                                                                               \
            return REAL(function) arguments;                                                       \
        WAIT(event, fd);                                                                           \
        return RESULT_##type(&wait, REAL(function) arguments);                                     \
    }
STREAM_LIST(X)
#undef X

/* Those with a list of arguments go to the same that take it whole. */
#define PRINT_LIST(X)                                                                              \
    X(printf, vprintf, stdout, format, (const char *restrict format, ...), (format, list))         \
    X(fprintf, vfprintf, stream, format,                                                           \
      (FILE *restrict stream, const char *restrict format, ...), (stream, format, list))           \
    X(__printf_chk, __vprintf_chk, stdout, format, (int flag, const char *restrict format, ...),   \
      (flag, format, list))                                                                        \
    X(__fprintf_chk, __vfprintf_chk, stream, format,                                               \
      (FILE *restrict stream, int flag, const char *restrict format, ...),                         \
      (stream, flag, format, list))

#define X(function, whole, stream, last, parameters, arguments)                                    \
    EXPORT int function parameters                                                                 \
    {                                                                                              \
        va_list list;                                                                              \
        va_start(list, last);                                                                      \
        int printed;                                                                               \
        if (takes(stream, 1, PRINTED)) {                                                           \
            printed = REAL(whole) arguments;                                                       \
        } else {                                                                                   \
            WAIT(write, stream->_fileno);                                                          \
            printed = wait_int(&wait, REAL(whole) arguments);                                      \
        }                                                                                          \
        va_end(list);                                                                              \
        return printed;                                                                            \
    }
PRINT_LIST(X)
#undef X
