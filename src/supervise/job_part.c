#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <sys/utsname.h>

#include "base/files.h"
#include "job/part_files.h"
#include "job/part_of_run.h"
#include "supervise/now.h"
#include "supervise/proc_file.h"
#include "supervise/worker.h"

static const int64_t part_pause_ns = 30000000000;
static const int64_t patience_ns = 2000000000, look_pause_ns = 50000000;

static bool has_job(const struct supervisor *s)
{
    return s->job_place.shown != NULL;
}

/* How far CLOCK_REALTIME may be off, if something keeps it set. */
static int64_t clock_error_ns(void)
{
    struct timex state = {0};

    return adjtimex(&state) < 0 || (state.status & STA_UNSYNC) ? -1
                                                               : state.maxerror * INT64_C(1000);
}

static void read_boot_id(uint8_t out[16])
{
    char text[64];
    size_t nibbles = 0;

    if (!proc_read("/proc/sys/kernel/random/boot_id", text, sizeof text))
        return;
    for (const char *at = text; *at && nibbles < 32; at++) {
        const char *const digits = "0123456789abcdef", *digit = strchr(digits, *at);
        if (!digit)
            continue;
        out[nibbles / 2] = (uint8_t)(out[nibbles / 2] << 4 | (digit - digits));
        nibbles++;
    }
}

static void name_launch(struct supervisor *s, struct job_part *part)
{
    struct utsname host;

    part->launch = s->job_place.launch;
    part->sequence = ++s->part_sequence;
    snprintf(part->job, sizeof part->job, "%s", s->job_place.ids.job);
    snprintf(part->launcher, sizeof part->launcher, "%s",
             s->job_place.ids.launcher ? s->job_place.ids.launcher : "");
    snprintf(part->host, sizeof part->host, "%s", uname(&host) == 0 ? host.nodename : "");
    snprintf(part->directory, sizeof part->directory, "%s", strrchr(s->place.home, '/') + 1);
    snprintf(part->path, sizeof part->path, "%s", s->place.home);
    read_boot_id(part->boot_id);
    part->has_ended = s->facts.ended_ns > 0;
    part->exit_code = s->facts.exit_code;
    part->signal = s->facts.signal;
    part->begin_raw_ns = s->facts.started_ns;
    part->last_raw_ns = part->has_ended ? s->facts.ended_ns : now_raw_ns();
    part->last_realtime_ns = now_of(CLOCK_REALTIME) - (now_raw_ns() - part->last_raw_ns);
    part->begin_realtime_ns = s->begin_realtime_ns;
    part->clock_error_ns = clock_error_ns();
}

/* The rank that the launcher named is there before it has recorded anything. */
static void write_part(struct supervisor *s, const struct snapshot *snapshot,
                       const struct diagnosis *diagnosis)
{
    struct job_part part = {0};
    struct buf bytes = {0};
    int failed = 0;

    name_launch(s, &part);
    if (snapshot)
        failed = part_of_run(&part, snapshot, s->live.run, diagnosis);
    if (!failed) {
        part_write(&bytes, &part);
        (void)small_file_write_at(s->place.home_fd, PART_FILE, &bytes);
    }
    buf_release(&bytes);
    part_release(&part);
}

void job_part_begin(struct supervisor *s)
{
    if (!has_job(s))
        return;
    s->begin_realtime_ns = now_of(CLOCK_REALTIME) - (now_raw_ns() - s->facts.started_ns);
    s->part_at_ns = now_ns() + part_pause_ns;
    write_part(s, NULL, NULL);
}

int64_t job_part_follow(struct supervisor *s)
{
    struct snapshot *snapshot = NULL;

    if (!has_job(s))
        return INT64_MAX;
    if (now_ns() < s->part_at_ns)
        return s->part_at_ns;
    if (s->live.feed.model)
        snapshot = model_snapshot(s->live.feed.model);
    if (snapshot) {
        static struct analysis analysis;
        analysis_make(&analysis, snapshot, s->live.run, &s->facts, &s->live.feed.hooks);
        write_part(s, snapshot, &analysis.diagnosis);
    }
    snapshot_free(snapshot);
    s->part_at_ns = now_ns() + part_pause_ns;
    return s->part_at_ns;
}

void job_part_end(struct supervisor *s)
{
    if (has_job(s))
        write_part(s, s->snapshot, &s->analysis.diagnosis);
}

static int lowest_rank(const struct job_part *part)
{
    return part->rank_count > 0 ? (int)part->ranks[0].rank : -1;
}

/* What is known of the other launches. */
struct others {
    const struct supervisor *s;
    size_t going_on;
    bool has_lower; /* one with a lower rank, or with the same and a lower id */
};

static bool look_at(void *context, const char *path, const uint8_t *bytes, size_t size)
{
    struct others *others = context;
    const struct job_place *own = &others->s->job_place;
    struct job_part part;

    (void)path;
    if (part_read(&part, bytes, size, NULL) == 0 && part.launch != own->launch) {
        const int rank = lowest_rank(&part);
        others->going_on += !part.has_ended;
        others->has_lower |=
            rank >= 0 && (others->s->lowest_rank < 0 || rank < others->s->lowest_rank ||
                          (rank == others->s->lowest_rank && part.launch < own->launch));
    }
    part_release(&part);
    return true;
}

static bool skip(void *context, const char *path, const char *why)
{
    (void)context;
    (void)path;
    (void)why;
    return true;
}

/* Ranks by the names of their directories: one that was killed has no last part. */
static bool is_below(const struct supervisor *s)
{
    DIR *folder = opendir(s->job_place.shown);
    const struct dirent *entry;
    bool found = false;

    while (folder && (entry = readdir(folder)))
        found |= strncmp(entry->d_name, "rank-", 5) == 0 &&
                 strtol(entry->d_name + 5, NULL, 10) < s->job_place.ids.rank;
    if (folder)
        closedir(folder);
    return found;
}

static void wait_for_others(struct supervisor *s, struct others *others)
{
    const int64_t until_ns = now_ns() + patience_ns;
    const struct part_visit visit = {others, look_at, skip};

    for (;;) {
        const int64_t start_ns = now_ns();
        *others = (struct others){.s = s};
        (void)part_files_visit(s->job_place.shown, &visit);
        const int64_t took_ns = now_ns() - start_ns; /* of many parts longer than the pause */
        if (others->going_on == 0 || others->has_lower || s->job.hurry || now_ns() >= until_ns)
            return;
        job_wait(&s->job, took_ns > look_pause_ns ? took_ns : look_pause_ns);
    }
}

/* The summary is of all of it from now on. */
static void show_whole(struct supervisor *s)
{
    struct ss_error error;

    if (job_view_load(&s->view, s->job_place.shown, &error) != 0 ||
        job_view_finish(&s->view, s->job_place.ids.job) != 0)
        return;
    snapshot_take_job(s->snapshot, &s->view.compared);
}

bool job_part_gather(struct supervisor *s)
{
    struct others others;

    if (!has_job(s))
        return true;
    s->lowest_rank = -1;
    for (size_t i = 0; s->live.run && i < ss_run_processes(s->live.run); i++) {
        const int rank = ss_run_process(s->live.run, i)->rank;
        if (rank >= 0 && (s->lowest_rank < 0 || rank < s->lowest_rank))
            s->lowest_rank = rank;
    }
    if (s->job_place.ids.rank >= 0 && is_below(s))
        return false;
    wait_for_others(s, &others);
    if (others.has_lower)
        return false;
    show_whole(s);
    return true;
}

void job_part_keep_result(struct supervisor *s)
{
    struct run_result result;
    struct buf text = {0};

    if (!has_job(s))
        return;
    analysis_result(&s->analysis, &result);
    run_result_write(&text, &result);
    (void)small_file_write(s->job_place.shown, RUN_RESULT_FILE, &text);
    struct run_facts facts = s->facts;
    facts.elsewhere = NULL;
    buf_reset(&text);
    run_facts_write(&text, &facts);
    (void)small_file_write(s->job_place.shown, RUN_OUTCOME_FILE, &text);
    buf_release(&text);
}
