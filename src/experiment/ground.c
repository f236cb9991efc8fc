#include "experiment/ground.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "supervise/run_place.h"

static int make_place(const struct ground_wish *wish, struct buf *dir, struct ss_error *error)
{
    const struct run_place_wish place_wish = {
        .parent = wish->parent, .name = wish->name, .command = wish->command};
    struct run_place place = {0};
    const int failed = run_place_make(&place, &place_wish, error);

    if (!failed)
        buf_add_text(dir, place.shown);
    run_place_release(&place);
    return failed;
}

static int check_protection(struct ground *ground, const struct ground_wish *wish,
                            struct ss_error *error)
{
    struct protect *const protect = &ground->protect;
    const int failed = protect_init(protect, buf_text(&ground->dir));

    if (failed)
        return error_set(error, error_code_of_errno(failed), "%s: %s", buf_text(&ground->dir),
                         strerror(failed));
    if (protect->level == PROTECT_NONE && !wish->may_be_unprotected)
        return error_set(error, SS_E_ACCESS,
                         "the script cannot be kept from changing files here (no overlay: %s; no "
                         "Landlock). Run it in a copy of the folder, or with --unprotected",
                         strerror(protect->overlay_error));
    if (protect->level == PROTECT_REFUSE && protect->mounted.size > 0) {
        struct buf text = {0};
        buf_printf(&text,
                   "there can be no copy of the working directory, which would lack the mount at "
                   "%s, so the script will fail at its first write.",
                   buf_text(&protect->mounted));
        wish->say(wish->context, buf_text(&text));
        buf_release(&text);
    } else if (protect->level == PROTECT_REFUSE)
        wish->say(wish->context,
                  "there can be no copy of the working directory here, so the script will fail "
                  "at its first write.");
    if (wish->may_be_unprotected)
        protect->level = PROTECT_NONE;
    return 0;
}

int ground_make(struct ground *ground, const struct ground_wish *wish, struct ss_error *error)
{
    *ground = (struct ground){.signals = {.fd = -1}};
    int failed = make_place(wish, &ground->dir, error);

    signals_block(&ground->signals);
    ground->signals.fd = -1;
    if (!failed)
        failed = check_protection(ground, wish, error);
    if (!failed && !signals_open(&ground->signals))
        failed = error_set(error, SS_E_LIMIT, "%s", ss_error_text(SS_E_LIMIT));
    return failed;
}

void ground_release(struct ground *ground)
{
    if (ground->protect.dir.size > 0)
        protect_release(&ground->protect);
    if (ground->signals.fd >= 0)
        close(ground->signals.fd);
    signals_restore(&ground->signals);
    buf_release(&ground->dir);
}

/* One that was ignored when we began, as under nohup, still is. */
static bool is_ignored(int number)
{
    struct sigaction action;

    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int ground_signal(const struct ground *ground)
{
    struct signalfd_siginfo info;

    while (signals_next(&ground->signals, &info))
        if ((info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP ||
             info.ssi_signo == SIGQUIT) &&
            !is_ignored((int)info.ssi_signo))
            return (int)info.ssi_signo;
    return 0;
}

/* Returns early if a signal comes. */
void ground_pause(const struct ground *ground, int64_t ns)
{
    struct pollfd signal = {.fd = ground->signals.fd, .events = POLLIN};
    const struct timespec time = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

    (void)ppoll(&signal, 1, &time, NULL);
}
