/* SPDX-License-Identifier: Apache-2.0
 *
 * What an event says beside numbers: paths, names of hosts, addresses. Each words_fn makes them of
 * what its wrapper has left in wait->more, when the call is over and has taken long enough. They
 * read the program's memory only where the call has come back in a way that it cannot without the
 * kernel, or the C library, having read the same; and they follow the process page's privacy.
 * Any thread; signal-safe: no allocation, no lock, no locale. errno may change. Included by the
 * preload library's files only.
 */
#ifndef PRELOAD_WORDS_H
#define PRELOAD_WORDS_H

#include <sys/socket.h>

#include "preload_wait.h"

/* The longest: a path of a Unix socket, with a NUL. An address with its scope and port is less. */
#define WORDS_BYTES 128

struct words {
    char text[2][WORDS_BYTES]; /* for more[0] and more[1] */
};

/* more[0].str is a path that a system call has read, or would have. */
void words_of_path(struct wait *wait, struct words *words);

/* And more[1].str another one, of which nothing is known if the call fails. */
void words_of_paths(struct wait *wait, struct words *words);

/* more[0].str is a name that the C library has read, and more[1].str an address: NULL, or made of
 * addrinfo or hostent by the wrapper's own words_fn. */
void words_of_host(struct wait *wait, struct words *words);

/* connect(): more[0].u64 the address, more[1].u64 its bytes. */
void words_of_connect(struct wait *wait, struct words *words);

/* accept(): more[0].u64 the address that the program was given, more[1].u64 its bytes; 0: asks the
 * kernel for the new descriptor's peer, once, and not where system calls are barred. */
void words_of_accept(struct wait *wait, struct words *words);

/* getaddrinfo(): more[0].str the name, more[1].u64 what was found: a struct addrinfo **. */
void words_of_addrinfo(struct wait *wait, struct words *words);

/* gethostbyname() and the like: more[0].str the name, or NULL; more[1].u64 a struct hostent *. */
void words_of_hostent(struct wait *wait, struct words *words);

/* poll(): more[0].u64 the descriptors; the event's detail is how many they are. */
void words_of_poll(struct wait *wait, struct words *words);

/* "10.0.0.7:5432", "[::1]:80", a Unix socket's path, "@abstract", "unix" without a name; "" where
 * the family is no address's; another family's number. Its host or path as privacy has it. */
void words_of_address(const struct sockaddr *address, socklen_t bytes, char out[WORDS_BYTES]);

#endif
