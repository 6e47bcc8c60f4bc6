/* SPDX-License-Identifier: Apache-2.0
 *
 * See console_page.h. Owns one file, skein-console.html. It stays, as nobody knows when the browser has
 * read it; by then the address in it is worth nothing.
 */
#include "console_page.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"

/* As text of HTML, also within quotes. */
static void html_put(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '&' || *text == '<' || *text == '>' || *text == '"' || *text == '\'')
            buf_printf(out, "&#%d;", *text);
        else
            buf_put_u8(out, (uint8_t)*text);
    }
}

static void login_page_put(struct buf *out, const char *url)
{
    buf_printf(out, "<!doctype html><meta charset=\"utf-8\">"
                    "<meta name=\"referrer\" content=\"no-referrer\">"
                    "<meta http-equiv=\"refresh\" content=\"0;url=");
    html_put(out, url);
    buf_printf(out, "\"><title>Skein</title><a href=\"");
    html_put(out, url);
    buf_printf(out, "\">Open the console</a>\n");
}

/* Whether nobody else looks into it. */
static bool is_private(const char *folder)
{
    struct stat about;
    return folder != NULL && folder[0] == '/' && stat(folder, &about) == 0 &&
           about.st_uid == geteuid() && (about.st_mode & 077) == 0;
}

/* Always a new file: whoever has the old one open sees nothing of it. */
static bool file_put(const char *path, const struct buf *page)
{
    (void)unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool written = write(fd, page->data, page->len) == (ssize_t)page->len;
    return close(fd) == 0 && written;
}

bool console_page_write(const char *url, char *address, size_t address_bytes)
{
    static const char scheme[] = "file://";
    const char *folder = getenv("XDG_RUNTIME_DIR");
    struct buf page = {0};
    if (!is_private(folder))
        return false;
    int n = snprintf(address, address_bytes, "%s%s/skein-console.html", scheme, folder);
    login_page_put(&page, url);
    bool written = n > 0 && (size_t)n < address_bytes && page.status == SKEIN_OK &&
                   file_put(address + sizeof scheme - 1, &page);
    buf_fini(&page);
    return written;
}
