/* SPDX-License-Identifier: Apache-2.0
 * The handshake and sealed frames: raw bytes are never taken for a peer's, and what a peer made and
 * someone changed is refused. The first byte chooses, the next two say where to change what. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "seal.h"

static void require(bool holds)
{
    if (!holds)
        abort();
}

static struct seal_pair agent, collector;
static struct seal_opening opening;
static struct seal_session *up, *down;

/* Keys are the same in each run; what is random besides changes no branch. */
static void prepare(void)
{
    uint8_t secret[SEAL_KEY_BYTES];
    struct seal_request request;
    struct seal_grant grant = {.session = 1};
    struct buf open = {0}, accept = {0};
    require(seal_init() == SKEIN_OK);
    memset(secret, 1, sizeof secret);
    require(seal_pair_from_secret(secret, &agent) == SKEIN_OK);
    memset(secret, 2, sizeof secret);
    require(seal_pair_from_secret(secret, &collector) == SKEIN_OK);
    struct seal_hello hello = {.agent = 1, .token = "token"};
    require(seal_open_make(&agent, &collector.open, &hello, &opening, &open) == SKEIN_OK);
    require(seal_open_read(&collector, 1, open.data, open.len, &request) == SKEIN_OK);
    require(seal_accept_make(&request, &grant, &accept, &down) == SKEIN_OK);
    require(seal_accept_read(&opening, &agent, accept.data, accept.len, &grant, &up) == SKEIN_OK);
    buf_fini(&open);
    buf_fini(&accept);
}

static void try_raw(const uint8_t *bytes, size_t n)
{
    struct seal_request request;
    struct seal_grant grant;
    struct seal_session *session = NULL;
    struct wire_frame frame;
    char reason[SEAL_REASON_MAX + 1], text[SEAL_TEXT_BYTES + 1] = "";
    uint64_t id;
    uint8_t key[SEAL_KEY_BYTES], *copy = malloc(n + 1);
    require(copy != NULL);
    memcpy(copy, bytes, n);
    require(seal_accept_read(&opening, &agent, bytes, n, &grant, &session) < 0);
    require(seal_refuse_read(&opening, bytes, n, reason) < 0);
    (void)seal_open_read(&collector, 1, bytes, n, &request); /* the corpus has good ones */
    (void)seal_frame_session(bytes, n, &id);
    require(seal_frame_open(down, SEAL_CONTROL, copy, n, &frame) < 0);
    memcpy(text, bytes, n < SEAL_TEXT_BYTES ? n : SEAL_TEXT_BYTES);
    if (seal_key_parse(text, key) == SKEIN_OK) {
        char again[SEAL_TEXT_BYTES];
        seal_key_text(key, again);
        require(strcmp(again, text) == 0);
    }
    free(copy);
}

static void try_open(uint8_t at, uint8_t change, const uint8_t *bytes, size_t n)
{
    struct seal_hello hello = {.agent = n};
    struct seal_opening own;
    struct seal_request request;
    struct buf open = {0};
    for (size_t i = 0; i < n && i < SEAL_TOKEN_MAX && bytes[i] != 0; i++)
        hello.token[i] = (char)bytes[i];
    require(seal_open_make(&agent, &collector.open, &hello, &own, &open) == SKEIN_OK);
    open.data[at % open.len] ^= change;
    int status = seal_open_read(&collector, 1, open.data, open.len, &request);
    require((status == SKEIN_OK) == (change == 0));
    if (status == SKEIN_OK)
        require(strcmp(request.hello.token, hello.token) == 0);
    buf_fini(&open);
}

static void try_frame(uint8_t at, uint8_t change, const uint8_t *bytes, size_t n)
{
    struct wire_frame frame;
    size_t len = SEAL_HEAD_BYTES + n + SEAL_TAG_BYTES;
    uint8_t *message = malloc(len);
    require(message != NULL);
    memcpy(message + SEAL_HEAD_BYTES, bytes, n);
    if (seal_frame_close(up, SEAL_DATA, message, WIRE_CHUNK, 7, n) == SKEIN_OK) {
        message[at % len] ^= change;
        int status = seal_frame_open(down, SEAL_DATA, message, len, &frame);
        require((status == SKEIN_OK) == (change == 0));
        if (status == SKEIN_OK)
            require(frame.body_bytes == n && memcmp(frame.body, bytes, n) == 0);
    }
    free(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (up == NULL)
        prepare();
    if (n < 3 || n > WIRE_CHUNK_MAX || bytes[0] % 3 == 0)
        try_raw(n > 0 ? bytes + 1 : bytes, n > 0 ? n - 1 : 0);
    else if (bytes[0] % 3 == 1)
        try_open(bytes[1], bytes[2], bytes + 3, n - 3);
    else
        try_frame(bytes[1], bytes[2], bytes + 3, n - 3);
    return 0;
}
