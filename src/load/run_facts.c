#include "load/run_facts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/files.h"
#include "base/run_text.h"
#include "read/manifest.h"

enum { OUTCOME_MOST = 65536 };

/* Reads the file, at most OUTCOME_MOST bytes; an empty text if there is none. */
static int read_outcome(struct buf *out, const char *path)
{
    struct buf file = {0};
    buf_printf(&file, "%s/" RUN_OUTCOME_FILE, path);
    const int failed = file.failed ? ENOMEM : small_file_read(file.data, OUTCOME_MOST, out);
    buf_release(&file);
    return error_code_of_errno(failed);
}

/* A number that someone wrote into a file; `otherwise` if it is none, or not within the limits. */
static int64_t number_of(const struct manifest *facts, const char *key, int64_t least, int64_t most,
                         int64_t otherwise)
{
    const struct ss_text value = manifest_find(facts, key);
    char digits[24];
    char *end;

    if (value.size == 0 || value.size >= sizeof digits)
        return otherwise;
    memcpy(digits, value.data, value.size);
    digits[value.size] = '\0';
    errno = 0;
    long long number = strtoll(digits, &end, 10);
    if (errno != 0 || *end != '\0' || number < least || number > most)
        return otherwise;
    return number;
}

static int take_facts(struct run_facts *facts, const struct manifest *found)
{
    facts->pid = (uint32_t)number_of(found, "pid", 1, UINT32_MAX, 0);
    facts->started_ns = number_of(found, "started_ns", 0, INT64_MAX, 0);
    facts->ended_ns = number_of(found, "ended_ns", facts->started_ns, INT64_MAX, 0);
    facts->exit_code = (int)number_of(found, "exit_code", 0, 255, -1);
    facts->signal = (int)number_of(found, "signal", 1, 127, 0);
    facts->user_ns = number_of(found, "user_ns", 0, INT64_MAX, 0);
    facts->system_ns = number_of(found, "system_ns", 0, INT64_MAX, 0);
    facts->max_rss_bytes = number_of(found, "max_rss_bytes", 1, INT64_MAX, 0);
    const struct ss_text elsewhere = manifest_find(found, "elsewhere");
    if (elsewhere.size == 0)
        return 0;
    facts->elsewhere = strndup(elsewhere.data, elsewhere.size);
    return facts->elsewhere ? 0 : SS_E_NOMEM;
}

int run_facts_load(struct run_facts *facts, const char *path)
{
    struct buf text = {0};
    struct manifest found = {0};
    struct text_store store = {0};

    *facts = (struct run_facts){.path = strdup(path), .exit_code = -1};
    int code = facts->path ? read_outcome(&text, path) : SS_E_NOMEM;
    if (code == 0)
        code = manifest_add_lines(&found, &store, (struct ss_text){buf_text(&text), text.size});
    if (code == 0)
        code = take_facts(facts, &found);
    manifest_release(&found);
    text_store_release(&store);
    buf_release(&text);
    return code;
}

void run_facts_release(struct run_facts *facts)
{
    free(facts->path);
    free(facts->elsewhere);
    *facts = (struct run_facts){0};
}

void run_facts_write(struct buf *out, const struct run_facts *facts)
{
    fact_line_number(out, "pid", facts->pid);
    fact_line_number(out, "started_ns", facts->started_ns);
    if (facts->ended_ns > 0)
        fact_line_number(out, "ended_ns", facts->ended_ns);
    if (facts->exit_code >= 0)
        fact_line_number(out, "exit_code", facts->exit_code);
    if (facts->signal > 0)
        fact_line_number(out, "signal", facts->signal);
    if (facts->max_rss_bytes > 0) {
        fact_line_number(out, "user_ns", facts->user_ns);
        fact_line_number(out, "system_ns", facts->system_ns);
        fact_line_number(out, "max_rss_bytes", facts->max_rss_bytes);
    }
    if (facts->elsewhere)
        fact_line(out, "elsewhere", facts->elsewhere);
}

const char *run_facts_name(const struct run_facts *facts)
{
    const char *slash = strrchr(facts->path, '/');

    return slash && slash[1] ? slash + 1 : facts->path;
}

/* Whether this is the first, or the last, file of the command: one that replaces itself (exec) has
 * several. */
static bool is_edge(const struct run_facts *facts, const struct ss_run *run, size_t index,
                    bool last)
{
    const struct ss_process *own = ss_run_process(run, index);

    for (size_t i = 0; i < ss_run_processes(run); i++) {
        const struct ss_process *other = ss_run_process(run, i);
        if (other->pid != facts->pid)
            continue;
        if (last ? other->start_ns > own->start_ns : other->start_ns < own->start_ns)
            return false;
    }
    return true;
}

struct ss_process run_facts_process(const struct run_facts *facts, const struct ss_run *run,
                                    size_t index)
{
    struct ss_process process = *ss_run_process(run, index);
    if (facts->pid == 0 || process.pid != facts->pid)
        return process;
    if (facts->started_ns > 0 && facts->started_ns < process.start_ns &&
        is_edge(facts, run, index, false))
        process.start_ns = facts->started_ns;
    if (facts->ended_ns > process.end_ns && is_edge(facts, run, index, true))
        process.end_ns = facts->ended_ns;
    return process;
}

/* The file "result". */
enum { RESULT_MOST = 4096, NUMBER_SIZE = 32 };

static void add_number(struct buf *out, const char *key, double value)
{
    if (isfinite(value))
        buf_printf(out, "%s: %.12g\n", key, value);
}

void run_result_write(struct buf *out, const struct run_result *result)
{
    fact_line_number(out, "steps", result->steps);
    fact_line_number(out, "spans", result->spans);
    add_number(out, "median_step_ns", result->median_ns);
    add_number(out, "samples_per_s", result->samples_per_s);
    if (result->verdict[0])
        fact_line(out, "verdict", result->verdict);
}

/* What anybody may have written; NAN if it is no number that is not negative. */
static double measured_of(const struct manifest *facts, const char *key)
{
    const struct ss_text value = manifest_find(facts, key);
    char digits[NUMBER_SIZE], *end;

    if (value.size == 0 || value.size >= sizeof digits)
        return NAN;
    memcpy(digits, value.data, value.size);
    digits[value.size] = '\0';
    const double number = strtod(digits, &end);
    return *end == '\0' && isfinite(number) && number >= 0 ? number : NAN;
}

static int64_t count_of(const struct manifest *facts, const char *key)
{
    const double number = measured_of(facts, key);

    return number < 9e18 ? (int64_t)number : 0;
}

static void take(struct run_result *result, const struct manifest *facts)
{
    const struct ss_text verdict = manifest_find(facts, "verdict");

    result->steps = count_of(facts, "steps");
    result->spans = count_of(facts, "spans");
    result->median_ns = measured_of(facts, "median_step_ns");
    result->samples_per_s = measured_of(facts, "samples_per_s");
    if (verdict.size < sizeof result->verdict)
        memcpy(result->verdict, verdict.data ? verdict.data : "", verdict.size);
}

bool run_result_load(struct run_result *result, const char *path)
{
    struct buf file = {0}, text = {0};
    struct manifest facts = {0};
    struct text_store store = {0};

    *result = (struct run_result){.median_ns = NAN, .samples_per_s = NAN};
    buf_printf(&file, "%s/" RUN_RESULT_FILE, path);
    const bool is_read = !file.failed && small_file_read(file.data, RESULT_MOST, &text) == 0;
    const bool found =
        is_read && text.size > 0 &&
        manifest_add_lines(&facts, &store, (struct ss_text){buf_text(&text), text.size}) == 0;
    if (found)
        take(result, &facts);
    manifest_release(&facts);
    text_store_release(&store);
    buf_release(&text);
    buf_release(&file);
    return found;
}

bool run_result_is_empty(const struct run_result *result)
{
    return result->steps == 0 && result->spans == 0;
}
