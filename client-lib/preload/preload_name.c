/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of hosts. The C library itself reads their arguments: a bad pointer ends the program here as
 * there. Any thread; results and errno are the real function's.
 */
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>

#include "preload_words.h"

EXPORT int getaddrinfo(const char *restrict host, const char *restrict service,
                       const struct addrinfo *restrict hints, struct addrinfo **restrict found)
{
    WAIT(resolve, hints != NULL ? hints->ai_family : AF_UNSPEC);
    wait.more[0].str = host != NULL ? host : service;
    wait.more[1].u64 = (uintptr_t)found;
    wait.words_of = words_of_addrinfo;
    int error = REAL(getaddrinfo)(host, service, hints, found);
    wait.result = -error; /* EAI_..., which is below 0: no error number of the system */
    return error;
}

static void words_of_nameinfo(struct wait *wait, struct words *words)
{
    const struct sockaddr *address = (const struct sockaddr *)(uintptr_t)wait->more[1].u64;
    words_of_host(wait, words);
    wait->more[1].str = words->text[1];
    words->text[1][0] = '\0';
    if (address != NULL && address->sa_family == AF_INET)
        words_of_address(address, sizeof(struct sockaddr_in), words->text[1]);
    else if (address != NULL && address->sa_family == AF_INET6)
        words_of_address(address, sizeof(struct sockaddr_in6), words->text[1]);
}

EXPORT int getnameinfo(const struct sockaddr *restrict address, socklen_t bytes,
                       char *restrict host, socklen_t host_room, char *restrict service,
                       socklen_t service_room, int flags)
{
    WAIT(resolve, AF_UNSPEC);
    int error = REAL(getnameinfo)(address, bytes, host, host_room, service, service_room, flags);
    wait.result = -error;
    wait.words_of = words_of_nameinfo;
    if (error != EAI_FAMILY && error != EAI_BADFLAGS) { /* it was read, and long enough */
        wait.op.detail = address->sa_family;
        wait.more[1].u64 = (uintptr_t)address;
    }
    if (error == 0 && host != NULL && host_room)
        wait.more[0].str = host;
    return error;
}

/* Why nothing was found: a number of h_errno, or where that says so, errno's. */
static int64_t host_error(int error)
{
    return error == NETDB_INTERNAL ? -errno : error;
}

/* Function, family, parameters, arguments. */
#define HOST_LIST(X)                                                                               \
    X(gethostbyname, AF_INET, (const char *name), (name))                                          \
    X(gethostbyname2, family, (const char *name, int family), (name, family))

#define X(function, family_, parameters, arguments)                                                \
    EXPORT struct hostent *function parameters                                                     \
    {                                                                                              \
        WAIT(resolve, family_);                                                                    \
        wait.more[0].str = name;                                                                   \
        wait.words_of = words_of_hostent;                                                          \
        struct hostent *found = REAL(function) arguments;                                          \
        wait.more[1].u64 = (uintptr_t)found;                                                       \
        wait.result = found != NULL ? 0 : host_error(h_errno);                                     \
        return found;                                                                              \
    }
HOST_LIST(X)
#undef X

/* What came of one of these, which return error numbers: 0 also where there is no such name. */
static int host_told(struct wait *wait, int status, struct hostent *const *found, const int *error)
{
    wait->more[1].u64 = status == 0 ? (uintptr_t)*found : 0;
    wait->result = -status;
    if (status == 0 && *found == NULL)
        wait->result = host_error(*error);
    return status;
}

#define HOST_R_LIST(X)                                                                             \
    X(gethostbyname_r, AF_INET,                                                                    \
      (const char *restrict name, struct hostent *restrict room, char *restrict buffer,            \
       size_t bytes, struct hostent **restrict found, int *restrict error),                        \
      (name, room, buffer, bytes, found, error))                                                   \
    X(gethostbyname2_r, family,                                                                    \
      (const char *restrict name, int family, struct hostent *restrict room,                       \
       char *restrict buffer, size_t bytes, struct hostent **restrict found, int *restrict error), \
      (name, family, room, buffer, bytes, found, error))

#define X(function, family_, parameters, arguments)                                                \
    EXPORT int function parameters                                                                 \
    {                                                                                              \
        WAIT(resolve, family_);                                                                    \
        wait.more[0].str = name;                                                                   \
        wait.words_of = words_of_hostent;                                                          \
        return host_told(&wait, REAL(function) arguments, found, error);                           \
    }
HOST_R_LIST(X)
#undef X

/* The name that was found; the address is the hostent's, as it was asked for. */
static void words_of_reverse(struct wait *wait, struct words *words)
{
    const struct hostent *found = (const struct hostent *)(uintptr_t)wait->more[1].u64;
    wait->more[0].str = found != NULL ? found->h_name : NULL;
    words_of_hostent(wait, words);
}

EXPORT struct hostent *gethostbyaddr(const void *address, socklen_t bytes, int family)
{
    WAIT(resolve, family);
    wait.words_of = words_of_reverse;
    struct hostent *found = REAL(gethostbyaddr)(address, bytes, family);
    wait.more[1].u64 = (uintptr_t)found;
    wait.result = found != NULL ? 0 : host_error(h_errno);
    return found;
}

EXPORT int gethostbyaddr_r(const void *restrict address, socklen_t bytes, int family,
                           struct hostent *restrict room, char *restrict buffer,
                           size_t buffer_bytes, struct hostent **restrict found,
                           int *restrict error)
{
    WAIT(resolve, family);
    wait.words_of = words_of_reverse;
    return host_told(
        &wait,
        REAL(gethostbyaddr_r)(address, bytes, family, room, buffer, buffer_bytes, found, error),
        found, error);
}

/* Questions of the domain name system itself: the length of the answer, or the number of h_errno. */
#define QUERY_LIST(X)                                                                              \
    X(res_query, (const char *name, int class, int type, unsigned char *answer, int room),         \
      (name, class, type, answer, room), h_errno)                                                  \
    X(res_search, (const char *name, int class, int type, unsigned char *answer, int room),        \
      (name, class, type, answer, room), h_errno)                                                  \
    X(res_nquery,                                                                                  \
      (res_state state, const char *name, int class, int type, unsigned char *answer, int room),   \
      (state, name, class, type, answer, room), state->res_h_errno)                                \
    X(res_nsearch,                                                                                 \
      (res_state state, const char *name, int class, int type, unsigned char *answer, int room),   \
      (state, name, class, type, answer, room), state->res_h_errno)

#define X(function, parameters, arguments, error)                                                  \
    EXPORT int function parameters                                                                 \
    {                                                                                              \
        WAIT(resolve, AF_UNSPEC);                                                                  \
        wait.more[0].str = name;                                                                   \
        wait.words_of = words_of_host;                                                             \
        int answered = REAL(function) arguments;                                                   \
        wait.result = answered >= 0 ? 0 : host_error(error);                                       \
        return answered;                                                                           \
    }
QUERY_LIST(X)
#undef X
