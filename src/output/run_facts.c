#include "output/run_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "read/facts.h"

enum { FILE_MOST = 65536 };

/* Reads the file, at most FILE_MOST bytes; an empty text if there is none. */
static void read_outcome(struct buf *out, const char *path)
{
    struct buf file = {0};
    buf_printf(&file, "%s/" RUN_OUTCOME_FILE, path);
    int fd = file.failed ? -1 : open(file.data, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *place = fd >= 0 ? buf_reserve(out, FILE_MOST) : NULL;
    for (size_t size = 0; place && size < FILE_MOST;) {
        ssize_t more = read(fd, place + size, FILE_MOST - size);
        if (more <= 0 && !(more < 0 && errno == EINTR))
            break;
        size_t bytes = more > 0 ? (size_t)more : 0;
        size += bytes;
        buf_grown(out, bytes);
    }
    if (fd >= 0)
        close(fd);
    out->failed = out->failed || file.failed;
    buf_release(&file);
}

/* A number that someone wrote into a file; `otherwise` if it is none, or not within the limits. */
static int64_t number_of(const struct facts *facts, const char *key, int64_t least,
                         int64_t most, int64_t otherwise)
{
    const struct ss_text value = facts_find(facts, key);
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

static int take_facts(struct run_facts *facts, const struct facts *found)
{
    facts->pid = (uint32_t)number_of(found, "pid", 1, UINT32_MAX, 0);
    facts->started_ns = number_of(found, "started_ns", 0, INT64_MAX, 0);
    facts->ended_ns = number_of(found, "ended_ns", facts->started_ns, INT64_MAX, 0);
    facts->exit_code = (int)number_of(found, "exit_code", 0, 255, -1);
    facts->signal = (int)number_of(found, "signal", 1, 127, 0);
    const struct ss_text elsewhere = facts_find(found, "elsewhere");
    if (elsewhere.size == 0)
        return 0;
    facts->elsewhere = strndup(elsewhere.data, elsewhere.size);
    return facts->elsewhere ? 0 : SS_E_NOMEM;
}

int run_facts_load(struct run_facts *facts, const char *path)
{
    struct buf text = {0};
    struct facts found = {0};
    struct text_store store = {0};

    *facts = (struct run_facts){.path = strdup(path), .exit_code = -1};
    read_outcome(&text, path);
    int code = text.failed || !facts->path ? SS_E_NOMEM : 0;
    if (code == 0)
        code = facts_add_manifest(&found, &store,
                                  (struct ss_text){buf_text(&text), text.size});
    if (code == 0)
        code = take_facts(facts, &found);
    facts_release(&found);
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

static void add_number(struct buf *out, const char *key, int64_t value)
{
    buf_printf(out, "%s: %" PRId64 "\n", key, value);
}

static void add_escaped(struct buf *out, const char *key, const char *value)
{
    buf_printf(out, "%s: ", key);
    for (; *value; value++) {
        if (*value == '\n' || *value == '\r' || *value == '\\')
            buf_add(out, "\\", 1);
        char escaped = *value;
        escaped = (char)(escaped == '\n' ? 'n' : escaped == '\r' ? 'r' : escaped);
        buf_add(out, &escaped, 1);
    }
    buf_add(out, "\n", 1);
}

void run_facts_write(struct buf *out, const struct run_facts *facts)
{
    add_number(out, "pid", facts->pid);
    add_number(out, "started_ns", facts->started_ns);
    if (facts->ended_ns > 0)
        add_number(out, "ended_ns", facts->ended_ns);
    if (facts->exit_code >= 0)
        add_number(out, "exit_code", facts->exit_code);
    if (facts->signal > 0)
        add_number(out, "signal", facts->signal);
    if (facts->elsewhere)
        add_escaped(out, "elsewhere", facts->elsewhere);
}

const char *run_facts_name(const struct run_facts *facts)
{
    const char *slash = strrchr(facts->path, '/');

    return slash && slash[1] ? slash + 1 : facts->path;
}

/* Whether this is the first, or the last, file of the command: a command that replaces itself
 * (exec) has several, and a shell around it has none. */
static bool is_edge(const struct run_facts *facts, const struct ss_run *run, size_t index,
                    bool last)
{
    const struct ss_process *own = ss_run_process(run, index);
    size_t same = 0;

    for (size_t i = 0; i < ss_run_processes(run); i++) {
        const struct ss_process *other = ss_run_process(run, i);
        if (other->pid != facts->pid)
            continue;
        same++;
        if (last ? other->start_ns > own->start_ns : other->start_ns < own->start_ns)
            return false;
    }
    return own->pid == facts->pid || (same == 0 && ss_run_processes(run) == 1);
}

struct ss_process run_facts_process(const struct run_facts *facts,
                                    const struct ss_run *run, size_t index)
{
    struct ss_process process = *ss_run_process(run, index);
    if (facts->pid == 0)
        return process;
    if (facts->started_ns > 0 && facts->started_ns < process.start_ns &&
        is_edge(facts, run, index, false))
        process.start_ns = facts->started_ns;
    if (facts->ended_ns > process.end_ns && is_edge(facts, run, index, true))
        process.end_ns = facts->ended_ns;
    return process;
}
