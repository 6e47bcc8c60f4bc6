/* SPDX-License-Identifier: Apache-2.0
 *
 * What events say in words, of programs that know nothing of Skein and tell themselves what they
 * did; and that privacy keeps it out of the ring, byte by byte.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "decoded_ring.h"
#include "fake_agent.h"
#include "support.h"

#define SAID_BYTES 16384

static struct fake_agent agent;
#define TRIES 100

static struct decoded_ring decoded;
static char *folder, said[SAID_BYTES];
static uint64_t stack_ns; /* what the agent asks for; 0: no stacks */

static const uint64_t key[2] = {0x1122334455667788, 0x99aabbccddeeff00};

static void setup(void)
{
    folder = temp_dir_new();
    stack_ns = 0;
}

static void teardown(void)
{
    ring_decode_free(&decoded);
    fake_agent_fini(&agent);
    temp_dir_free(&folder);
}

static int run_once(uint32_t privacy, const char *const argv[])
{
    char *path = path_join(folder, "agent.sock"), *out = path_join(folder, "out"), line[4200];
    snprintf(line, sizeof line, "SKEIN_SOCKET=%s", path);
    const char *const environment[] = {"LD_PRELOAD=" PRELOAD, line, "SKEIN_ATTACH_MS=0", NULL};
    fake_agent_init(&agent, 7);
    agent.privacy = (struct privacy_rule){privacy, {key[0], key[1]}};
    agent.threshold_ns = 1;
    agent.stack_ns = stack_ns;
    fake_agent_serve(&agent, path, SKEIN_MODE_CIRCULAR, 4 << 20);
    struct spawn_options options = {.env = environment, .folder = folder, .out_file = out};
    int status = spawn_wait(spawn(argv, &options), 0);
    fake_agent_stop(&agent);
    FILE *file = fopen(out, "r");
    ck_assert_ptr_nonnull(file);
    said[fread(said, 1, sizeof said - 1, file)] = '\0';
    fclose(file);
    free(out);
    free(path);
    return status;
}

/* Runs it to its end as a service, with an agent that has answered in time: where much else is at
 * work, it is not always asked soon enough. What it printed is in `said`. Returns its status. */
static int run(uint32_t privacy, const char *const argv[])
{
    int status = run_once(privacy, argv);
    for (int i = 1; i < TRIES && (agent.peer_count == 0 || fake_agent_was_late(&agent)); i++) {
        fake_agent_fini(&agent);
        memset(&agent, 0, sizeof agent);
        status = run_once(privacy, argv);
    }
    ck_assert_msg(agent.peer_count > 0, "it was not recorded: %s", said);
    return status;
}

/* Of the nth process that attached. */
static void decode(unsigned n)
{
    struct fake_ring *ring = &agent.peers[n].ring;
    ring_decode_free(&decoded);
    ck_assert_msg(ring_decode(ring->ring, &ring->geometry, &decoded), "%s", decoded.error);
}

/* Whether some event of the name has these texts behind its result; NULL: any. */
static bool has_event(const char *name, const char *text, const char *text_2)
{
    for (uint64_t i = 0, count = decoded_count(&decoded, name); i < count; i++) {
        const struct decoded_event *e = decoded_nth(&decoded, name, i);
        bool first = e->nargs > 2 && e->args[2].text != NULL && strcmp(e->args[2].text, text) == 0;
        bool second = text_2 == NULL || (e->nargs > 3 && e->args[3].text != NULL &&
                                         strcmp(e->args[3].text, text_2) == 0);
        if (first && second)
            return true;
    }
    return false;
}

/* "event text" or "event text text" a line: what the program says of itself. */
static const char account[] =
    "import os, socket, sys\n"
    "def say(*words): print(*words, flush=True)\n"
    "def at(a): return '%s:%d' % a[:2]\n"
    "s = socket.create_server(('127.0.0.1', 0))\n"
    "c = socket.create_connection(s.getsockname())\n"
    "a, who = s.accept()\n"
    "say('connect', at(s.getsockname()))\n"
    "say('accept', at(c.getsockname()))\n"
    "u = socket.socket(socket.AF_UNIX); u.bind('secret.sock'); u.listen()\n"
    "v = socket.socket(socket.AF_UNIX); v.connect('secret.sock')\n"
    "say('connect', 'secret.sock')\n"
    "open('secret-a', 'w').close(); say('open', 'secret-a')\n"
    "os.stat('secret-a'); say('stat', 'secret-a')\n"
    "os.rename('secret-a', 'secret-b'); say('rename', 'secret-a', 'secret-b')\n"
    "os.unlink('secret-b'); say('unlink', 'secret-b')\n"
    "try: os.stat('/secret/none')\n"
    "except OSError: say('stat', '/secret/none')\n"
    "socket.getaddrinfo('127.0.0.7', None); say('resolve', '127.0.0.7', '127.0.0.7')\n";

static const char *const account_run[] = {"/usr/bin/python3", "-c", account, NULL};

/* Gives each line of what was said to `look`; returns how many there were. */
static unsigned lines_each(void (*look)(const char *event, const char *text, const char *text_2))
{
    unsigned lines = 0;
    char *rest = said;
    for (const char *line; (line = strsep(&rest, "\n")) != NULL && *line;) {
        char event[32], text[256], text_2[256] = "";
        ck_assert_int_ge(sscanf(line, "%31s %255s %255s", event, text, text_2), 2);
        look(event, text, *text_2 ? text_2 : NULL);
        lines++;
    }
    return lines;
}

static void open_look(const char *event, const char *text, const char *text_2)
{
    ck_assert_msg(has_event(event, text, text_2), "no %s of %s", event, text);
}

START_TEST(a_program_finds_what_it_did)
{
    ck_assert_int_eq(run(PRIVACY_OFF, account_run), 0);
    decode(0);
    ck_assert_uint_eq(lines_each(open_look), 9);
}
END_TEST

/* What stands in a text's place: of an address, the hash of its host and the port as it is. */
static const char *hidden(const char *text, char out[64])
{
    const char *colon = strchr(text, ':');
    size_t host = colon != NULL ? (size_t)(colon - text) : strlen(text);
    privacy_hash(key, text, host, out);
    if (colon != NULL)
        snprintf(out + 17, 47, "%s", colon);
    return out;
}

static void hidden_look(const char *event, const char *text, const char *text_2)
{
    char a[64], b[64];
    open_look(event, hidden(text, a), text_2 != NULL ? hidden(text_2, b) : NULL);
}

/* Nowhere in the whole ring, records, tables and what is left of old ones. */
static void ck_ring_lacks(const char *text)
{
    const struct fake_ring *ring = &agent.peers[0].ring;
    ck_assert_msg(memmem(ring->ring, ring->geometry.total, text, strlen(text)) == NULL,
                  "the ring holds %s", text);
}

static void absent_look(const char *event, const char *text, const char *text_2)
{
    (void)event;
    char host[256];
    snprintf(host, sizeof host, "%.*s", (int)strcspn(text, ":"), text);
    ck_ring_lacks(host);
    if (text_2 != NULL)
        ck_ring_lacks(text_2);
}

START_TEST(hashes_stand_in_the_place_of_texts)
{
    char kept[SAID_BYTES];
    ck_assert_int_eq(run(PRIVACY_HASH, account_run), 0);
    memcpy(kept, said, sizeof kept);
    decode(0);
    ck_assert_uint_eq(lines_each(hidden_look), 9);
    memcpy(said, kept, sizeof kept);
    ck_assert_uint_eq(lines_each(absent_look), 9);
}
END_TEST

static void no_text(const char *event)
{
    uint64_t count = decoded_count(&decoded, event);
    ck_assert_uint_gt(count, 0);
    for (uint64_t i = 0; i < count; i++) {
        const struct decoded_event *e = decoded_nth(&decoded, event, i);
        for (uint8_t k = 2; k < e->nargs; k++)
            must_hold(e->args[k].text != NULL && e->args[k].text[0] == '\0', "a text of %s", event);
    }
}

/* Also under a number that this library does not know. */
START_TEST(what_is_left_out_is_nowhere)
{
    static const uint32_t modes[] = {PRIVACY_LEAVE_OUT, 77};
    ck_assert_int_eq(run(modes[_i], account_run), 0);
    ck_assert_uint_eq(lines_each(absent_look), 9);
    decode(0);
    static const char *const events[] = {"stat", "open", "rename", "unlink", "resolve"};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        no_text(events[i]);
}
END_TEST

/* ---- programs of Debian ---- */

static uint16_t port_closed(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t bytes = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, bytes), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &bytes), 0);
    close(fd);
    return ntohs(address.sin_port);
}

START_TEST(clients_say_whom_they_could_not_reach)
{
    static const struct {
        const char *program, *script;
    } clients[] = {{"curl", "exec curl -s http://127.0.0.1:$0/"},
                   {"wget", "exec wget -q -t 1 -O /dev/null http://127.0.0.1:$0/"},
                   {"redis-cli", "exec redis-cli -h 127.0.0.1 -p $0 ping"},
                   {"/usr/lib/postgresql/15/bin/psql",
                    "exec /usr/lib/postgresql/15/bin/psql -h 127.0.0.1 -p $0 -c 'select 1'"}};
    char command[256], port[8], peer[32];
    snprintf(command, sizeof command, "command -v %s >/dev/null", clients[_i].program);
    if (system(command) != 0) { /* NOLINT(cert-env33-c): a name of ours */
        fake_agent_init(&agent, 7);
        return; /* not installed */
    }
    uint16_t number = port_closed();
    snprintf(port, sizeof port, "%u", number);
    snprintf(peer, sizeof peer, "127.0.0.1:%u", number);
    ck_assert_int_ne(
        run(PRIVACY_OFF, (const char *[]){"/bin/sh", "-c", clients[_i].script, port, NULL}), 0);
    bool found = false;
    for (unsigned n = 0; n < agent.peer_count; n++) {
        decode(n);
        found = found || has_event("connect", peer, NULL);
    }
    ck_assert_msg(found, "%s: no connect to %s", clients[_i].program, peer);
}
END_TEST

/* ---- ends ---- */

static const struct decoded_event *last_of(const char *name)
{
    decode(agent.peer_count - 1);
    uint64_t count = decoded_count(&decoded, name);
    ck_assert_msg(count > 0, "no event %s", name);
    return decoded_nth(&decoded, name, count - 1);
}

START_TEST(a_program_that_ends_itself_says_how)
{
    static const char *const scripts[] = {"import os; os._exit(7)",
                                          "import ctypes; ctypes.CDLL(None).exit(7)",
                                          "import ctypes; ctypes.CDLL(None).quick_exit(7)"};
    ck_assert_int_eq(
        run(PRIVACY_OFF, (const char *[]){"/usr/bin/python3", "-c", scripts[_i], NULL}), 7);
    ck_assert_int_eq(last_of("exit")->args[0].i64, 7);
    ck_assert_uint_eq(last_of("exit")->stack, 0); /* nobody asked for any */
}
END_TEST

/* From the program's own code up to the outermost frame. */
static void ck_stack_is_whole(const struct decoded_event *e)
{
    ck_assert_uint_gt(e->stack, 0);
    const struct decoded_stack *stack = &decoded.stacks[e->stack - 1];
    bool of_program = false;
    ck_assert_uint_eq(stack->end, 0);
    ck_assert_uint_gt(stack->count, 2);
    for (size_t i = 0; i < decoded.mapping_count; i++)
        of_program |= decoded.mappings[i].path[0] == '\0' &&
                      stack->pcs[0] >= decoded.mappings[i].start &&
                      stack->pcs[0] < decoded.mappings[i].end;
    ck_assert(of_program);
}

START_TEST(a_program_that_gives_up_leaves_its_stack)
{
    static const char *const ends[] = {"ends_assert", "crash_abort"};
    stack_ns = 3600 * UINT64_C(1000000000); /* nothing else lasts so long */
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(run(PRIVACY_OFF, (const char *[]){SUBJECT, ends[i], NULL}), 128 + 6);
        ck_stack_is_whole(last_of("abort"));
        fake_agent_fini(&agent);
    }
    ck_assert_int_eq(run(PRIVACY_OFF, (const char *[]){SUBJECT, "ends_by_status", NULL}), 9);
    ck_stack_is_whole(last_of("exit"));
    for (size_t i = 0; i < decoded.event_count; i++)
        ck_assert(decoded.events[i].stack == 0 || strcmp(decoded.events[i].name, "exit") == 0);
    fake_agent_fini(&agent);
    const char *const well[] = {"/usr/bin/python3", "-c", "import os; os._exit(0)", NULL};
    ck_assert_int_eq(run(PRIVACY_OFF, well), 0);
    ck_assert_uint_eq(last_of("exit")->stack, 0);
}
END_TEST

START_TEST(a_program_that_gives_up_says_why)
{
    ck_assert_int_eq(
        run(PRIVACY_OFF, (const char *[]){"/usr/bin/python3", "-c", "import os; os.abort()", NULL}),
        128 + 6);
    ck_assert_str_eq(last_of("abort")->args[1].text, "");
    fake_agent_fini(&agent);
    ck_assert_int_eq(run(PRIVACY_OFF, (const char *[]){SUBJECT, "ends_assert", NULL}), 128 + 6);
    const struct decoded_event *e = last_of("abort");
    ck_assert_str_eq(e->args[1].text, "one == 2");
    ck_assert_ptr_nonnull(strstr(e->args[2].text, "subject_calls.c"));
    ck_assert_int_gt(e->args[0].i64, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("preload_words");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 120);
    tcase_add_test(c, a_program_finds_what_it_did);
    tcase_add_test(c, hashes_stand_in_the_place_of_texts);
    tcase_add_loop_test(c, what_is_left_out_is_nowhere, 0, 2);
    tcase_add_loop_test(c, clients_say_whom_they_could_not_reach, 0, 4);
    tcase_add_loop_test(c, a_program_that_ends_itself_says_how, 0, 3);
    tcase_add_test(c, a_program_that_gives_up_says_why);
    tcase_add_test(c, a_program_that_gives_up_leaves_its_stack);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
