#include "experiment/in_process.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "experiment/trial.h"
#include "report/analysis.h"
#include "supervise/now.h"

enum {
    OBSERVED_STEPS = 60, /* before it is decided what to try */
    ROUNDS_TO_STOP = 8,
    DEAF_STEPS = 200,
    NOTES_MOST = 8192
};
/* The page of memory by which a training knows what to try; the other end is
 * python/stepscope/_arms.py. It is a file in the directory of the run, mapped by both. */
#define CONTROL_FILE "control"
#define CONTROL_NOTES ".notes" /* behind that name: lines of text for the user */

enum control_command { CONTROL_OBSERVE, CONTROL_BEGIN, CONTROL_STOP };
enum control_state { CONTROL_NOT_YET, CONTROL_RUNS, CONTROL_NOTHING };
enum { CONTROL_WORDS = 64, CONTROL_SIZE = 4096 };

struct control_page {
    _Atomic uint32_t command; /* ours */
    uint32_t process;         /* that has begun */
    _Atomic uint32_t state;   /* its own */
    _Atomic uint32_t dropped; /* ours: bit i is the change i, from 1 on, that gets no more blocks */
    uint8_t reserved[CONTROL_WORDS - 16];
    char words[CONTROL_SIZE - CONTROL_WORDS]; /* "input,callbacks,threads=1", before BEGIN */
};

static const int64_t look_ns = 100000000, patience_ns = 3000000000;
static const double certainly_slower = -0.1;
static const double certainly_none = 0.03; /* of the step: less is not worth a try */

struct in_process {
    const struct in_process_wish *wish;
    struct in_process_result *result;
    struct ground ground;
    struct trial trial;
    struct control_page *page;
    struct buf variable;
    char *environment[2]; /* that one, NULL */
    int64_t started_ns;
    bool has_begun;
    int64_t begun_ns, begun_steps;
};

bool in_process_has(const char *word, size_t size)
{
    static const char *const words[] = {"input", "callbacks"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == size && strncmp(words[i], word, size) == 0)
            return true;
    return false;
}

static int make_page(struct in_process *own)
{
    struct buf path = {0};
    int failed = 0;

    buf_printf(&path, "%s/" CONTROL_FILE, buf_text(&own->trial.dir));
    buf_printf(&own->variable, "STEPSCOPE_TRY=%s", buf_text(&path));
    const int fd = open(buf_text(&path), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || ftruncate(fd, CONTROL_SIZE) != 0)
        failed = errno;
    void *const page =
        failed ? MAP_FAILED : mmap(NULL, CONTROL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (!failed && page == MAP_FAILED)
        failed = errno;
    if (fd >= 0)
        close(fd);
    own->page = failed ? NULL : page;
    buf_release(&path);
    return failed;
}

/* The file is of no use to anybody afterwards. */
static void remove_page(struct in_process *own)
{
    struct buf path = {0};

    if (own->page)
        munmap(own->page, CONTROL_SIZE);
    buf_printf(&path, "%s/" CONTROL_FILE, buf_text(&own->trial.dir));
    (void)unlink(buf_text(&path));
    buf_add_text(&path, CONTROL_NOTES);
    (void)small_file_read(buf_text(&path), NOTES_MOST, &own->result->notes);
    (void)unlink(buf_text(&path));
    buf_release(&path);
}

static void begin(struct in_process *own)
{
    const char *const words = buf_text(&own->result->words);

    snprintf(own->page->words, sizeof own->page->words, "%s", words);
    own->page->command = CONTROL_BEGIN;
    own->has_begun = true;
    own->begun_ns = now_ns();
    own->begun_steps = own->trial.steps_seen;
}

static void add_word(struct buf *words, const char *word)
{
    if (words->size > 0)
        buf_add_text(words, ",");
    buf_add_text(words, word);
}

/* What a report on the steps so far would warn about, as far as it can be tried. */
static void choose(struct in_process *own)
{
    struct live *const live = &own->trial.live;
    struct snapshot *const snapshot = live->feed.model ? model_snapshot(live->feed.model) : NULL;
    struct buf *const words = &own->result->words;
    struct analysis analysis;

    if (!snapshot)
        return;
    analysis_make(&analysis, snapshot, live->run, &own->trial.facts, &live->feed.hooks);
    const struct snap_loop *const loop = snapshot->loop_count ? snapshot->loops : NULL;
    if (loop && loop->stage[SS_STAGE_DATA].share.mid >= certainly_none)
        add_word(words, "input");
    if (loop && loop->stage[SS_STAGE_CALLBACK].share.mid >= certainly_none)
        add_word(words, "callbacks");
    for (size_t i = 0; i < analysis.diagnosis.count; i++)
        if (analysis.diagnosis.finding[i].id == FINDING_CPU_OVERSUBSCRIBED)
            add_word(words, "threads=1");
    snapshot_free(snapshot);
}

/* False: there is nothing to try. */
static bool decide(struct in_process *own)
{
    if (own->wish->words)
        buf_add_text(&own->result->words, own->wish->words);
    else if (own->trial.count >= OBSERVED_STEPS)
        choose(own);
    else
        return true;
    if (own->result->words.size == 0) {
        buf_add_text(&own->result->error, "neither input nor callbacks take 3 % of a step: there "
                                          "is nothing to try that a report would warn about; "
                                          "--what names it all the same");
        return false;
    }
    begin(own);
    return true;
}

/* A change that makes steps surely slower by much would take most of the time: it gets no more. */
static void drop_losers(struct in_process *own)
{
    const struct snap_arms *const arms = &own->result->arms;
    uint32_t dropped = 0;

    for (size_t i = 1; i < arms->count && i < 32; i++)
        if (isfinite(arms->rows[i].gain.high) && arms->rows[i].gain.high < certainly_slower)
            dropped |= UINT32_C(1) << i;
    own->page->dropped |= dropped;
}

/* How wide the widest interval still is, as a part of what is wanted; INFINITY: not known. */
static double width_left(const struct in_process *own)
{
    const struct snap_arms *const arms = &own->result->arms;
    double widest = 0;

    if (arms->count < 2 || arms->rounds < ROUNDS_TO_STOP)
        return INFINITY;
    for (size_t i = 1; i < arms->count; i++) {
        const struct interval gain = arms->rows[i].gain;
        const double half = (gain.high - gain.low) / 2;
        if (i < 32 && (own->page->dropped >> i & 1))
            continue;
        widest = fmax(widest, half / (own->wish->precision * fmax(1, 1 - gain.mid)));
    }
    return widest;
}

/* It goes on making steps, and nothing in it has listened. */
static bool is_deaf(const struct in_process *own)
{
    return own->has_begun && own->page->state == CONTROL_NOT_YET &&
           own->trial.steps_seen > own->begun_steps + DEAF_STEPS &&
           now_ns() > own->begun_ns + patience_ns;
}

/* False: it is over. */
static bool look(struct in_process *own)
{
    struct in_process_result *const result = own->result;

    (void)trial_read(&own->trial);
    if (trial_has_ended(&own->trial))
        return false;
    if (!own->has_begun && own->trial.count > 0 && !decide(own))
        return false;
    if (is_deaf(own)) {
        buf_add_text(&result->error, "its steps are not made by anything in which changes can be "
                                     "switched: that takes PyTorch or a Keras fit");
        return false;
    }
    if (own->page->state == CONTROL_NOTHING) {
        buf_add_text(&result->error, "nothing of it can be tried inside this training");
        return false;
    }
    if (own->page->state != CONTROL_RUNS || !own->trial.live.feed.model)
        return true;
    snapshot_release_arms(&result->arms);
    (void)snapshot_arms(own->trial.live.feed.model, &result->arms);
    drop_losers(own);
    const double width = width_left(own);
    result->is_precise = width <= 1;
    if (own->wish->progress)
        own->wish->progress(own->wish->context,
                            isfinite(width) ? fmin(0.99, 1 / (width * width + 1e-9)) : 0);
    return !result->is_precise;
}

static void watch(struct in_process *own)
{
    while (look(own) && now_ns() - own->started_ns < own->wish->most_ns) {
        own->result->signal = ground_signal(&own->ground);
        if (own->result->signal)
            return;
        ground_pause(&own->ground, look_ns);
    }
}

/* It ends itself where a step begins, so that nothing of the script runs that saves or prints; one
 * that makes no step, and all that it has started, is ended from outside. */
static void end(struct in_process *own)
{
    const int64_t until_ns = now_ns() + patience_ns;

    own->page->command = CONTROL_STOP;
    while (!trial_has_ended(&own->trial) && now_ns() < until_ns && !own->result->signal)
        ground_pause(&own->ground, look_ns / 10);
    trial_end(&own->trial);
    (void)trial_read(&own->trial);
    if (own->trial.live.feed.model)
        model_finish(own->trial.live.feed.model);
}

/* For reports of the run. */
static void write_outcome(const struct in_process *own)
{
    struct buf text = {0};

    run_facts_write(&text, &own->trial.facts);
    (void)small_file_write(buf_text(&own->trial.dir), RUN_OUTCOME_FILE, &text);
    buf_release(&text);
}

static void write_result(struct in_process *own)
{
    struct live *const live = &own->trial.live;
    struct snapshot *const snapshot = live->feed.model ? model_snapshot(live->feed.model) : NULL;
    struct analysis analysis;
    struct run_result result;
    struct buf text = {0};

    if (!snapshot)
        return;
    analysis_make(&analysis, snapshot, live->run, &own->trial.facts, &live->feed.hooks);
    analysis_result(&analysis, &result);
    run_result_write(&text, &result);
    (void)small_file_write(buf_text(&own->trial.dir), RUN_RESULT_FILE, &text);
    buf_release(&text);
    snapshot_free(snapshot);
}

static void explain(struct in_process *own)
{
    struct in_process_result *const result = own->result;
    const struct trial *const trial = &own->trial;
    struct buf words = {0};

    if (in_process_is_useful(result) || result->error.size > 0)
        return;
    const bool has_failed = trial->has_ended && !trial->was_ended &&
                            (!WIFEXITED(trial->status) || WEXITSTATUS(trial->status) != 0);
    if (has_failed)
        trial_last_words(trial, &words);
    if (has_failed)
        buf_printf(&result->error, "the training failed after %lld steps%s%s",
                   (long long)result->steps, words.size ? ": " : "", buf_text(&words));
    else if (result->steps == 0)
        buf_add_text(&result->error, "no step was recorded");
    else
        buf_printf(&result->error,
                   "%lld steps in %.0f s are too few. Use a longer --max-time, or a training that "
                   "makes more steps",
                   (long long)result->steps, result->seconds);
    buf_release(&words);
}

static int measure(struct in_process *own, struct ss_error *error)
{
    struct in_process_result *const result = own->result;
    bool cannot_run;

    int failed =
        trial_init(&own->trial, "as it is", own->wish->command, buf_text(&own->ground.protect.dir));
    if (!failed)
        failed = make_page(own);
    own->environment[0] = (char *)(uintptr_t)buf_text(&own->variable);
    own->trial.environment = own->environment;
    if (!failed)
        failed = trial_start(&own->trial, &own->ground.protect, &own->ground.signals, &cannot_run);
    if (failed)
        return error_set(error, SS_E_INVALID, "cannot run '%s': %s", own->wish->command[0],
                         strerror(failed));
    write_outcome(own);
    watch(own);
    end(own);
    if (own->trial.facts.exit_code < 0)
        own->trial.facts.exit_code =
            WIFEXITED(own->trial.status) ? WEXITSTATUS(own->trial.status) : -1;
    write_outcome(own);
    write_result(own);
    result->steps = own->trial.steps_seen;
    snapshot_release_arms(&result->arms);
    if (own->trial.live.feed.model)
        (void)snapshot_arms(own->trial.live.feed.model, &result->arms);
    return 0;
}

int in_process_run(const struct in_process_wish *wish, struct in_process_result *result,
                   struct ss_error *error)
{
    struct in_process own = {.wish = wish, .result = result, .started_ns = now_ns()};
    const struct ground_wish ground = {.parent = wish->parent,
                                       .name = "try",
                                       .command = wish->command,
                                       .may_be_unprotected = wish->may_be_unprotected,
                                       .say = wish->say,
                                       .context = wish->context};

    *result = (struct in_process_result){0};
    int failed = ground_make(&own.ground, &ground, error);
    if (!failed)
        failed = measure(&own, error);
    buf_add_text(&result->dir, buf_text(&own.ground.dir));
    result->level = own.ground.protect.level;
    result->seconds = (double)(now_ns() - own.started_ns) / 1e9;
    if (own.trial.dir.size > 0)
        remove_page(&own);
    if (!failed)
        explain(&own);
    trial_release(&own.trial);
    buf_release(&own.variable);
    ground_release(&own.ground);
    return failed;
}

void in_process_release(struct in_process_result *result)
{
    snapshot_release_arms(&result->arms);
    buf_release(&result->dir);
    buf_release(&result->words);
    buf_release(&result->notes);
    buf_release(&result->error);
}

bool in_process_is_useful(const struct in_process_result *result)
{
    for (size_t i = 1; i < result->arms.count; i++)
        if (isfinite(result->arms.rows[i].gain.high))
            return true;
    return false;
}
