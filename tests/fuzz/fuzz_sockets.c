/* SPDX-License-Identifier: Apache-2.0
 * Answers of sock_diag, as each kind of socket. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "socket_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct socket_row rows[] = {{.inode = 0}, {.inode = 7}, {.inode = 4242}};
    for (enum socket_kind kind = SOCKET_TCP; kind < SOCKET_KINDS; kind++) {
        (void)socket_answer_take(bytes, n, kind, rows, 3);
        for (size_t i = 0; i < 3; i++)
            if (memchr(rows[i].local, '\0', SOCKET_TEXT_BYTES) == NULL ||
                memchr(rows[i].peer, '\0', SOCKET_TEXT_BYTES) == NULL ||
                socket_state_text(rows[i].kind, rows[i].state) == NULL)
                abort();
    }
    return 0;
}
