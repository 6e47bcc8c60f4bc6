/* SPDX-License-Identifier: Apache-2.0
 * skein symbolize: names come from files by build id, and nothing else of a trace changes. */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "partition_int.h"
#include "partition_rename.h"
#include "sample.h"
#include "support.h"
#include "trace_file.h"

static char *folder, *trace, *plugin;
static uint8_t build_id[20];
static uint64_t place; /* of plugin_outer in the file, and its address there */

#define BASE UINT64_C(0x7f1200000000)

__attribute__((format(printf, 1, 2))) static char *shell(const char *format, ...)
{
    char command[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    char *out = path_join(folder, "out");
    unlink(out);
    const char *argv[] = {"sh", "-c", command, NULL};
    const char *env[] = {"SKEIN_SYMBOLIZER=" SKEIN_SYMBOLIZER, NULL};
    pid_t pid = spawn(argv, &(struct spawn_options){.out_file = out, .env = env});
    int status = spawn_wait(pid, 0);
    size_t n;
    char *text = file_read(out, &n);
    ck_assert_msg(status == 0, "%s: %s", command, text);
    free(out);
    return text;
}

static void id_read(void)
{
    char *text = shell("readelf -n %s | sed -n 's/.*Build ID: //p'", SYMBOL_PLUGIN);
    for (size_t i = 0; i < sizeof build_id; i++) {
        const char digits[] = {text[2 * i], text[2 * i + 1], '\0'};
        build_id[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    free(text);
    text = shell("nm %s | sed -n 's/ T plugin_outer$//p'", SYMBOL_PLUGIN);
    place = strtoull(text, NULL, 16);
    ck_assert_uint_gt(place, 0);
    free(text);
}

/* Two partitions, the second without a stack; `old`: a name that the first has of its own. */
static void trace_make(const struct partition_symbol *old)
{
    struct buf file = {0};
    uint64_t lengths[2];
    const uint64_t pcs[] = {BASE + place + 1, BASE + place + 9, 0x1234};
    for (int i = 0; i < 2; i++) {
        struct partition_info info = sample_info();
        struct partition_writer *w;
        info.key.sequence += (uint64_t)i;
        ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
        uint32_t type = (uint32_t)partition_writer_type(w, &sample_query);
        struct partition_value args[2] = {sample_str("q"), sample_u64(1)};
        const struct partition_thread thread = {.tid = 1, .name = "main"};
        partition_writer_batch(w, (uint32_t)partition_writer_thread(w, &thread), 7, 0, false);
        for (uint64_t at = 100; at < 40000; at += 10)
            partition_writer_event(w, type, at, 0, args);
        if (i == 0) {
            struct partition_mapping mapping = {.start = BASE,
                                                .end = BASE + 0x10000,
                                                .path = plugin,
                                                .build_id_bytes = sizeof build_id};
            memcpy(mapping.build_id, build_id, sizeof build_id);
            int64_t id = partition_writer_stack(w, &(struct partition_stack){pcs, 3, 0});
            partition_writer_event_stack(w, (uint32_t)id);
            ck_assert_int_eq(partition_writer_mapping(w, &mapping), SKEIN_OK);
            if (old != NULL)
                ck_assert_int_eq(partition_writer_symbol(w, old), SKEIN_OK);
        }
        size_t before = file.len;
        ck_assert_int_eq(partition_writer_finish(w, &file, NULL), SKEIN_OK);
        partition_writer_free(&w);
        lengths[i] = file.len - before;
    }
    ck_assert_int_eq(trace_table_put(lengths, 2, &file), SKEIN_OK);
    file_write(trace, file.data, file.len);
    buf_fini(&file);
}

static void setup(void)
{
    folder = temp_dir_new();
    trace = path_join(folder, "trace.skein");
    plugin = path_join(folder, "plugin.so");
    id_read();
}

static void teardown(void)
{
    free(trace);
    free(plugin);
    temp_dir_free(&folder);
}

/* "function file:line; …" of an address in the first partition; "" where it has no name. */
static void name_read(const char *path, uint64_t address, char *out, size_t bytes)
{
    struct trace_file *file;
    struct partition_reader *reader;
    struct partition_symbol symbol;
    struct buf b = {0};
    char error[256];
    ck_assert_int_eq(trace_file_open(path, &file, error, sizeof error), SKEIN_OK);
    ck_assert_uint_eq(trace_file_count(file), 2);
    ck_assert_uint_eq(trace_file_torn(file), 0);
    ck_assert(trace_file_closed(file));
    ck_assert_int_eq(trace_file_read(file, 0, &b), SKEIN_OK);
    ck_assert_int_eq(partition_check(b.data, b.len, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(partition_reader_new(b.data, b.len, &reader, error, sizeof error), SKEIN_OK);
    out[0] = '\0';
    if (partition_reader_symbol(reader, address, &symbol))
        for (uint32_t i = 0; i < symbol.line_count; i++) {
            size_t n = strlen(out);
            const char *slash = strrchr(symbol.lines[i].file, '/');
            snprintf(out + n, bytes - n, "%s%s %s:%u", i > 0 ? "; " : "", symbol.lines[i].function,
                     slash != NULL ? slash + 1 : symbol.lines[i].file, symbol.lines[i].line);
        }
    partition_reader_free(&reader);
    buf_fini(&b);
    trace_file_free(&file);
}

static void expect_named(const char *path)
{
    char name[4096];
    name_read(path, BASE + place, name, sizeof name); /* of a return address one further */
    ck_assert_msg(strstr(name, "plugin_outer symbol_plugin.c:") != NULL, "%s", name);
    name_read(path, 0x1233, name, sizeof name);
    ck_assert_str_eq(name, "");
}

START_TEST(a_program_in_its_place_names_its_functions)
{
    char name[4096];
    free(shell("cp %s %s", SYMBOL_PLUGIN, plugin));
    trace_make(NULL);
    name_read(trace, BASE + place, name, sizeof name);
    ck_assert_str_eq(name, "");
    char *said = shell("%s symbolize -j %s", SKEIN_PROGRAM, trace);
    ck_assert_msg(strstr(said, "\"addresses\":	3") != NULL, "%s", said);
    expect_named(trace);
    /* Once more: nothing changes. */
    size_t n, m;
    char *first = file_read(trace, &n);
    free(shell("%s symbolize %s", SKEIN_PROGRAM, trace));
    char *second = file_read(trace, &m);
    ck_assert_uint_eq(n, m);
    ck_assert_mem_eq(first, second, n);
    free(first);
    free(second);
    free(said);
}
END_TEST

START_TEST(folders_are_looked_through_by_build_id)
{
    char *dir = path_join(folder, "symbols"), *named = path_join(folder, "named.skein");
    char *id = shell("readelf -n %s | sed -n 's/.*Build ID: //p'", SYMBOL_PLUGIN);
    id[strcspn(id, "\n")] = '\0';
    free(shell("mkdir -p %s/.build-id/%.2s && objcopy --strip-all %s %s/plugin.so && "
               "objcopy --only-keep-debug %s %s/.build-id/%.2s/%s.debug",
               dir, id, SYMBOL_PLUGIN, dir, SYMBOL_PLUGIN, dir, id, id + 2));
    trace_make(NULL);
    free(shell("%s symbolize %s --debug-dir %s -o %s", SKEIN_PROGRAM, trace, dir, named));
    expect_named(named);
    free(id);
    free(dir);
    free(named);
}
END_TEST

static bool is_up(void *port)
{
    int fd = tcp_connect(*(uint16_t *)port);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

START_TEST(a_server_is_asked_only_if_it_is_named)
{
    char port_text[16], name[4096];
    uint16_t port = free_port();
    char *id = shell("readelf -n %s | sed -n 's/.*Build ID: //p'", SYMBOL_PLUGIN);
    id[strcspn(id, "\n")] = '\0';
    free(shell("mkdir -p %s/buildid/%s && cd %s/buildid/%s && objcopy --strip-all %s executable && "
               "objcopy --only-keep-debug %s debuginfo",
               folder, id, folder, id, SYMBOL_PLUGIN, SYMBOL_PLUGIN));
    snprintf(port_text, sizeof port_text, "%u", port);
    const char *argv[] = {"python3",   "-m",          "http.server", port_text, "--bind",
                          "127.0.0.1", "--directory", folder,        NULL};
    char *log = path_join(folder, "server.log");
    pid_t server = spawn(argv, &(struct spawn_options){.out_file = log});
    ck_assert(wait_until(is_up, &port, 0));
    trace_make(NULL);
    free(shell("DEBUGINFOD_CACHE_PATH=%s/cache DEBUGINFOD_URLS=http://127.0.0.1:%u %s symbolize %s",
               folder, port, SKEIN_PROGRAM, trace));
    name_read(trace, BASE + place, name, sizeof name);
    ck_assert_str_eq(name, "");
    free(shell("DEBUGINFOD_CACHE_PATH=%s/cache %s symbolize %s --debuginfod http://127.0.0.1:%u",
               folder, SKEIN_PROGRAM, trace, port));
    expect_named(trace);
    (void)spawn_stop(server, SIGTERM, 0);
    free(log);
    free(id);
}
END_TEST

START_TEST(a_program_of_another_build_names_nothing)
{
    char name[4096];
    free(shell("cp %s %s", SYMBOL_PLUGIN, plugin));
    build_id[7] ^= 1;
    trace_make(NULL);
    free(shell("%s symbolize %s", SKEIN_PROGRAM, trace));
    name_read(trace, BASE + place, name, sizeof name);
    ck_assert_str_eq(name, "");
}
END_TEST

START_TEST(names_with_lines_stay_and_others_give_way)
{
    char name[4096];
    struct partition_line line = {"as_it_was", "", 0};
    struct partition_symbol old = {BASE + place, &line, 1};
    free(shell("cp %s %s", SYMBOL_PLUGIN, plugin));
    trace_make(&old);
    free(shell("%s symbolize %s", SKEIN_PROGRAM, trace));
    expect_named(trace);
    line = (struct partition_line){"as_it_was", "there.c", 12};
    trace_make(&old);
    free(shell("%s symbolize %s", SKEIN_PROGRAM, trace));
    name_read(trace, BASE + place, name, sizeof name);
    ck_assert_str_eq(name, "as_it_was there.c:12");
    unlink(plugin); /* without the program, a name without a line stays as well */
    line = (struct partition_line){"as_it_was", "", 0};
    trace_make(&old);
    free(shell("%s symbolize %s", SKEIN_PROGRAM, trace));
    name_read(trace, BASE + place, name, sizeof name);
    ck_assert_str_eq(name, "as_it_was :0");
}
END_TEST

/* ---- the rest of the partition ---- */

/* The stored bytes of all sections but SYMBOLS and FOOTER. */
static void sections_list(const struct buf *partition, struct buf *out)
{
    struct cursor c;
    cursor_init(&c, partition->data + HEAD_BYTES, partition->len - HEAD_BYTES - TAIL_BYTES);
    while (cursor_left(&c) > 0) {
        const uint8_t *head = c.pos;
        struct section section;
        ck_assert_int_eq(section_get(&c, 0, &section), SKEIN_OK);
        if (section.kind != SECTION_SYMBOLS && section.kind != SECTION_FOOTER)
            buf_put(out, head, (size_t)(c.pos - head));
    }
}

START_TEST(all_other_sections_are_byte_for_byte_the_same)
{
    char *named = path_join(folder, "named.skein"), error[256];
    free(shell("cp %s %s", SYMBOL_PLUGIN, plugin));
    trace_make(NULL);
    free(shell("%s symbolize %s -o %s", SKEIN_PROGRAM, trace, named));
    struct trace_file *a, *b;
    ck_assert_int_eq(trace_file_open(trace, &a, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(trace_file_open(named, &b, error, sizeof error), SKEIN_OK);
    for (size_t i = 0; i < 2; i++) {
        struct buf x = {0}, y = {0}, xs = {0}, ys = {0};
        ck_assert_int_eq(trace_file_read(a, i, &x), SKEIN_OK);
        ck_assert_int_eq(trace_file_read(b, i, &y), SKEIN_OK);
        ck_assert_int_eq(x.len == y.len, i == 1); /* names make it longer */
        sections_list(&x, &xs);
        sections_list(&y, &ys);
        ck_assert_uint_eq(xs.len, ys.len);
        ck_assert_mem_eq(xs.data, ys.data, xs.len);
        ck_assert_uint_eq(trace_file_entry(a, i)->footer.events,
                          trace_file_entry(b, i)->footer.events);
        buf_fini(&x);
        buf_fini(&y);
        buf_fini(&xs);
        buf_fini(&ys);
    }
    trace_file_free(&a);
    trace_file_free(&b);
    free(named);
}
END_TEST

START_TEST(a_partition_that_ends_too_early_is_refused)
{
    char error[256];
    trace_make(NULL);
    struct trace_file *file;
    struct buf b = {0}, out = {0};
    struct partition_info info = sample_info();
    ck_assert_int_eq(trace_file_open(trace, &file, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(trace_file_read(file, 0, &b), SKEIN_OK);
    for (size_t n = 0; n < b.len; n += n < 200 || b.len - n < 200 ? 1 : 97) {
        struct partition_writer *w;
        ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
        must_hold(partition_rename(b.data, n, w, &out) != SKEIN_OK && out.len == 0, "%zu bytes", n);
        partition_writer_free(&w);
    }
    buf_fini(&b);
    buf_fini(&out);
    trace_file_free(&file);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbolize");
    TCase *names = tcase_create("names");
    tcase_set_timeout(names, 300);
    tcase_add_checked_fixture(names, setup, teardown);
    tcase_add_test(names, a_program_in_its_place_names_its_functions);
    tcase_add_test(names, folders_are_looked_through_by_build_id);
    tcase_add_test(names, a_server_is_asked_only_if_it_is_named);
    tcase_add_test(names, a_program_of_another_build_names_nothing);
    tcase_add_test(names, names_with_lines_stay_and_others_give_way);
    tcase_add_test(names, all_other_sections_are_byte_for_byte_the_same);
    tcase_add_test(names, a_partition_that_ends_too_early_is_refused);
    suite_add_tcase(suite, names);
    return suite_run(suite);
}
