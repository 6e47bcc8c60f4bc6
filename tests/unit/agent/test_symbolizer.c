/* SPDX-License-Identifier: Apache-2.0
 * Names against those that binutils give: of a library of C with inlined functions, of C++, without
 * debug information, in its own file, deleted, replaced; of JITs and of the kernel's page. */
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "sample.h"
#include "symbol_file.h"
#include "symbol_fixture.h"
#include "symbol_int.h"
#include "symbol_partition.h"

static char *folder;

static void setup(void)
{
    folder = temp_dir_new();
}

static void teardown(void)
{
    temp_dir_free(&folder);
}

/* What a shell prints; to be freed. */
__attribute__((format(printf, 1, 2))) static char *shell(const char *format, ...)
{
    char command[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    char *out = path_join(folder, "out");
    const char *argv[] = {"sh", "-c", command, NULL};
    unlink(out); /* it would be appended to */
    pid_t pid = spawn(argv, &(struct spawn_options){.out_file = out});
    ck_assert_msg(spawn_wait(pid, 0) == 0, "%s", command);
    size_t n;
    char *text = file_read(out, &n);
    free(out);
    return text;
}

/* ---- a library in this process ---- */

struct library {
    void *handle;
    char *path;
    uint64_t base;
};

static struct library library_load(const char *path)
{
    struct library library = {.path = strdup(path)};
    library.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(library.handle != NULL, "%s", dlerror());
    Dl_info info;
    void *place = dlsym(library.handle, "plugin_mix");
    if (place == NULL)
        place = dlsym(library.handle, "plugin_cpp_visit");
    ck_assert(dladdr(place, &info) != 0);
    library.base = (uint64_t)(uintptr_t)info.dli_fbase;
    return library;
}

static void library_close(struct library *library)
{
    dlclose(library->handle);
    free(library->path);
}

/* All addresses in functions of the library whose name (of nm) begins so: as many as fit. */
static size_t library_places(const struct library *library, const char *options, const char *begins,
                             uint64_t *out, size_t max)
{
    size_t count = 0;
    char *text = shell("nm -S --defined-only %s %s", options, library->path);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        /* "address size type name", but for those without a size */
        char *rest;
        uint64_t at = strtoull(line, &rest, 16), bytes = strtoull(rest, &rest, 16);
        if (rest[0] != ' ' || rest[1] == '\0' || rest[2] != ' ' ||
            strchr("tTwW", rest[1]) == NULL || strncmp(rest + 3, begins, strlen(begins)) != 0)
            continue;
        for (uint64_t i = 0; i < bytes && count < max; i++)
            out[count++] = library->base + at + i;
    }
    free(text);
    return count;
}

/* What addr2line says of them, in the form of names_print. */
static char *names_by_addr2line(const struct library *library, const uint64_t *places, size_t count)
{
    char *list = path_join(folder, "places");
    FILE *file = fopen(list, "we");
    for (size_t i = 0; i < count; i++)
        fprintf(file, "%" PRIx64 "\n", places[i] - library->base);
    fclose(file);
    char *said = shell("addr2line -afiC -e %s <%s", library->path, list);
    free(list);
    struct buf text = {0};
    unsigned parts = 0; /* of the address: function and place in turn */
    for (char *line = strtok(said, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char *slash = strrchr(line, '/'), *tail = strstr(line, " (discriminator");
        if (tail != NULL)
            *tail = '\0';
        if (strncmp(line, "0x", 2) == 0) {
            buf_printf(&text, "%s%" PRIx64, text.len > 0 ? "\n" : "",
                       (uint64_t)strtoull(line, NULL, 16) + library->base);
            parts = 0;
        } else if (parts++ % 2 == 0) {
            buf_printf(&text, "%s %s", parts > 1 ? ";" : "", line);
        } else {
            buf_printf(&text, " %s", slash != NULL ? slash + 1 : line);
        }
    }
    buf_put_u8(&text, 0);
    free(said);
    return (char *)text.data;
}

/* Each line of ours is addr2line's. */
static void expect_same(char *ours, char *theirs, size_t at_least)
{
    char *a_rest, *b_rest;
    char *a = strtok_r(ours, "\n", &a_rest), *b = strtok_r(theirs, "\n", &b_rest);
    size_t lines = 0;
    for (; a != NULL && b != NULL; lines++) {
        char *unknown = strstr(b, ":?");
        if (unknown != NULL)
            strcpy(unknown, ":0");
        char *cut = strstr(a, "..."); /* names are cut at 1024 bytes */
        size_t alike = cut != NULL ? (size_t)(cut - a) : SIZE_MAX;
        must_hold(cut == NULL || alike > 1000, "cut: %s", a);
        must_hold(strncmp(a, b, alike) == 0, "ours: %s\naddr2line's: %s", a, b);
        a = strtok_r(NULL, "\n", &a_rest);
        b = strtok_r(NULL, "\n", &b_rest);
    }
    ck_assert_ptr_null(a);
    ck_assert_ptr_null(b);
    ck_assert_uint_ge(lines, at_least);
}

static int places_compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void expect_like_addr2line(const char *path, const char *begins, size_t at_least)
{
    static uint64_t places[20000];
    struct symbolizer *s = symbolizer_make((struct symbolizer_settings){0});
    struct library library = library_load(path);
    struct self self;
    self_read(s, &self);
    size_t count = library_places(&library, "", begins, places, 20000);
    qsort(places, count, sizeof *places, places_compare);
    char *theirs = names_by_addr2line(&library, places, count);
    char *ours = names_of(s, &self.process, places, count, SKEIN_OK);
    expect_same(ours, theirs, at_least);
    free(ours);
    free(theirs);
    self_free(&self);
    library_close(&library);
    ck_assert(symbolizer_free(&s));
}

START_TEST(inlined_functions_and_lines_are_those_of_addr2line)
{
    expect_like_addr2line(SYMBOL_PLUGIN, "plugin_", 100);
}
END_TEST

/* Its code begins on a page of the file that another segment ends on. */
START_TEST(segments_that_share_a_page_are_told_apart)
{
    expect_like_addr2line(SYMBOL_PLUGIN_LLD, "plugin_", 100);
}
END_TEST

START_TEST(templates_and_members_are_those_of_addr2line)
{
    expect_like_addr2line(SYMBOL_PLUGIN_CPP, "_ZN", 200);
}
END_TEST

/* ---- files with less in them ---- */

/* The names of some functions of a library, by their names in nm of the whole library. */
static char *names_in(struct symbolizer *s, const char *path, const char *whole, const char *begins)
{
    static uint64_t places[20000];
    struct library library = library_load(path);
    struct library named = {.path = strdup(whole), .base = library.base};
    struct self self;
    self_read(s, &self);
    size_t count = library_places(&named, "", begins, places, 20000);
    ck_assert_uint_gt(count, 0);
    char *text = names_of(s, &self.process, places, count, SKEIN_OK);
    self_free(&self);
    free(named.path);
    library_close(&library);
    return text;
}

static char *copy_make(const char *name, const char *options)
{
    char *path = path_join(folder, name);
    free(shell("objcopy %s %s %s && chmod +x %s", options, SYMBOL_PLUGIN, path, path));
    return path;
}

START_TEST(stripped_libraries_have_the_names_they_export)
{
    struct symbolizer *s = symbolizer_make((struct symbolizer_settings){0});
    char *path = copy_make("stripped.so", "--strip-all");
    char *text = names_in(s, path, SYMBOL_PLUGIN, "plugin_outer");
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        must_hold(strcmp(strchr(line, ' '), " plugin_outer :0") == 0, "%s", line);
    free(text);
    text = names_in(s, path, SYMBOL_PLUGIN, "plugin_static");
    ck_assert_str_eq(text, "");
    struct symbolizer_counters counters;
    symbolizer_count(s, &counters);
    ck_assert_uint_gt(counters.nameless, 0);
    free(text);
    free(path);
    ck_assert(symbolizer_free(&s));
}
END_TEST

START_TEST(symbols_without_debug_information_name_static_functions)
{
    struct symbolizer *s = symbolizer_make((struct symbolizer_settings){0});
    char *path = copy_make("symbols.so", "--strip-debug");
    char *text = names_in(s, path, SYMBOL_PLUGIN, "plugin_static");
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        must_hold(strcmp(strchr(line, ' '), " plugin_static :0") == 0, "%s", line);
    free(text);
    free(path);
    ck_assert(symbolizer_free(&s));
}
END_TEST

/* Finds the stripped file, and the debug file by its build id, in the folder. */
static int debug_find(void *context, const struct partition_mapping *mapping, int *fd,
                      int *debug_fd)
{
    struct symbol_identity identity;
    (void)context;
    if (strstr(mapping->path, "/stripped.so") == NULL)
        return SKEIN_NOT_FOUND;
    *fd = symbol_path_open(-1, mapping->path, 0);
    *debug_fd =
        symbol_debug_open(-1, folder, mapping->build_id, mapping->build_id_bytes, &identity);
    return *fd >= 0 ? SKEIN_OK : SKEIN_NOT_FOUND;
}

START_TEST(debug_files_are_found_by_build_id)
{
    struct symbolizer *s = symbolizer_make((struct symbolizer_settings){.find = debug_find});
    char *path = copy_make("stripped.so", "--strip-all");
    char *debug = copy_make("debug", "--only-keep-debug");
    char *id = shell("readelf -n %s | sed -n 's/.*Build ID: //p'", SYMBOL_PLUGIN);
    id[strcspn(id, "\n")] = '\0';
    free(shell("mkdir -p %s/.build-id/%.2s && mv %s %s/.build-id/%.2s/%s.debug", folder, id, debug,
               folder, id, id + 2));
    char *text = names_in(s, path, SYMBOL_PLUGIN, "plugin_outer");
    ck_assert_ptr_nonnull(strstr(text, "innermost_step symbol_plugin.c:"));
    ck_assert_ptr_nonnull(strstr(text, "; plugin_outer symbol_plugin.c:"));
    free(text);
    free(id);
    free(debug);
    free(path);
    ck_assert(symbolizer_free(&s));
}
END_TEST

START_TEST(a_debug_file_of_another_build_is_not_taken)
{
    char *debug = copy_make("debug", "--only-keep-debug");
    uint8_t id[20] = {0xab, 0xcd};
    struct symbol_identity identity;
    free(shell("mkdir -p %s/.build-id/ab && "
               "mv %s %s/.build-id/ab/cd000000000000000000000000000000000000.debug",
               folder, debug, folder));
    ck_assert_int_eq(symbol_debug_open(-1, folder, id, sizeof id, &identity), -1);
    free(debug);
}
END_TEST

/* ---- files that are not what they were ---- */

START_TEST(deleted_files_are_named_where_the_kernel_lets_one_see_them)
{
    struct symbolizer *s = symbolizer_make((struct symbolizer_settings){0});
    char *path = copy_make("deleted.so", "--strip-debug");
    struct library library = library_load(path);
    unlink(path);
    file_write_text(path, "another file");
    struct self self;
    self_read(s, &self);
    uint64_t place = (uint64_t)(uintptr_t)dlsym(library.handle, "plugin_mix");
    char link[128];
    const struct process_map *map = process_maps_find(&self.maps, place);
    ck_assert(map->deleted);
    ck_assert_str_eq(map->mapping.path, path);
    snprintf(link, sizeof link, "/proc/self/map_files/%" PRIx64 "-%" PRIx64, map->mapping.start,
             map->mapping.end);
    int fd = open(link, O_RDONLY | O_CLOEXEC);
    char *text = names_of(s, &self.process, &place, 1, SKEIN_OK);
    ck_assert_int_eq(strstr(text, " plugin_mix ") != NULL, fd >= 0);
    ck_assert_uint_eq(map->mapping.build_id_bytes, fd >= 0 ? 20 : 0);
    if (fd >= 0)
        close(fd);
    free(text);
    free(path);
    self_free(&self);
    library_close(&library);
    ck_assert(symbolizer_free(&s));
}
END_TEST

START_TEST(a_file_with_another_build_id_is_refused)
{
    struct symbolizer *s = symbolizer_make((struct symbolizer_settings){0});
    struct library library = library_load(SYMBOL_PLUGIN);
    uint64_t place = (uint64_t)(uintptr_t)dlsym(library.handle, "plugin_mix");
    struct self self;
    self_read(s, &self);
    char *text = names_of(s, &self.process, &place, 1, SKEIN_OK);
    ck_assert_ptr_nonnull(strstr(text, " plugin_mix "));
    free(text);
    for (size_t i = 0; i < self.maps.count; i++)
        self.mappings[i].build_id[3] ^= 1;
    text = names_of(s, &self.process, &place, 1, SKEIN_OK);
    ck_assert_str_eq(text, "");
    struct symbolizer_counters counters;
    symbolizer_count(s, &counters);
    ck_assert_uint_eq(counters.files_refused, 1);
    free(text);
    self_free(&self);
    library_close(&library);
    ck_assert(symbolizer_free(&s));
}
END_TEST

START_TEST(without_a_build_id_the_mapping_itself_must_be_there)
{
    struct symbolizer *s = symbolizer_make((struct symbolizer_settings){0});
    struct library library = library_load(SYMBOL_PLUGIN);
    uint64_t place = (uint64_t)(uintptr_t)dlsym(library.handle, "plugin_mix");
    struct self self;
    self_read(s, &self);
    for (size_t i = 0; i < self.maps.count; i++)
        self.mappings[i].build_id_bytes = 0;
    char *text = names_of(s, &self.process, &place, 1, SKEIN_OK);
    ck_assert_ptr_nonnull(strstr(text, " plugin_mix "));
    free(text);
    for (size_t i = 0; i < self.maps.count; i++)
        if (strcmp(self.mappings[i].path, SYMBOL_PLUGIN) == 0)
            self.mappings[i].path = SYMBOL_PLUGIN_CPP;
    text = names_of(s, &self.process, &place, 1, SKEIN_OK);
    ck_assert_str_eq(text, "");
    free(text);
    self_free(&self);
    library_close(&library);
    ck_assert(symbolizer_free(&s));
}
END_TEST

START_TEST(files_of_a_process_that_is_gone_are_known_by_build_id)
{
    struct symbolizer *s = symbolizer_make((struct symbolizer_settings){0});
    struct library library = library_load(SYMBOL_PLUGIN);
    uint64_t place = (uint64_t)(uintptr_t)dlsym(library.handle, "plugin_mix");
    struct self self;
    self_read(s, &self);
    self.process.start_clock_ticks = 1; /* nobody's: the number is another one's now */
    char *text = names_of(s, &self.process, &place, 1, SKEIN_OK);
    ck_assert_ptr_nonnull(strstr(text, " plugin_mix "));
    free(text);
    self_free(&self);
    library_close(&library);
    ck_assert(symbolizer_free(&s));
}
END_TEST

/* ---- what has no file ---- */

START_TEST(code_of_a_jit_has_the_names_of_its_map)
{
    struct symbolizer *s = symbolizer_make((struct symbolizer_settings){0});
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
    file_write_text(path, "7f0000001000 40 LazyCompile:*sum /srv/app.js:7\n"
                          "7f0000001040 10 _ZN4shop5visitEi\n"
                          "not a line\n"
                          "7f0000001000 20 Newer\n"
                          "7f0000002000 0 Empty\n");
    struct self self;
    self_read(s, &self);
    uint64_t places[] = {0x7f0000001000, 0x7f0000001020, 0x7f000000104f, 0x7f0000001050,
                         0x7f0000002000};
    char *text = names_of(s, &self.process, places, 5, SKEIN_OK);
    unlink(path);
    ck_assert_str_eq(text, "7f0000001000 Newer :0\n"
                           "7f0000001020 LazyCompile:*sum /srv/app.js:7 :0\n"
                           "7f000000104f shop::visit(int) :0\n");
    free(text);
    self_free(&self);
    ck_assert(symbolizer_free(&s));
}
END_TEST

START_TEST(a_jit_map_that_is_a_link_is_not_read)
{
    struct symbolizer *s = symbolizer_make((struct symbolizer_settings){0});
    char path[64], *other = path_join(folder, "other");
    snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
    file_write_text(other, "7f0000001000 40 secret\n");
    ck_assert_int_eq(symlink(other, path), 0);
    struct self self;
    self_read(s, &self);
    uint64_t place = 0x7f0000001000;
    char *text = names_of(s, &self.process, &place, 1, SKEIN_OK);
    unlink(path);
    ck_assert_str_eq(text, "");
    free(text);
    free(other);
    self_free(&self);
    ck_assert(symbolizer_free(&s));
}
END_TEST

START_TEST(the_kernels_page_is_named)
{
    struct symbolizer *s = symbolizer_make((struct symbolizer_settings){0});
    struct self self;
    self_read(s, &self);
    const struct process_map *map = process_maps_find(&self.maps, getauxval(AT_SYSINFO_EHDR));
    ck_assert_ptr_nonnull(map);
    uint64_t places[8192];
    size_t count = 0;
    for (uint64_t at = map->mapping.start; at < map->mapping.end && count < 8192; at++)
        places[count++] = at;
    char *text = names_of(s, &self.process, places, count, SKEIN_OK);
    ck_assert_ptr_nonnull(strstr(text, "clock_gettime"));
    free(text);
    self_free(&self);
    ck_assert(symbolizer_free(&s));
}
END_TEST

/* ---- partitions ---- */

START_TEST(stacks_of_a_partition_are_named_before_it_is_packed)
{
    struct symbolizer *s = symbolizer_make((struct symbolizer_settings){0});
    struct library library = library_load(SYMBOL_PLUGIN);
    uint64_t place = (uint64_t)(uintptr_t)dlsym(library.handle, "plugin_call");
    struct partition_info info = sample_info();
    struct partition_writer *w;
    struct partition_reader *reader;
    struct self self;
    struct buf bytes = {0};
    char error[256];
    self_read(s, &self);
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    const uint64_t pcs[] = {place, place + 5, 0x1234};
    (void)partition_writer_stack(
        w, &(struct partition_stack){pcs, 3, PARTITION_STACK_EXACT | PARTITION_STACK_WHOLE});
    for (size_t i = 0; i < self.maps.count; i++)
        ck_assert_int_eq(partition_writer_mapping(w, &self.mappings[i]), SKEIN_OK);
    ck_assert_int_eq(symbol_partition_name(s, getpid(), 0, deadline_far(), w), SKEIN_OK);
    ck_assert_int_eq(partition_writer_finish(w, &bytes, NULL), SKEIN_OK);
    partition_writer_free(&w);
    ck_assert_int_eq(partition_reader_new(bytes.data, bytes.len, &reader, error, sizeof error),
                     SKEIN_OK);
    ck_assert_uint_eq(partition_reader_symbol_count(reader), 2);
    for (size_t i = 0; i < 2; i++) {
        struct partition_symbol symbol;
        ck_assert(partition_reader_symbol(reader, i == 0 ? place : place + 4, &symbol));
        ck_assert_str_eq(symbol.lines[symbol.line_count - 1].function, "plugin_call");
        ck_assert_uint_gt(symbol.lines[symbol.line_count - 1].line, 0);
    }
    partition_reader_free(&reader);
    buf_fini(&bytes);
    self_free(&self);
    library_close(&library);
    ck_assert(symbolizer_free(&s));
}
END_TEST

START_TEST(a_partition_whose_time_for_names_is_over_stays_raw)
{
    struct symbolizer *s = symbolizer_make((struct symbolizer_settings){0});
    struct partition_info info = sample_info();
    struct partition_writer *w;
    const uint64_t pcs[] = {0x1000, 0x2000};
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    (void)partition_writer_stack(w, &(struct partition_stack){pcs, 2, 0});
    ck_assert_int_eq(symbol_partition_name(s, getpid(), 0, 0, w), SKEIN_OK);
    struct buf bytes = {0};
    ck_assert_int_eq(partition_writer_finish(w, &bytes, NULL), SKEIN_OK);
    partition_writer_free(&w);
    buf_fini(&bytes);
    ck_assert(symbolizer_free(&s));
}
END_TEST

/* ---- what is remembered ---- */

/* What has no file is not opened, and nothing is closed for it: all descriptors are others'. */
START_TEST(what_has_no_file_costs_nobody_a_descriptor)
{
    enum { HELD = 200 };
    int held[HELD], input = fcntl(0, F_GETFD);
    char heap[] = "[heap]", name[] = "of another user";
    struct symbolizer *s = symbolizer_make((struct symbolizer_settings){0});
    struct partition_mapping mappings[] = {{.start = 0x1000, .end = 0x2000, .path = heap},
                                           {.start = 0x2000, .end = 0x3000, .path = name},
                                           {.start = 0x3000, .end = 0x4000, .path = ""}};
    const struct symbolizer_process process = {
        .pid = getpid(), .mappings = mappings, .mapping_count = 3};
    const uint64_t addresses[] = {0x1010, 0x2020, 0x3030};
    for (size_t i = 0; i < HELD; i++)
        ck_assert_int_ge(held[i] = dup(1), 0);
    for (size_t i = 0; i < 3; i++)
        free(names_of(s, &process, &addresses[i], 1, SKEIN_OK));
    symbolizer_free(&s);
    for (size_t i = 0; i < HELD; i++)
        ck_assert_msg(close(held[i]) == 0, "descriptor %d was closed", held[i]);
    ck_assert_int_eq(fcntl(0, F_GETFD), input);
}
END_TEST

START_TEST(names_are_remembered)
{
    struct symbolizer *s = symbolizer_make((struct symbolizer_settings){0});
    struct library library = library_load(SYMBOL_PLUGIN);
    uint64_t place = (uint64_t)(uintptr_t)dlsym(library.handle, "plugin_mix");
    struct self self;
    self_read(s, &self);
    char *first = names_of(s, &self.process, &place, 1, SKEIN_OK);
    char *second = names_of(s, &self.process, &place, 1, SKEIN_OK);
    ck_assert_str_eq(first, second);
    struct symbolizer_counters counters;
    symbolizer_count(s, &counters);
    ck_assert_uint_eq(counters.asked, 2);
    ck_assert_uint_eq(counters.named, 2);
    ck_assert_uint_eq(counters.remembered, 1);
    ck_assert_uint_eq(counters.files, 1);
    free(first);
    free(second);
    self_free(&self);
    library_close(&library);
    ck_assert(symbolizer_free(&s));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbolizer");
    TCase *names = tcase_create("names");
    tcase_set_timeout(names, 300);
    tcase_add_checked_fixture(names, setup, teardown);
    tcase_add_test(names, inlined_functions_and_lines_are_those_of_addr2line);
    tcase_add_test(names, segments_that_share_a_page_are_told_apart);
    tcase_add_test(names, templates_and_members_are_those_of_addr2line);
    tcase_add_test(names, stripped_libraries_have_the_names_they_export);
    tcase_add_test(names, symbols_without_debug_information_name_static_functions);
    tcase_add_test(names, debug_files_are_found_by_build_id);
    tcase_add_test(names, a_debug_file_of_another_build_is_not_taken);
    tcase_add_test(names, deleted_files_are_named_where_the_kernel_lets_one_see_them);
    tcase_add_test(names, a_file_with_another_build_id_is_refused);
    tcase_add_test(names, without_a_build_id_the_mapping_itself_must_be_there);
    tcase_add_test(names, files_of_a_process_that_is_gone_are_known_by_build_id);
    tcase_add_test(names, code_of_a_jit_has_the_names_of_its_map);
    tcase_add_test(names, a_jit_map_that_is_a_link_is_not_read);
    tcase_add_test(names, the_kernels_page_is_named);
    tcase_add_test(names, stacks_of_a_partition_are_named_before_it_is_packed);
    tcase_add_test(names, a_partition_whose_time_for_names_is_over_stays_raw);
    tcase_add_test(names, what_has_no_file_costs_nobody_a_descriptor);
    tcase_add_test(names, names_are_remembered);
    suite_add_tcase(suite, names);
    return suite_run(suite);
}
