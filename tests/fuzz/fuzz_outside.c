/* SPDX-License-Identifier: Apache-2.0
 *
 * What finds processes to be watched from outside reads: a selector of the agent's config, and what
 * the kernel tells of sockets that listen. The first byte says which; neither may read beyond its
 * end, and what is taken of a selector matches nothing by accident.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "fuzz_target.h"
#include "outside_ports.h"
#include "outside_rule.h"
#include "selector.h"
#include "skein/status.h"

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* An address that is taken is of this host, written out. */
static void address_look(const char *text)
{
    struct outside_loopback at;
    if (text[0] == '\0')
        return;
    require(strncmp(text, "127.", 4) == 0 || strncmp(text, "[", 1) == 0);
    const char *rest = outside_loopback_read(text, &at);
    require(rest != NULL && rest <= text + strlen(text) && at.port != 0);
    require(at.family == AF_INET ? at.address[0] == 127 : at.address[15] == 1);
}

static void selector_read(const uint8_t *bytes, size_t n)
{
    char *text = malloc(n + 1), why[64];
    struct outside_rule rule;
    const struct outside_view nobody = {.exe = "", .cgroup = ""};
    require(text != NULL);
    memcpy(text, bytes, n);
    text[n] = '\0';
    if (outside_rule_parse(text, &rule, why, sizeof why) == SKEIN_OK) {
        const struct outside_rules rules = {&rule, 1};
        require(outside_service_valid(rule.service));
        require(rule.labels[0] == '\0' || labels_valid(rule.labels));
        require(outside_rules_match(&rules, &nobody) == NULL);
        address_look(rule.go.pprof);
        address_look(rule.go.flight);
    }
    free(text);
}

static void answer_read(const uint8_t *bytes, size_t n)
{
    static struct outside_sockets sockets;
    const uint16_t ports[] = {80, 8080};
    uint8_t *copy = malloc(n > 0 ? n : 1);
    require(copy != NULL);
    memcpy(copy, bytes, n);
    sockets.count = 0;
    (void)outside_answer_take(copy, n, ports, 2, &sockets);
    require(sockets.count <= OUTSIDE_SOCKETS_MAX);
    for (size_t i = 0; i < sockets.count; i++) {
        require(sockets.items[i].port == 80 || sockets.items[i].port == 8080);
        require(i == 0 || sockets.items[i - 1].inode < sockets.items[i].inode);
    }
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] == 's')
        selector_read(data + 1, size - 1);
    else
        answer_read(data + 1, size - 1);
    return 0;
}
