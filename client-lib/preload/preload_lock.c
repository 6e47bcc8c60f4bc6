/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks, semaphores and condition variables. An uncontended lock costs one try and no clock read;
 * a wait begins only where the try found the lock taken. Any thread.
 */
#include <sys/single_threaded.h>
#include <threads.h>

#include "preload_wait.h"

/* While the program has one thread, glibc takes a free mutex without an atomic instruction, which
 * the try does not; and nobody here can take it between the look and the lock. */
static inline bool is_ours_alone_pthread_mutex_lock(const pthread_mutex_t *object)
{
    return __libc_single_threaded && __atomic_load_n(&object->__data.__lock, __ATOMIC_RELAXED) == 0;
}
/* Who has it, by the C library's own account; 0: nobody, readers, or it does not say. Read once,
 * before the wait; who waits behind others may be handed the lock by another one. */
static int64_t owner_pthread_mutex_t(const pthread_mutex_t *object)
{
    return __atomic_load_n(&object->__data.__owner, __ATOMIC_RELAXED);
}

static int64_t owner_pthread_rwlock_t(const pthread_rwlock_t *object)
{
    return __atomic_load_n(&object->__data.__cur_writer, __ATOMIC_RELAXED);
}

/* mtx_t is a pthread_mutex_t under another name. */
static int64_t owner_mtx_t(const mtx_t *object)
{
    return owner_pthread_mutex_t((const pthread_mutex_t *)(const void *)object);
}
_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "the same to the C library");

#define is_ours_alone_pthread_rwlock_rdlock(object) false
#define is_ours_alone_pthread_rwlock_wrlock(object) false

/* Lock, try, event, type. EBUSY is the one answer of the try that the lock itself may not give. */
#define LOCK_LIST(X)                                                                               \
    X(pthread_mutex_lock, pthread_mutex_trylock, mutex_lock, pthread_mutex_t)                      \
    X(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, rwlock_rdlock, pthread_rwlock_t)            \
    X(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, rwlock_wrlock, pthread_rwlock_t)

/* The wait is a function of its own, so that a free lock pays for none of its frame. */
#define X(lock, try, event, type)                                                                  \
    static __attribute__((noinline)) int lock##_taken(type *object, const void *caller)            \
    {                                                                                              \
        WAIT_FROM(event, ADDRESS(object), caller);                                                 \
        wait.more[0].i64 = owner_##type(object);                                                   \
        return wait_error(&wait, REAL(lock)(object));                                              \
    }                                                                                              \
    EXPORT int lock(type *object)                                                                  \
    {                                                                                              \
        if (is_ours_alone_##lock(object))                                                          \
            return REAL(lock)(object);                                                             \
        int error = REAL(try)(object);                                                             \
        return error == EBUSY ? lock##_taken(object, CALLER) : error;                              \
    }
LOCK_LIST(X)
#undef X

/* With a deadline: whether a bad deadline is an error depends on the lock being free, so that the
 * real function decides and nothing is tried before. */
#define TIMED_LIST(X)                                                                              \
    X(pthread_mutex_timedlock, mutex_lock, owner_pthread_mutex_t(object),                          \
      (pthread_mutex_t *restrict object, const struct timespec *restrict until), (object, until))  \
    X(pthread_mutex_clocklock, mutex_lock, owner_pthread_mutex_t(object),                          \
      (pthread_mutex_t *restrict object, clockid_t clock, const struct timespec *restrict until),  \
      (object, clock, until))                                                                      \
    X(pthread_rwlock_timedrdlock, rwlock_rdlock, owner_pthread_rwlock_t(object),                   \
      (pthread_rwlock_t *restrict object, const struct timespec *restrict until), (object, until)) \
    X(pthread_rwlock_clockrdlock, rwlock_rdlock, owner_pthread_rwlock_t(object),                   \
      (pthread_rwlock_t *restrict object, clockid_t clock, const struct timespec *restrict until), \
      (object, clock, until))                                                                      \
    X(pthread_rwlock_timedwrlock, rwlock_wrlock, owner_pthread_rwlock_t(object),                   \
      (pthread_rwlock_t *restrict object, const struct timespec *restrict until), (object, until)) \
    X(pthread_rwlock_clockwrlock, rwlock_wrlock, owner_pthread_rwlock_t(object),                   \
      (pthread_rwlock_t *restrict object, clockid_t clock, const struct timespec *restrict until), \
      (object, clock, until))                                                                      \
    X(pthread_cond_wait, cond_wait, ADDRESS(mutex),                                                \
      (pthread_cond_t *restrict object, pthread_mutex_t *restrict mutex), (object, mutex))         \
    X(pthread_cond_timedwait, cond_wait, ADDRESS(mutex),                                           \
      (pthread_cond_t *restrict object, pthread_mutex_t *restrict mutex,                           \
       const struct timespec *restrict until),                                                     \
      (object, mutex, until))                                                                      \
    X(pthread_cond_clockwait, cond_wait, ADDRESS(mutex),                                           \
      (pthread_cond_t *restrict object, pthread_mutex_t *restrict mutex, clockid_t clock,          \
       const struct timespec *restrict until),                                                     \
      (object, mutex, clock, until))

#define X(function, event, second, parameters, arguments)                                          \
    EXPORT int function parameters                                                                 \
    {                                                                                              \
        WAIT(event, ADDRESS(object));                                                              \
        wait.more[0].i64 = second;                                                                 \
        return wait_error(&wait, REAL(function) arguments);                                        \
    }
TIMED_LIST(X)
#undef X

EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier)
{
    WAIT(barrier_wait, ADDRESS(barrier));
    int result = REAL(pthread_barrier_wait)(barrier);
    wait.result = result > 0 ? -result : 0; /* not who of them was chosen */
    return result;
}

/* ---- C11: the same locks, with words of their own for what came of it ---- */

EXPORT int mtx_lock(mtx_t *object)
{
    int status = REAL(mtx_trylock)(object);
    if (status != thrd_busy)
        return status;
    WAIT(mutex_lock, ADDRESS(object));
    wait.more[0].i64 = owner_mtx_t(object);
    status = REAL(mtx_lock)(object);
    wait.result = status;
    return status;
}

#define C11_LIST(X)                                                                                \
    X(mtx_timedlock, mutex_lock, owner_mtx_t(object),                                              \
      (mtx_t *restrict object, const struct timespec *restrict until), (object, until))            \
    X(cnd_wait, cond_wait, ADDRESS(mutex), (cnd_t * object, mtx_t * mutex), (object, mutex))       \
    X(cnd_timedwait, cond_wait, ADDRESS(mutex),                                                    \
      (cnd_t *restrict object, mtx_t *restrict mutex, const struct timespec *restrict until),      \
      (object, mutex, until))

#define X(function, event, second, parameters, arguments)                                          \
    EXPORT int function parameters                                                                 \
    {                                                                                              \
        WAIT(event, ADDRESS(object));                                                              \
        wait.more[0].i64 = second;                                                                 \
        int status = REAL(function) arguments;                                                     \
        wait.result = status;                                                                      \
        return status;                                                                             \
    }
C11_LIST(X)
#undef X

EXPORT int sem_wait(sem_t *semaphore)
{
    int saved = errno;
    pthread_testcancel(); /* the real one honours a pending cancellation even if it need not wait */
    if (REAL(sem_trywait)(semaphore) == 0)
        return 0;
    if (errno != EAGAIN)
        return -1;
    errno = saved;
    WAIT(sem_wait, ADDRESS(semaphore));
    return wait_int(&wait, REAL(sem_wait)(semaphore));
}

EXPORT int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until)
{
    WAIT(sem_wait, ADDRESS(semaphore));
    return wait_int(&wait, REAL(sem_timedwait)(semaphore, until));
}

EXPORT int sem_clockwait(sem_t *restrict semaphore, clockid_t clock,
                         const struct timespec *restrict until)
{
    WAIT(sem_wait, ADDRESS(semaphore));
    return wait_int(&wait, REAL(sem_clockwait)(semaphore, clock, until));
}
