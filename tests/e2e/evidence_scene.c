/* SPDX-License-Identifier: Apache-2.0
 *
 * See evidence_scene.h. What the program says of itself is never asked of the daemons.
 */
#include "evidence_scene.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- begin and end ---- */

void scene_init(struct scene *s, const char *agent_more, const char *const *agent_under)
{
    *s = (struct scene){.page = NULL};
    whole_init(&s->w, NULL, agent_more);
    s->w.agent_under = agent_under;
    s->w.vitals = true;
    whole_configure(&s->w);
    ck_assert_int_eq(chmod(s->w.folder, 0777), 0);
    s->known = whole_path(&s->w, "known");
    s->page_file = whole_path(&s->w, "page");
    s->out = whole_path(&s->w, "out");
    file_write_text(s->known, "");
    ck_assert_int_eq(chmod(s->known, 0666), 0);
    whole_collector_start(&s->w);
    whole_agent_start(&s->w);
}

void scene_fini(struct scene *s)
{
    if (s->service > 0)
        (void)spawn_stop(s->service, SIGKILL, 0);
    if (s->page != NULL)
        munmap(s->page, sizeof *s->page);
    whole_fini(&s->w);
    free(s->known);
    free(s->page_file);
    free(s->out);
}

static bool page_ready(void *context)
{
    const struct scene *s = context;
    return s->page->ready != 0;
}

struct turns_wait {
    const struct scene *scene;
    uint64_t turns;
};

static bool turns_taken(void *context)
{
    const struct turns_wait *wait = context;
    const struct subject_page *page = wait->scene->page;
    return page->burns.count >= wait->turns && page->sleeps.count >= wait->turns / 4;
}

void scene_wait_turns(struct scene *s, uint64_t turns)
{
    struct turns_wait wait = {s, turns};
    ck_assert_msg(wait_until(turns_taken, &wait, 0), "the program stands still");
}

void scene_subject(struct scene *s, const char *const *under, uint64_t turns)
{
    const char *argv[16] = {NULL};
    char socket[256];
    size_t n = 0;
    int fd = open(s->page_file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    ck_assert(fd >= 0 && ftruncate(fd, sizeof *s->page) == 0 && fchmod(fd, 0666) == 0);
    s->page = mmap(NULL, sizeof *s->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(s->page, MAP_FAILED);
    close(fd);
    (void)snprintf(socket, sizeof socket, "SKEIN_SOCKET=%s", s->w.socket);
    for (size_t i = 0; under != NULL && under[i] != NULL; i++)
        argv[n++] = under[i];
    const char *const words[] = {SKEIN_PROGRAM,    "run",        "--service", "subject", "--",
                                 EVIDENCE_SUBJECT, s->page_file, s->known};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        argv[n++] = words[i];
    const char *const env[] = {socket, NULL};
    s->service = spawn(argv, &(struct spawn_options){.env = env});
    ck_assert_msg(wait_until(page_ready, s, 0), "the program does not start");
    whole_wait_live(&s->w, "service%3Dsubject", 1);
    scene_wait_turns(s, turns);
}

/* ---- captures, and what skein says ---- */

static _Noreturn void capture_lacks(const struct scene *s, const cJSON *json)
{
    char *log = whole_path(&s->w, "agent.log");
    ck_abort_msg("%s\n%s", cJSON_PrintUnformatted(json), file_read(log, NULL));
}

cJSON *scene_capture(struct scene *s, unsigned pre_ms, const char *members)
{
    char body[256];
    (void)snprintf(body, sizeof body, "{\"selector\":\"service=subject\",\"pre_ms\":%u%s}", pre_ms,
                   members);
    struct capture_id capture = whole_capture(&s->w, body);
    id_text(capture.bytes, s->id);
    cJSON *json = whole_capture_final(&s->w, s->id);
    if (strcmp(whole_str(json, "status"), "complete") != 0)
        capture_lacks(s, json);
    return json;
}

const cJSON *scene_evidence(const cJSON *capture, const char *kind)
{
    const cJSON *targets = cJSON_GetObjectItem(capture, "targets"), *item;
    ck_assert_int_eq(cJSON_GetArraySize(targets), 1);
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(cJSON_GetArrayItem(targets, 0), "evidence"))
        if (strcmp(whole_str(item, "kind"), kind) == 0)
            return item;
    char *text = cJSON_Print(capture);
    ck_abort_msg("no evidence %s: %s", kind, text);
}

char *scene_said(struct scene *s, const char *const *words)
{
    const char *argv[24] = {SKEIN_PROGRAM};
    char collector[64];
    for (size_t n = 0; words[n] != NULL; n++)
        argv[n + 1] = words[n];
    (void)snprintf(collector, sizeof collector, "SKEIN_COLLECTOR=http://127.0.0.1:%u", s->w.http);
    const char *const env[] = {collector, NULL};
    (void)remove(s->out);
    int status =
        spawn_wait(spawn(argv, &(struct spawn_options){.env = env, .out_file = s->out}), 0);
    char *text = file_read(s->out, NULL);
    ck_assert_msg(status == 0, "skein %s: %d: %s", words[0], status, text);
    return text;
}

cJSON *scene_printed(struct scene *s, const char *const *words)
{
    char *text = scene_said(s, words);
    cJSON *json = cJSON_Parse(text);
    ck_assert_msg(json != NULL, "skein %s prints no JSON: %s", words[0], text);
    free(text);
    return json;
}

char *scene_fetched(struct scene *s)
{
    char *file = whole_path(&s->w, "capture.skein");
    (void)remove(file);
    free(SCENE_SAID(s, "fetch", s->id, "-o", file));
    return file;
}

cJSON *scene_events(struct scene *s, const char *file, const char *name)
{
    char *text = SCENE_SAID(s, "cat", "--json", "-n", name, file), *next = text;
    cJSON *events = cJSON_CreateArray();
    for (char *line; (line = strsep(&next, "\n")) != NULL;) {
        if (line[0] == '\0')
            continue;
        cJSON *event = cJSON_Parse(line);
        ck_assert_msg(event != NULL, "no JSON: %s", line);
        cJSON_AddItemToArray(events, event);
    }
    free(text);
    return events;
}

uint64_t scene_u64(const cJSON *object, const char *name)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
    if (cJSON_IsString(member))
        return strtoull(member->valuestring, NULL, 10);
    ck_assert_msg(cJSON_IsNumber(member), "no number \"%s\"", name);
    return (uint64_t)member->valuedouble;
}

uint64_t scene_arg(const cJSON *event, const char *name)
{
    return scene_u64(cJSON_GetObjectItemCaseSensitive(event, "args"), name);
}

size_t scene_log_count(const struct scene *s, const char *text)
{
    char *path = whole_path(&s->w, "agent.log"), *log = file_read(path, NULL);
    size_t count = 0;
    ck_assert_ptr_nonnull(log);
    for (const char *at = log; (at = strstr(at, text)) != NULL; at += strlen(text))
        count++;
    free(log);
    free(path);
    return count;
}

/* ---- what the program says of itself ---- */

static uint64_t number_of(const struct subject_turn *turn, enum scene_number number)
{
    return number == SCENE_THREAD_NS    ? turn->thread_ns
           : number == SCENE_PROCESS_NS ? turn->process_ns
                                        : turn->gave_way;
}

struct bounds scene_bounds(const struct subject_turns *turns, enum scene_number number,
                           uint64_t time_ns, uint64_t slack_ns)
{
    struct bounds bounds = {0, UINT64_MAX};
    uint64_t count = turns->count;
    ck_assert_uint_lt(count, SUBJECT_TURNS);
    for (uint64_t i = 0; i < count; i++) {
        const struct subject_turn *turn = &turns->turns[i];
        uint64_t value = number_of(turn, number);
        if (turn->time_ns + slack_ns <= time_ns && value > bounds.least)
            bounds.least = value;
        if (turn->time_ns >= time_ns + slack_ns && value < bounds.most)
            bounds.most = value;
    }
    ck_assert_msg(bounds.most != UINT64_MAX, "the program has said nothing since");
    return bounds;
}

struct bounds scene_growth(const struct subject_turns *turns, enum scene_number number,
                           uint64_t from_ns, uint64_t to_ns, uint64_t slack_ns)
{
    struct bounds from = scene_bounds(turns, number, from_ns, slack_ns);
    struct bounds to = scene_bounds(turns, number, to_ns, slack_ns);
    return (struct bounds){to.least > from.most ? to.least - from.most : 0, to.most - from.least};
}

uint64_t scene_slack_ns(const struct scene *s)
{
    cJSON *page = whole_get(&s->w, "/api/v1/agents");
    const cJSON *agent = cJSON_GetArrayItem(cJSON_GetObjectItem(page, "items"), 0);
    double offset = whole_number(agent, "clock_offset_ns");
    cJSON_Delete(page);
    return 2000000 + (uint64_t)(offset < 0 ? -offset : offset);
}
