#include "supervise/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "supervise/mpi_preload.h"
#include "supervise/now.h"
#include "supervise/python_path.h"

int launch_become(char *const *command, const char *dir)
{
    if (dir && setenv("STEPSCOPE_RUN", dir, 1) != 0)
        return errno;
    if (dir) {
        python_path_set();
        mpi_preload_set(command);
    }
    execvp(command[0], command);
    return errno;
}

int launch_exit_code(int os_error)
{
    return os_error == ENOENT ? LAUNCH_NOT_FOUND : LAUNCH_NOT_RUNNABLE;
}

bool launch_is_script(const char *command)
{
    const size_t size = strlen(command);

    return size > 3 && strcmp(command + size - 3, ".py") == 0 && access(command, R_OK) == 0;
}

/* The pipe is closed by a successful exec; otherwise it tells why. */
static void run_child(int tell_fd, char *const *command, const char *dir,
                      const struct signals *signals, int (*prepare)(void *context), void *context)
{
    signals_restore(signals);
    int os_error = prepare ? prepare(context) : 0;
    if (!os_error)
        os_error = launch_become(command, dir);
    ssize_t told = write(tell_fd, &os_error, sizeof os_error);
    _exit(told > 0 ? launch_exit_code(os_error) : LAUNCH_NOT_RUNNABLE);
}

static int hear_from_child(int fd)
{
    int os_error = 0;
    ssize_t got;

    do {
        got = read(fd, &os_error, sizeof os_error);
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof os_error ? os_error : 0;
}

int launch_command(struct launch *launch, char *const *command, const char *dir,
                   const struct signals *signals)
{
    return launch_prepared(launch, command, dir, signals, NULL, NULL);
}

int launch_prepared(struct launch *launch, char *const *command, const char *dir,
                    const struct signals *signals, int (*prepare)(void *context), void *context)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_code_of_errno(errno);
    *launch = (struct launch){.fork_ns = now_raw_ns()};
    launch->pid = fork();
    if (launch->pid == 0)
        run_child(ends[1], command, dir, signals, prepare, context);
    int failed = launch->pid < 0 ? errno : 0;
    close(ends[1]);
    if (!failed)
        launch->os_error = hear_from_child(ends[0]);
    close(ends[0]);
    if (launch->os_error)
        while (waitpid(launch->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    return failed == EAGAIN ? SS_E_LIMIT : error_code_of_errno(failed);
}
