/* SPDX-License-Identifier: Apache-2.0
 * Out of memory where bytes are put together: said once at the end, nothing half-done passed on. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc_fail.h"
#include "json.h"
#include "log.h"
#include "support.h"
#include "wire.h"

enum { BODY_BYTES = 3000 };

static void put_much(struct buf *b)
{
    static const char body[BODY_BYTES];
    wire_frame_put(b, WIRE_REPORT, 1, body, sizeof body);
    buf_printf(b, "%08d", 7);
    json_put_text(b, "a\"b", 3);
    buf_put_uleb(b, UINT64_MAX);
}

START_TEST(a_buf_stays_failed_from_the_first_lost_byte)
{
    size_t whole = 0;
    for (unsigned n = 1;; n++) {
        struct buf b = {0};
        alloc_fail_at(n);
        put_much(&b);
        bool failed = alloc_fail_end();
        ck_assert_int_eq(b.status, failed ? SKEIN_NO_MEMORY : SKEIN_OK);
        size_t len = b.len;
        buf_put_u8(&b, 1);
        ck_assert_uint_eq(b.len, failed ? len : len + 1);
        buf_fini(&b);
        if (!failed) {
            whole = len;
            break;
        }
    }
    ck_assert_uint_gt(whole, BODY_BYTES);
}
END_TEST

START_TEST(a_lost_log_line_is_said)
{
    char *folder = temp_dir_new(), *file = path_join(folder, "err");
    int saved = dup(2), fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    dup2(fd, 2);
    alloc_fail_from(1);
    log_info("x", "line", NULL);
    bool failed = alloc_fail_end();
    dup2(saved, 2);
    ck_assert(failed);
    char *text = file_read(file, NULL);
    ck_assert_str_eq(text, "log: a line was lost: out of memory\n");
    close(saved);
    close(fd);
    free(text);
    free(file);
    temp_dir_free(&folder);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("bytes_memory", a_buf_stays_failed_from_the_first_lost_byte,
                              a_lost_log_line_is_said, NULL));
}
