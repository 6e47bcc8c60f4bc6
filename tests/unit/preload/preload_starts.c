/* SPDX-License-Identifier: Apache-2.0
 *
 * Starts a program in one of the ways that there are: HOW PROGRAM ARGUMENT. Says what is wrong with
 * itself afterwards (errno, descriptors, environment), and ends with the program's status. Shares
 * nothing with the tracer.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

extern char **environ;

static const char *how;
static int first; /* the number that the next descriptor has */

static int next_number(void)
{
    int fd = open("/dev/null", O_RDONLY);
    close(fd);
    return fd;
}

static int is(const char *name)
{
    return strcmp(how, name) == 0;
}

static void become(const char *path, char *const *arguments)
{
    const char *name = strrchr(path, '/') + 1;
    if (is("execv"))
        execv(path, arguments);
    else if (is("execvp"))
        execvp(name, arguments);
    else if (is("execvpe"))
        execvpe(name, arguments, environ);
    else if (is("execl"))
        execl(path, arguments[0], arguments[1], (char *)NULL);
    else if (is("execlp"))
        execlp(name, arguments[0], arguments[1], (char *)NULL);
    else if (is("execle"))
        execle(path, arguments[0], arguments[1], (char *)NULL, environ);
    else if (is("fexecve"))
        fexecve(open(path, O_RDONLY | O_CLOEXEC), arguments, environ);
    else if (is("fexecve_path"))
        fexecve(open(path, O_PATH | O_CLOEXEC), arguments, environ);
    else if (is("execveat"))
        execveat(open("/", O_PATH | O_CLOEXEC), path + 1, arguments, environ, 0);
    else if (is("syscall"))
        syscall(SYS_execve, path, arguments, environ);
    else if (is("syscall_at"))
        syscall(SYS_execveat, AT_FDCWD, path, arguments, environ, 0);
    else
        execve(path, arguments, environ);
}

static int ended(pid_t pid)
{
    int status = -1;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static int by_child(const char *path, char *const *arguments)
{
    /* What is tested does more than clang allows. NOLINTNEXTLINE(clang-analyzer-unix.Vfork) */
    pid_t pid = is("vfork") ? vfork() : fork();
    if (pid == 0) {
        become(path, arguments); /* NOLINT(clang-analyzer-unix.Vfork) */
        _exit(98);
    }
    return ended(pid);
}

static int spawned(const char *path, char *const *arguments)
{
    pid_t pid = -1;
    int error = is("posix_spawn")
                    ? posix_spawn(&pid, path, NULL, NULL, arguments, environ)
                    : posix_spawnp(&pid, strrchr(path, '/') + 1, NULL, NULL, arguments, environ);
    return error ? 97 : ended(pid);
}

/* The program is named as from its own folder, which the child enters before: by two steps or one. */
static int spawned_in_folder(const char *path, char *const *arguments)
{
    posix_spawn_file_actions_t actions;
    char folder[4096], *name = strrchr(strcpy(folder, path), '/');
    pid_t pid = -1;
    int error, fd;
    *name++ = '\0';
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 9, "/dev/null", O_RDONLY, 0);
    if (is("spawn_folder")) {
        posix_spawn_file_actions_addchdir_np(&actions, "/");
        posix_spawn_file_actions_addchdir_np(&actions, folder + 1);
        error = posix_spawn(&pid, name, &actions, NULL, arguments, environ);
    } else {
        fd = open(folder, O_PATH | O_CLOEXEC);
        snprintf(folder, sizeof folder, "./%s", strrchr(path, '/') + 1);
        posix_spawn_file_actions_addfchdir_np(&actions, fd);
        error = posix_spawnp(&pid, folder, &actions, NULL, arguments, environ);
        close(fd);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error ? 97 : ended(pid);
}

/* In a root folder, by the shell that the C library starts for a command among words. */
static int words(const char *root, const char *argument)
{
    wordexp_t all;
    char text[256];
    snprintf(text, sizeof text, "f $(echo %s)", argument);
    if (chroot(root) != 0 || chdir("/") != 0 || wordexp(text, &all, WRDE_SHOWERR) != 0)
        return 95;
    for (size_t i = 0; i < all.we_wordc; i++)
        printf("%s%s", i > 0 ? " " : "", all.we_wordv[i]);
    printf("\n");
    wordfree(&all);
    return 0;
}

static int by_shell(const char *path, const char *argument)
{
    char command[4096];
    snprintf(command, sizeof command, "%s %s", path, argument);
    if (is("system"))
        return WEXITSTATUS(system(command)); /* NOLINT(cert-env33-c) */
    FILE *out = popen(command, "r");         /* NOLINT(cert-env33-c) */
    int status;
    while (fgets(command, sizeof command, out) != NULL)
        fputs(command, stdout);
    fflush(stdout);
    status = pclose(out);
    return WEXITSTATUS(status);
}

/* What a start that fails must leave as it was. */
static int fails(char *const *arguments)
{
    char *const none[] = {NULL}, *const all[] = {arguments[0], NULL};
    execve("/nonexistent/program", all, environ);
    int absent = errno;
    execvp("nonexistent-program", all);
    int nowhere = errno;
    execve("/", all, environ);
    int folder = errno;
    execve(arguments[0], all, (char *const *)8);
    int bad_lines = errno;
    execve((const char *)8, all, none);
    int bad_path = errno;
    execve((const char *)8, all, environ);
    int bad_both = errno;
    execve(arguments[0], all, (char *const[]){environ[0], (char *)8, NULL});
    int bad_line = errno;
    execve(arguments[0], (char *const *)8, environ);
    int bad_arguments = errno;
    int bad_spawn = posix_spawn(NULL, (const char *)8, NULL, NULL, all, environ);
    printf("%d %d %d %d %d %d %d %d %d, %d left open\n", absent, nowhere, folder, bad_lines,
           bad_path, bad_both, bad_line, bad_arguments, bad_spawn, next_number() - first);
    return 0;
}

/* Whether this process has a record lock on the file: a child of its own asks. */
static int lock_look(const char *path)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int fd = open(path, O_RDONLY);
        _exit(fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? 1 : 0);
    }
    return ended(pid);
}

/* Locks what it starts: that is not to be lost, and is not when it has become another program. */
static int locks(char **argv)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    char *const arguments[] = {argv[2], "x", NULL};
    int first_look, fd = open(argv[2], O_RDONLY), own = open(argv[0], O_RDONLY);
    if (is("locks_again"))
        return lock_look(argv[0]);
    fcntl(fd, F_SETLK, &lock);
    fcntl(own, F_SETLK, &lock);
    first_look = lock_look(argv[2]);
    how = "posix_spawn";
    spawned(argv[2], arguments);
    how = "system";
    by_shell(argv[2], "x");
    printf("%d %d\n", first_look, lock_look(argv[2]));
    fflush(stdout);
    execv(argv[0], (char *[]){argv[0], "locks_again", argv[2], argv[3], NULL});
    return 94;
}

static void *shell_waits(void *unused)
{
    system("read line"); /* NOLINT(cert-env33-c) */
    return unused;
}

static void *shells_run(void *unused)
{
    for (int i = 0; i < 10; i++)
        system(":"); /* NOLINT(cert-env33-c) */
    return unused;
}

static const char *preload_is(void)
{
    return getenv("LD_PRELOAD") != NULL ? "kept" : "lost";
}

/* In a root folder whose shell must not see the entry: it is there again for a child that is forked
 * meanwhile, when the call is cancelled, and when several are made at once. */
static int shells(const char *root)
{
    enum { THREADS = 4 };
    pthread_t waiting, many[THREADS];
    int ends[2];
    /* What pthread_cancel() looks for is not in that root. */
    if (dlopen("libgcc_s.so.1", RTLD_NOW) == NULL || chroot(root) != 0 || chdir("/") != 0 ||
        pipe(ends) != 0 || dup2(ends[0], 0) != 0)
        return 95;
    pthread_create(&waiting, NULL, shell_waits, NULL);
    while (getenv("LD_PRELOAD") != NULL)
        usleep(1000);
    pid_t pid = fork();
    if (pid == 0)
        _exit(getenv("LD_PRELOAD") != NULL);
    printf("child %s\n", ended(pid) == 1 ? "kept" : "lost");
    pthread_cancel(waiting);
    pthread_join(waiting, NULL);
    printf("cancelled %s\n", preload_is());
    for (int i = 0; i < THREADS; i++)
        pthread_create(&many[i], NULL, shells_run, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(many[i], NULL);
    printf("at once %s\n", preload_is());
    return 0;
}

static void *on_small_stack(void *program)
{
    pid_t pid = -1;
    char *const arguments[] = {program, "x", NULL};
    posix_spawnp(&pid, strrchr(program, '/') + 1, NULL, NULL, arguments, environ);
    return (void *)(uintptr_t)ended(pid);
}

/* The last folder of a long PATH has it. */
static int long_path(char *program)
{
    enum { LONG = 12000 };
    pthread_t thread;
    pthread_attr_t attributes;
    void *status = NULL;
    const char *path = getenv("PATH");
    static char all[LONG + 4096];
    for (size_t i = 0; i < LONG; i += 2)
        memcpy(all + i, "/:", 2);
    snprintf(all + LONG, sizeof all - LONG, "%s", path != NULL ? path : "");
    setenv("PATH", all, 1);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 20480);
    pthread_create(&thread, &attributes, on_small_stack, program);
    pthread_join(thread, &status);
    return (int)(uintptr_t)status;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 96;
    how = argv[1];
    first = next_number();
    if (is("fails"))
        return fails(argv);
    if (is("locks") || is("locks_again"))
        return locks(argv);
    if (is("long_path"))
        return long_path(argv[2]);
    if (is("shells"))
        return shells(argv[2]);
    if (is("words"))
        return words(argv[2], argv[3]);
    const char *was = getenv("LD_PRELOAD");
    char *const arguments[] = {argv[2], argv[3], NULL};
    int status;
    if (is("posix_spawn") || is("posix_spawnp"))
        status = spawned(argv[2], arguments);
    else if (is("spawn_folder") || is("spawnp_folder"))
        status = spawned_in_folder(argv[2], arguments);
    else if (is("system") || is("popen"))
        status = by_shell(argv[2], argv[3]);
    else
        status = by_child(argv[2], arguments);
    if (getenv("LD_PRELOAD") != was)
        printf("the environment has changed\n");
    if (next_number() != first)
        printf("descriptor %d\n", first);
    return status;
}
