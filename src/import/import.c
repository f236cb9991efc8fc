#include "import/import.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/run_text.h"
#include "base/sink.h"
#include "import/device_books.h"
#include "import/kineto.h"
#include "import/run_lane.h"
#include "import/trace_layers.h"
#include "import/trace_tables.h"
#include "import/xplane.h"
#include "read/array.h"

/* The clock of a run begins a day before its first trace: others may have begun earlier. */
static const int64_t before_ns = INT64_C(86400) * 1000000000;
/* A time since 1970 that is none. */
static const int64_t time_most_ns = INT64_MAX / 4;

struct importing {
    const struct import_job *job;
    struct import_result *result;
    struct ss_error *error;
    struct device_table table;
    int64_t origin_ns;
    uint32_t processes;
    size_t index;
    int parent, dir; /* descriptors */
    char *part;      /* what the directory is called until it is whole */
};

static void show_progress(void *context, double done)
{
    const struct importing *importing = context;
    const struct import_job *job = importing->job;

    if (job->progress)
        job->progress(job->context, ((double)importing->index + done) / (double)job->count);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

static int read_trace(struct importing *importing, const char *path, struct trace *trace)
{
    struct trace_input input;
    int failed = trace_input_open(&input, path, importing->error);

    input.progress = show_progress;
    input.context = importing;
    if (!failed && xplane_is(&input))
        trace->form = TRACE_XPLANE;
    if (!failed)
        failed = trace->form == TRACE_XPLANE ? xplane_read(trace, &input, path, importing->error)
                                             : kineto_read(trace, &input, path, importing->error);
    trace_input_release(&input);
    if (!failed && (!trace_settle(trace) || (trace_layers_find(trace), trace->failed)))
        failed = error_set(importing->error, SS_E_NOMEM, "'%s' needs too much memory.", path);
    return failed;
}

/* Times that no clock has would make others of the run useless. */
static void check_times(struct trace *trace)
{
    if (trace->first_ns > trace->last_ns)
        trace->first_ns = trace->last_ns = 0;
    if (trace->base_ns < 0 || trace->base_ns > time_most_ns)
        trace->base_ns = 0;
}

static void add_facts(struct importing *importing, const struct trace *trace, const char *path)
{
    const struct {
        const char *key;
        int64_t value;
    } facts[] = {
        {"events", (int64_t)trace->seen},
        {"earlier", (int64_t)trace->unlaunched},
    };
    struct buf text = {0};

    buf_printf(&text, "trace %s", last_part(path));
    struct device_row *row = device_table_add(&importing->table, TABLE_FACT, buf_text(&text));
    if (row)
        row->number[0] = trace->form;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        row = device_table_add(&importing->table, TABLE_FACT, facts[i].key);
        if (row)
            row->number[0] = facts[i].value;
    }
    buf_release(&text);
    importing->result->events += trace->seen;
    importing->result->steps += trace->step_count;
    importing->result->device_events += trace->event_count;
    importing->result->unlaunched += trace->unlaunched;
}

static int put_trace(struct importing *importing, struct trace *trace, const char *path)
{
    const struct run_lane_place place = {.dir = importing->dir,
                                         .processes = &importing->processes,
                                         .source = last_part(path),
                                         .origin_ns = importing->origin_ns};

    add_facts(importing, trace, path);
    if (!device_books_add(&importing->table, trace))
        return error_set(importing->error, SS_E_NOMEM, "'%s' needs too much memory.", path);
    const int os_error = run_lane_write(trace, &place);
    if (os_error != 0)
        return error_set(importing->error, error_code_of_errno(os_error),
                         "cannot write the run '%s': %s.", importing->job->run, strerror(os_error));
    return 0;
}

static int import_one(struct importing *importing, const char *path)
{
    struct trace trace;

    trace_init(&trace, TRACE_KINETO);
    int failed = read_trace(importing, path, &trace);
    if (!failed && trace.event_count == 0 && trace.last_ns < trace.first_ns)
        failed = error_set(importing->error, SS_E_INVALID,
                           "'%s' has no operation, kernel or step: nothing to import.", path);
    if (!failed) {
        check_times(&trace);
        if (importing->index == 0)
            importing->origin_ns = trace.base_ns + trace.first_ns - before_ns;
        failed = put_trace(importing, &trace, path);
    }
    trace_release(&trace);
    return failed;
}

static void write_manifest(struct buf *out, const struct importing *importing)
{
    struct buf command = {0};
    char created[32] = "";
    const time_t now = time(NULL);
    struct tm parts;

    buf_add_text(&command, "stepscope import");
    for (size_t i = 0; i < importing->job->count; i++)
        buf_printf(&command, " %s", last_part(importing->job->traces[i]));
    fact_line(out, "format", "1");
    fact_line(out, "version", SS_VERSION);
    fact_line(out, "command", buf_text(&command));
    if (gmtime_r(&now, &parts))
        strftime(created, sizeof created, "%Y-%m-%dT%H:%M:%SZ", &parts);
    fact_line(out, "created", created);
    out->failed |= command.failed;
    buf_release(&command);
}

static int write_rest(struct importing *importing)
{
    struct buf manifest = {0}, table = {0}, ignore = {0};

    trace_tables_finish(&importing->table);
    device_table_write(&table, &importing->table);
    write_manifest(&manifest, importing);
    buf_add_text(&ignore, "*\n");
    int failed = small_file_write_at(importing->dir, DEVICE_TABLE_FILE, &table);
    if (!failed)
        failed = small_file_write_at(importing->dir, "manifest", &manifest);
    if (!failed)
        failed = small_file_write_at(importing->dir, ".gitignore", &ignore);
    buf_release(&manifest);
    buf_release(&table);
    buf_release(&ignore);
    return failed;
}

/* Makes RUN.part beside where the run will be. */
static int make_directory(struct importing *importing)
{
    const char *run = importing->job->run;
    struct buf part = {0};
    struct stat there;

    if (lstat(run, &there) == 0)
        return error_set(importing->error, SS_E_BUSY,
                         "'%s' already exists: give another name with -o, or remove it.", run);
    buf_printf(&part, "%s.%ld.part", run, (long)getpid());
    importing->part = part.failed ? NULL : strdup(part.data);
    buf_release(&part);
    if (!importing->part)
        return error_set(importing->error, SS_E_NOMEM, "%s.", ss_error_text(SS_E_NOMEM));
    if (mkdir(importing->part, 0700) == 0)
        importing->dir = open(importing->part, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (importing->dir < 0)
        return error_set(importing->error, error_code_of_errno(errno),
                         "cannot make the run '%s': %s.", run, strerror(errno));
    return 0;
}

static void remove_directory(struct importing *importing)
{
    struct name_list names = {0};
    static const char *const others[] = {DEVICE_TABLE_FILE, "manifest", ".gitignore"};

    if (importing->dir >= 0 && name_list_add_directory(&names, importing->dir) == 0)
        for (size_t i = 0; i < names.count; i++)
            unlinkat(importing->dir, names.items[i], 0);
    for (size_t i = 0; importing->dir >= 0 && i < sizeof others / sizeof *others; i++)
        unlinkat(importing->dir, others[i], 0);
    if (importing->part)
        rmdir(importing->part);
    name_list_release(&names);
}

int import_traces(const struct import_job *job, struct import_result *result,
                  struct ss_error *error)
{
    struct importing importing = {.job = job, .result = result, .error = error, .dir = -1};

    *result = (struct import_result){0};
    int failed = make_directory(&importing);
    for (; !failed && importing.index < job->count; importing.index++)
        failed = import_one(&importing, job->traces[importing.index]);
    int os_error = failed ? 0 : write_rest(&importing);
    if (!failed && !os_error && sink_refuses_all())
        os_error = ENOMEM;
    if (!failed && !os_error && rename(importing.part, job->run) != 0)
        os_error = errno;
    if (os_error)
        failed = error_set(error, error_code_of_errno(os_error), "cannot write the run '%s': %s.",
                           job->run, strerror(os_error));
    if (failed)
        remove_directory(&importing);
    if (importing.dir >= 0)
        close(importing.dir);
    free(importing.part);
    device_table_release(&importing.table);
    return failed;
}
