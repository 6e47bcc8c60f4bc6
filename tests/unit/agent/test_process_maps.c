/* SPDX-License-Identifier: Apache-2.0
 * Lines of /proc/PID/maps, whatever the process calls its files; build ids. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "build_id.h"
#include "process_maps.h"
#include "support.h"
#include "symbol_cache.h"

static struct process_maps parse(const char *text)
{
    struct process_maps maps;
    ck_assert_int_eq(process_maps_parse(text, strlen(text), &maps), SKEIN_OK);
    return maps;
}

START_TEST(executable_mappings_are_read_and_no_others)
{
    struct process_maps maps =
        parse("7f0000002000-7f0000003000 r-xp 00001000 fe:01 77                  /usr/lib/libb.so\n"
              "555500000000-555500001000 r--p 00000000 fe:01 1234                /usr/bin/a\n"
              "555500001000-555500002000 r-xp 00001000 fe:01 1234                /usr/bin/a\n"
              "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
              "7ffe00000000-7ffe00002000 r-xp 00000000 00:00 0                   [vdso]\n"
              "not a line\n"
              "5-4 r-xp 00000000 fe:01 12 /backwards\n");
    ck_assert_uint_eq(maps.count, 4);
    ck_assert_str_eq(maps.items[0].mapping.path, "/usr/bin/a");
    ck_assert_uint_eq(maps.items[0].mapping.offset, 0x1000);
    ck_assert_uint_eq(maps.items[0].inode, 1234);
    ck_assert_str_eq(maps.items[1].mapping.path, "");
    ck_assert_str_eq(maps.items[2].mapping.path, "/usr/lib/libb.so");
    ck_assert_str_eq(maps.items[3].mapping.path, "[vdso]");
    ck_assert_ptr_eq(process_maps_find(&maps, 0x555500001fff), &maps.items[0]);
    ck_assert_ptr_null(process_maps_find(&maps, 0x555500002000));
    ck_assert_ptr_null(process_maps_find(&maps, 0));
    process_maps_free(&maps);
}
END_TEST

START_TEST(paths_may_be_anything)
{
    struct process_maps maps =
        parse("1000-2000 r-xp 00000000 fe:01 1 /a b  c\n"
              "2000-3000 r-xp 00000000 fe:01 2 /line\\012end\n"
              "3000-4000 r-xp 00000000 fe:01 3 /gone (deleted)\n"
              "4000-5000 r-xp 00000000 fe:01 4 /named (deleted) (deleted)\n"
              "5000-6000 r-xp 00000000 00:00 0 [anon (deleted)\n"
              "6000-7000 r-xp 00000000 fe:01 6 1000-2000 r-xp 00000000 fe:01 1 /a");
    ck_assert_uint_eq(maps.count, 6);
    ck_assert_str_eq(maps.items[0].mapping.path, "/a b  c");
    ck_assert_str_eq(maps.items[1].mapping.path, "/line\nend");
    ck_assert_str_eq(maps.items[2].mapping.path, "/gone");
    ck_assert(maps.items[2].deleted);
    ck_assert_str_eq(maps.items[3].mapping.path, "/named (deleted)");
    ck_assert_str_eq(maps.items[4].mapping.path, "[anon (deleted)");
    ck_assert(!maps.items[4].deleted);
    ck_assert_str_eq(maps.items[5].mapping.path, "1000-2000 r-xp 00000000 fe:01 1 /a");
    process_maps_free(&maps);
}
END_TEST

START_TEST(too_many_mappings_are_counted)
{
    size_t n = 0, room = (PROCESS_MAPS_MAX + 5) * 64;
    char *text = malloc(room);
    for (size_t i = 0; i < PROCESS_MAPS_MAX + 5; i++)
        n += (size_t)snprintf(text + n, room - n, "%zx-%zx r-xp 00000000 fe:01 1 /a\n",
                              0x1000 * i + 0x1000, 0x1000 * i + 0x2000);
    struct process_maps maps;
    ck_assert_int_eq(process_maps_parse(text, n, &maps), SKEIN_OK);
    ck_assert_uint_eq(maps.count, PROCESS_MAPS_MAX);
    ck_assert_uint_eq(maps.left_out, 5);
    process_maps_free(&maps);
    free(text);
}
END_TEST

START_TEST(of_this_process_they_hold_its_code)
{
    struct process_maps maps;
    ck_assert_int_eq(process_maps_read(getpid(), &maps), SKEIN_OK);
    ck_assert_ptr_nonnull(process_maps_find(&maps, (uint64_t)(uintptr_t)process_maps_read));
    process_maps_free(&maps);
    ck_assert_int_eq(process_maps_read(0x7ffffff0, &maps), SKEIN_NOT_FOUND);
}
END_TEST

/* ---- build ids ---- */

START_TEST(a_build_id_is_read_from_a_file_and_from_its_beginnings_or_not_at_all)
{
    size_t n;
    uint8_t id[BUILD_ID_MAX], part[BUILD_ID_MAX], bytes;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(build_id_read(fd, id, &bytes), SKEIN_OK);
    ck_assert_uint_eq(bytes, 20);
    close(fd);
    char *text = file_read("/proc/self/exe", &n);
    fd = memfd_create("part", MFD_CLOEXEC);
    ck_assert_int_eq(ftruncate(fd, 0), 0);
    unsigned found = 0;
    for (size_t i = 0; i < 2048 && i < n; i++) {
        int status = build_id_read(fd, part, &bytes);
        must_hold(status != SKEIN_OK || memcmp(id, part, 20) == 0, "%zu bytes", i);
        must_hold(found == 0 || status == SKEIN_OK, "%zu bytes, and none any more", i);
        found += status == SKEIN_OK;
        ck_assert_int_eq((int)write(fd, text + i, 1), 1);
    }
    ck_assert_uint_gt(found, 0);
    close(fd);
    free(text);
}
END_TEST

/* ---- what is remembered ---- */

START_TEST(names_that_are_asked_for_outlast_others)
{
    struct symbol_cache *cache;
    uint8_t lines[100] = {0};
    size_t n;
    ck_assert_int_eq(symbol_cache_new(64 << 10, &cache), SKEIN_OK);
    for (uint64_t i = 0; i < 100000; i++) {
        memcpy(lines, &i, sizeof i);
        symbol_cache_put(cache, 1 + (uint32_t)(i % 3), i, lines, sizeof lines);
        must_hold(symbol_cache_bytes(cache) <= 64 << 10, "it is larger than it may be");
        const uint8_t *first = symbol_cache_get(cache, 1, 0, &n);
        must_hold(first != NULL && n == sizeof lines && first[0] == 0, "the first is forgotten");
        const uint8_t *last = symbol_cache_get(cache, 1 + (uint32_t)(i % 3), i, &n);
        must_hold(last != NULL && memcmp(last, &i, sizeof i) == 0, "the last is another");
    }
    ck_assert_ptr_null(symbol_cache_get(cache, 2, 1, &n));
    ck_assert_ptr_null(symbol_cache_get(cache, 2, 0, &n));
    symbol_cache_free(&cache);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("process_maps", executable_mappings_are_read_and_no_others,
                              paths_may_be_anything, too_many_mappings_are_counted,
                              of_this_process_they_hold_its_code,
                              a_build_id_is_read_from_a_file_and_from_its_beginnings_or_not_at_all,
                              names_that_are_asked_for_outlast_others, NULL));
}
