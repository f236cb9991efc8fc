#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "import/reduce.h"
#include "supervise/descriptors.h"
#include "supervise/now.h"
#include "supervise/supervise_parts.h"

static const int64_t patience_ns = 2000000000; /* at the end, for a child that gets no core */
enum { PAUSE_US = 2000 };

static bool is_busy(struct windows *windows)
{
    if (windows->child != 0 && waitpid(windows->child, NULL, WNOHANG) != 0)
        windows->child = 0;
    return windows->child != 0;
}

/* What it needs is the path alone; whatever a trace does to it, the supervisor goes on. */
static void reduce_in_child(const char *dir, bool keep)
{
    sigset_t none;

    descriptors_keep_only(NULL, 0);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    step_back();
    reduce_windows(dir, keep, false);
    _exit(0);
}

void windows_look(struct windows *windows, const char *dir, bool keep)
{
    if (is_busy(windows) || !reduce_is_due(dir))
        return;
    const pid_t child = fork();
    if (child == 0)
        reduce_in_child(dir, keep);
    windows->child = child > 0 ? child : 0;
}

void windows_end(struct windows *windows, const char *dir, bool keep)
{
    const int64_t until_ns = now_ns() + patience_ns;

    while (is_busy(windows) && now_ns() < until_ns)
        (void)usleep(PAUSE_US);
    if (is_busy(windows)) {
        (void)kill(windows->child, SIGKILL);
        (void)waitpid(windows->child, NULL, 0);
        windows->child = 0;
    }
    reduce_windows(dir, keep, true);
}
