/* SPDX-License-Identifier: Apache-2.0
 *
 * Who holds how many connections; see transport_crowd.h. Owns a table by descriptor. The library closes
 * descriptors without telling us: an entry counts as long as its descriptor is still the same socket.
 */
#include "transport_crowd.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "shares.h"
#include "socket_owner.h"
#include "transport.h"

#define FDS_MAX     65536
#define GIVE_WAY    16                        /* connections, each time */
#define TALLY_NS    (100 * UINT64_C(1000000)) /* a crowd that knocks is not counted more often */
#define LOCAL_USERS (UINT64_C(1) << 63)       /* holders that are no address */
#define UNKNOWN     (LOCAL_USERS | UINT32_MAX)

struct entry {
    uint64_t holder; /* 0: none */
    ino_t socket;
    uint64_t turn;  /* rises */
    bool is_scarce; /* of the listener that is bounded */
};

static pthread_mutex_t crowd_mutex = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct entry *entries;                                   /* FDS_MAX of them */
static uint64_t last_turn, tallied_ns;
static uint64_t scarce; /* at least so many are there now that are bounded: some may have gone */
static struct share_tally tally;

/* ---- who it is ---- */

static bool is_loopback_v4(uint32_t address)
{
    return ntohl(address) >> 24 == 127;
}

/* The address, or for IPv6 the network of the host; LOCAL_USERS: this machine's own. */
static uint64_t address_holder(const struct sockaddr_storage *peer)
{
    if (peer->ss_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, peer, sizeof v4);
        return is_loopback_v4(v4.sin_addr.s_addr) ? LOCAL_USERS : v4.sin_addr.s_addr + UINT64_C(1);
    }
    if (peer->ss_family != AF_INET6)
        return LOCAL_USERS;
    struct sockaddr_in6 v6;
    uint32_t mapped;
    uint64_t network;
    memcpy(&v6, peer, sizeof v6);
    memcpy(&mapped, v6.sin6_addr.s6_addr + 12, sizeof mapped);
    memcpy(&network, v6.sin6_addr.s6_addr, sizeof network);
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
        return is_loopback_v4(mapped) ? LOCAL_USERS : mapped + UINT64_C(1);
    return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) ? LOCAL_USERS : (network & ~LOCAL_USERS) | 1;
}

static uint64_t holder_of(int fd)
{
    struct sockaddr_storage peer = {0};
    socklen_t bytes = sizeof peer;
    uint32_t user;
    if (getpeername(fd, (struct sockaddr *)&peer, &bytes) != 0)
        return UNKNOWN;
    uint64_t holder = address_holder(&peer);
    if (holder != LOCAL_USERS)
        return holder;
    return socket_owner_of(fd, &user) == SKEIN_OK ? LOCAL_USERS | user : UNKNOWN;
}

/* ---- the table ---- */

static bool is_there(int fd, const struct entry *entry)
{
    struct stat about;
    return entry->holder != 0 && fstat(fd, &about) == 0 && about.st_ino == entry->socket;
}

static void tally_make(void)
{
    const uint64_t now_ns = clock_monotonic_ns();
    if (tallied_ns != 0 && now_ns - tallied_ns < TALLY_NS)
        return;
    tallied_ns = now_ns;
    scarce = 0;
    memset(&tally, 0, sizeof tally);
    for (int fd = 0; fd < FDS_MAX; fd++) {
        struct entry *entry = &entries[fd];
        if (is_there(fd, entry)) {
            share_tally_add(&tally, entry->holder, 1);
            scarce += entry->is_scarce;
        } else
            entry->holder = 0;
    }
}

/* The one that has been there longest, of those who hold so many; -1: there is none. */
static int oldest_of(uint64_t most)
{
    int oldest = -1;
    for (int fd = 0; fd < FDS_MAX; fd++)
        if (entries[fd].holder != 0 && share_tally_of(&tally, entries[fd].holder) == most &&
            (oldest < 0 || entries[fd].turn < entries[oldest].turn) && is_there(fd, &entries[fd]))
            oldest = fd;
    return oldest;
}

/* Room for one of the holder. False: nobody holds so much more than he does. */
static bool room_make(uint64_t holder)
{
    tally_make();
    const uint64_t most = share_tally_most(&tally);
    if (share_tally_of(&tally, holder) + 2 * GIVE_WAY >= most)
        return false;
    for (int i = 0; i < GIVE_WAY; i++) {
        int fd = oldest_of(most);
        if (fd < 0)
            return i > 0;
        (void)shutdown(fd, SHUT_RDWR);
        entries[fd].holder = 0; /* it gives way once */
    }
    tallied_ns = 0;
    return true;
}

/* Who could as well be root, or us, gains nothing by many connections. */
static bool is_ordinary(uint64_t holder)
{
    return holder > LOCAL_USERS && holder != (LOCAL_USERS | geteuid());
}

/* How many connections are enough where this one came in; 0: there is no bound. */
static uint64_t enough_of(int fd)
{
    struct sockaddr_storage here = {0};
    socklen_t bytes = sizeof here;
    if (getsockname(fd, (struct sockaddr *)&here, &bytes) != 0)
        return 0;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    memcpy(&v4, &here, sizeof v4);
    memcpy(&v6, &here, sizeof v6);
    return transport_enough_at(ntohs(here.ss_family == AF_INET6 ? v6.sin6_port : v4.sin_port));
}

/* Whether there are so many that who holds most gives way. */
static bool is_crowded(uint64_t enough)
{
    const uint64_t most = enough - enough / 8;
    if (enough == 0 || scarce < most)
        return false;
    tally_make();
    return scarce >= most;
}

bool crowd_enter(int fd, bool full)
{
    struct stat about;
    if (fd >= FDS_MAX || fstat(fd, &about) != 0)
        return !full;
    const uint64_t holder = holder_of(fd), enough = enough_of(fd);
    pthread_mutex_lock(&crowd_mutex);
    if (entries == NULL)
        entries = calloc(FDS_MAX, sizeof *entries);
    bool stays = !full;
    if (full || (entries != NULL && is_crowded(enough)))
        stays = (entries != NULL && room_make(holder)) || (!full && !is_ordinary(holder));
    if (stays && entries != NULL) {
        entries[fd] = (struct entry){holder, about.st_ino, ++last_turn, enough > 0};
        scarce += enough > 0;
    }
    pthread_mutex_unlock(&crowd_mutex);
    return stays;
}
