/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions behind the wrappers: what the program would have called without this library.
 * Found as dlsym(RTLD_NEXT) would, so that other interposers (allocators, sanitizers) keep their
 * place.
 * Included by the preload library's files only. Any thread, also before the constructor has run.
 */
#ifndef PRELOAD_REAL_H
#define PRELOAD_REAL_H

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* A program must not find what its C library has not. */
#if __GLIBC_PREREQ(2, 39)
#define PIDFD_SPAWN_LIST(X) X(pidfd_spawn, int, false) X(pidfd_spawnp, int, true)
#define PIDFD_SPAWN_REAL(X) X(pidfd_spawn) X(pidfd_spawnp)
#else
#define PIDFD_SPAWN_LIST(X)
#define PIDFD_SPAWN_REAL(X)
#endif

/* Kept by hand: clang-format moves rows of such a table further at every run. */
/* clang-format off */
#define REAL_LIST(X)                                                                               \
    X(read) X(write) X(readv) X(writev) X(pread) X(pwrite) X(pread64) X(pwrite64) X(preadv)        \
    X(pwritev) X(recv) X(send) X(recvfrom) X(sendto) X(recvmsg) X(sendmsg) X(recvmmsg) X(sendmmsg) \
    X(accept) X(accept4) X(connect) X(fsync) X(fdatasync) X(__read_chk) X(__pread_chk)             \
    X(__pread64_chk) X(__recv_chk) X(__recvfrom_chk) X(poll) X(ppoll) X(select) X(pselect)         \
    X(epoll_wait) X(epoll_pwait) X(epoll_pwait2) X(__poll_chk) X(__ppoll_chk)                      \
    X(pthread_mutex_lock) X(pthread_mutex_trylock) X(pthread_mutex_timedlock)                      \
    X(pthread_mutex_clocklock) X(pthread_rwlock_rdlock) X(pthread_rwlock_tryrdlock)                \
    X(pthread_rwlock_timedrdlock) X(pthread_rwlock_clockrdlock) X(pthread_rwlock_wrlock)           \
    X(pthread_rwlock_trywrlock) X(pthread_rwlock_timedwrlock) X(pthread_rwlock_clockwrlock)        \
    X(sem_wait) X(sem_trywait) X(sem_timedwait) X(sem_clockwait) X(pthread_cond_wait)              \
    X(pthread_cond_timedwait) X(pthread_cond_clockwait) X(nanosleep) X(clock_nanosleep) X(usleep)  \
    X(sleep) X(pthread_join) X(pthread_timedjoin_np) X(pthread_clockjoin_np) X(pthread_create)     \
    X(pthread_setname_np) X(longjmp) X(_longjmp) X(siglongjmp) X(__longjmp_chk) X(open) X(open64)  \
    X(openat) X(openat64) X(creat) X(creat64) X(__open_2) X(__open64_2) X(__openat_2)              \
    X(__openat64_2) X(fopen) X(fopen64) X(sendfile) X(sendfile64) X(splice) X(tee) X(vmsplice)     \
    X(copy_file_range) X(flock) X(lockf) X(lockf64) X(fcntl) X(fcntl64) X(preadv64) X(pwritev64)   \
    X(preadv2) X(pwritev2) X(preadv64v2) X(pwritev64v2) X(syncfs) X(sync_file_range) X(waitpid)    \
    X(wait) X(wait3) X(wait4) X(waitid) X(system) X(pclose) X(sigwait) X(sigwaitinfo)              \
    X(sigtimedwait) X(sigsuspend) X(pause) X(semop) X(semtimedop) X(msgrcv) X(msgsnd)              \
    X(mq_receive) X(mq_timedreceive) X(mq_send) X(mq_timedsend) X(getaddrinfo) X(getnameinfo)      \
    X(gethostbyname) X(gethostbyname2) X(gethostbyname_r) X(gethostbyname2_r) X(gethostbyaddr)     \
    X(gethostbyaddr_r) X(res_query) X(res_search) X(res_nquery) X(res_nsearch) X(io_getevents)     \
    X(syscall) X(pthread_barrier_wait) X(mtx_lock) X(mtx_trylock) X(mtx_timedlock) X(cnd_wait)     \
    X(cnd_timedwait) X(thrd_create) X(thrd_join) X(thrd_sleep) X(fread) X(fread_unlocked)          \
    X(__fread_chk) X(__fread_unlocked_chk) X(fgets) X(fgets_unlocked) X(__fgets_chk)               \
    X(__fgets_unlocked_chk) X(getline) X(getdelim) X(__getdelim) X(fwrite) X(fwrite_unlocked)      \
    X(fputs) X(fputs_unlocked) X(puts) X(vprintf) X(vfprintf) X(__vprintf_chk) X(__vfprintf_chk)   \
    X(fflush) X(fflush_unlocked) X(fclose) X(unshare) X(setns) X(setuid) X(setgid) X(seteuid)      \
    X(setegid) X(setreuid) X(setregid) X(setresuid) X(setresgid) X(setgroups) X(initgroups)        \
    X(setfsuid) X(setfsgid) X(capset) X(_Fork) X(prctl) X(mq_notify) X(stat) X(stat64) X(fstatat)  \
    X(fstatat64) X(statx) X(__xstat) X(__xstat64) X(__fxstatat) X(__fxstatat64) X(__lxstat)        \
    X(__lxstat64) X(__fxstat) X(__fxstat64) X(lstat) X(lstat64) X(fstat) X(fstat64) X(access)      \
    X(faccessat) X(unlink) X(unlinkat) X(rmdir) X(remove) X(rename) X(renameat) X(renameat2)       \
    X(opendir) X(popen) X(wordexp) X(posix_spawn) X(posix_spawnp) PIDFD_SPAWN_REAL(X) X(execve) X(execvpe) X(fexecve) X(execveat) \
    X(_exit) X(_Exit) X(quick_exit) X(exit) X(abort) X(__assert_fail)
/* clang-format on */

enum real_index {
#define X(name) REAL_##name,
    REAL_LIST(X)
#undef X
        REAL_COUNT
};

/* glibc's checked variants, which _FORTIFY_SOURCE puts in place of the plain calls; its headers
 * declare them only to programs built that way. */
ssize_t __read_chk(int fd, void *buffer, size_t bytes, size_t room);
ssize_t __pread_chk(int fd, void *buffer, size_t bytes, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *buffer, size_t bytes, off64_t offset, size_t room);
ssize_t __recv_chk(int fd, void *buffer, size_t bytes, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *restrict buffer, size_t bytes, size_t room, int flags,
                       __SOCKADDR_ARG from, socklen_t *restrict from_bytes);
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                const sigset_t *signals, size_t room);
size_t __fread_chk(void *restrict to, size_t room, size_t size, size_t count,
                   FILE *restrict stream);
size_t __fread_unlocked_chk(void *restrict to, size_t room, size_t size, size_t count,
                            FILE *restrict stream);
char *__fgets_chk(char *restrict to, size_t room, int length, FILE *restrict stream);
char *__fgets_unlocked_chk(char *restrict to, size_t room, int length, FILE *restrict stream);
int __printf_chk(int flag, const char *restrict format, ...);
int __fprintf_chk(FILE *restrict stream, int flag, const char *restrict format, ...);
int __vprintf_chk(int flag, const char *restrict format, va_list list);
int __vfprintf_chk(FILE *restrict stream, int flag, const char *restrict format, va_list list);
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);
/* libaio's. */
int io_getevents(void *context, long least, long count, void *events, struct timespec *timeout);
void __longjmp_chk(struct __jmp_buf_tag where[1], int value) __attribute__((noreturn));

extern void *real_table[REAL_COUNT];

/* Looks one function up and remembers it. Never NULL: a function that libc lacks, or one that is
 * called by dlsym() itself, becomes one that fails with ENOSYS. Keeps errno. */
void *real_find(enum real_index index);

/* A function of the libraries that stay, without asking the dynamic linker; NULL: none has it. */
void *real_look(const char *name);

/* `environ`, which is looked up when it is asked for: most programs start no others. */
char **real_environ(void);

/* All libraries that the program was started with are loaded: what comes later may go again. */
void real_libraries_are_here(void);

/* Looks up all that can be found without the dynamic linker: a program's fork children would each
 * look for those that it never calls itself. Any thread; signal-safe. */
void real_find_all(void);

static inline void *real_address(enum real_index index)
{
    /* Relaxed: every thread that looks a function up stores the same address. */
    void *address = __atomic_load_n(&real_table[index], __ATOMIC_RELAXED);
    return address != NULL ? address : real_find(index);
}

#define REAL(name) ((__typeof__(&name))real_address(REAL_##name))

#endif
