/* SPDX-License-Identifier: Apache-2.0
 *
 * A file system whose one file can be opened and mapped, and never be read: its server keeps those
 * requests. Included by tests alone.
 */
#ifndef FUSE_SILENT_H
#define FUSE_SILENT_H

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FUSE_SILENT_FILE 2 /* the number of its inode; the folder's is FUSE_ROOT_ID */

struct fuse_silent {
    char folder[256], file[300];
    pid_t server;
};

static void fuse_silent_reply(int fd, uint64_t unique, int error, const void *body, size_t n)
{
    char out[1024];
    const struct fuse_out_header head = {
        .len = (uint32_t)(sizeof head + n), .error = error, .unique = unique};
    memcpy(out, &head, sizeof head);
    if (n > 0)
        memcpy(out + sizeof head, body, n);
    if (write(fd, out, sizeof head + n) < 0 && errno != ENOENT)
        _exit(1);
}

static struct fuse_attr fuse_silent_attr(uint64_t node)
{
    const bool folder = node == FUSE_ROOT_ID;
    return (struct fuse_attr){.ino = node,
                              .size = folder ? 0 : 1 << 20,
                              .mode = folder ? S_IFDIR | 0755 : S_IFREG | 0644,
                              .nlink = 1};
}

static void fuse_silent_answer(int fd, const struct fuse_in_header *in)
{
    const struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
                                       .minor = FUSE_KERNEL_MINOR_VERSION,
                                       .max_write = 4096,
                                       .max_readahead = 4096};
    const struct fuse_entry_out entry = {.nodeid = FUSE_SILENT_FILE,
                                         .entry_valid = 600,
                                         .attr_valid = 600,
                                         .attr = fuse_silent_attr(FUSE_SILENT_FILE)};
    const struct fuse_attr_out attr = {.attr_valid = 600, .attr = fuse_silent_attr(in->nodeid)};
    const struct fuse_open_out opened = {.fh = 1};
    switch (in->opcode) {
    case FUSE_INIT:
        fuse_silent_reply(fd, in->unique, 0, &init, sizeof init);
        break;
    case FUSE_LOOKUP:
        fuse_silent_reply(fd, in->unique, 0, &entry, sizeof entry);
        break;
    case FUSE_GETATTR:
        fuse_silent_reply(fd, in->unique, 0, &attr, sizeof attr);
        break;
    case FUSE_OPEN:
        fuse_silent_reply(fd, in->unique, 0, &opened, sizeof opened);
        break;
    case FUSE_READ:
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
        break;
    default:
        fuse_silent_reply(fd, in->unique, -ENOSYS, NULL, 0);
    }
}

static _Noreturn void fuse_silent_serve(int fd)
{
    static union {
        struct fuse_in_header head;
        char bytes[FUSE_MIN_READ_BUFFER + 4096];
    } request;
    for (;;) {
        ssize_t n = read(fd, &request, sizeof request);
        if (n >= (ssize_t)sizeof request.head)
            fuse_silent_answer(fd, &request.head);
        else if (n < 0 && errno != EINTR && errno != EAGAIN && errno != ENOENT)
            _exit(0);
    }
}

/* False: this machine does not let us. */
static bool fuse_silent_start(struct fuse_silent *fuse, const char *folder)
{
    char options[128];
    int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    (void)snprintf(fuse->folder, sizeof fuse->folder, "%s", folder);
    (void)snprintf(fuse->file, sizeof fuse->file, "%s/file", folder);
    (void)snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
    if (fd < 0 || mount("skein-test", folder, "fuse", MS_NOSUID | MS_NODEV, options) != 0) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    pid_t parent = getpid();
    fuse->server = fork();
    if (fuse->server == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        fuse_silent_serve(fd);
    }
    close(fd);
    return fuse->server > 0;
}

/* Whoever waits for it is told an error. */
static void fuse_silent_stop(struct fuse_silent *fuse)
{
    (void)kill(fuse->server, SIGKILL);
    (void)waitpid(fuse->server, NULL, 0);
    (void)umount2(fuse->folder, MNT_DETACH);
}

#endif
