/* SPDX-License-Identifier: Apache-2.0
 *
 * A traced child of a test, with the real library in it, at the agent of agent_fixture.h. It talks
 * with the test over pipes, so that nobody sleeps. Included by tests of agent/.
 */
#ifndef AGENT_CHILD_H
#define AGENT_CHILD_H

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "agent_fixture.h"
#include "skein/skein.h"

struct child {
    pid_t pid;
    int to, from;
};

typedef void child_fn(int in, int out);

static inline void child_say(int out)
{
    ck_assert_int_eq(write(out, "x", 1), 1);
}

static inline bool child_hear(int in)
{
    char c;
    return read(in, &c, 1) == 1;
}

/* Starts the agent too, after the fork: a child of many threads could inherit a sanitizer's lock.
 */
static inline struct child child_start(struct agent_fixture *f, child_fn *fn)
{
    int down[2], up[2];
    ck_assert(pipe(down) == 0 && pipe(up) == 0);
    pid_t parent = getpid();
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        close(down[1]);
        close(up[0]);
        const struct skein_options options = {
            .size = sizeof(options), .service = "child", .agent_socket = f->path};
        if (!child_hear(down[0]) || skein_start(&options) != SKEIN_OK ||
            skein_wait_attached(20000) != SKEIN_OK)
            _exit(3);
        fn(down[0], up[1]);
        exit(0);
    }
    close(down[0]);
    close(up[1]);
    fixture_agent_start(f);
    child_say(down[1]);
    ck_assert(wait_until(fixture_has_attached, f, 0));
    return (struct child){pid, down[1], up[0]};
}

static inline int child_end(struct child *child)
{
    int status = 0;
    close(child->to);
    ck_assert_int_eq(waitpid(child->pid, &status, 0), child->pid);
    close(child->from);
    return status;
}

#endif
