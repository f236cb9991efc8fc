#include "read/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "read/array.h"

static const ss_ns settle_ns = 100000000; /* merged records of a live run wait this long */
static const char manifest_name[] = "manifest";
enum { MANIFEST_MOST = 1 << 20 };

/* The first file that is no process of the run, for the case that none is. */
struct problem {
    int code;
    char name[256];
};

static struct ss_run *new_run(bool in_memory)
{
    struct ss_run *const run = calloc(1, sizeof *run);

    if (!run)
        return NULL;
    run->missing = missing_names_new();
    if (!run->missing) {
        free(run);
        return NULL;
    }
    run->in_memory = in_memory;
    file_pool_init(&run->pool, -1);
    run->barrier_ns = INT64_MAX;
    return run;
}

void ss_run_close(struct ss_run *run)
{
    if (!run)
        return;
    cursors_orphan(run);
    for (size_t i = 0; i < run->file_count; i++)
        process_file_close(run->files[i]);
    free(run->files);
    free(run->by_name);
    free(run->lanes);
    losses_release(&run->losses);
    name_list_release(&run->strangers);
    manifest_release(&run->manifest);
    text_store_release(&run->texts);
    missing_names_free(run->missing);
    file_pool_release(&run->pool);
    free(run);
}

/* Where in by_name it is, or would be. */
static size_t place_of_name(const struct ss_run *run, const char *name)
{
    size_t low = 0, high = run->file_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(run->by_name[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_known(const struct ss_run *run, const char *name)
{
    const size_t place = place_of_name(run, name);

    return place < run->file_count && strcmp(run->by_name[place]->name, name) == 0;
}

static int add_file(struct ss_run *run, struct process_file *file)
{
    struct process_file **files =
        array_grow(run->files, &run->file_capacity, sizeof *files, run->file_count + 1);
    struct process_file **by_name;

    if (!files)
        return SS_E_NOMEM;
    run->files = files;
    by_name =
        array_grow(run->by_name, &run->by_name_capacity, sizeof *by_name, run->file_count + 1);
    if (!by_name)
        return SS_E_NOMEM;
    run->by_name = by_name;

    const size_t place = place_of_name(run, file->name);
    memmove(by_name + place + 1, by_name + place, (run->file_count - place) * sizeof *by_name);
    by_name[place] = file;
    file->index = (uint32_t)run->file_count;
    files[run->file_count++] = file;
    return 0;
}

/* Makes a process of a file, or counts it among the strangers. 0 or SS_E_NOMEM. */
static int adopt(struct ss_run *run, const char *name, const struct ss_blob *blob,
                 struct problem *problem)
{
    struct process_file *file;
    int code = name_list_add(&run->strangers, name);

    if (code != 0)
        return code;
    const char *const own_name = run->strangers.items[run->strangers.count - 1];
    file = process_file_open(own_name, blob, &run->pool, &run->losses, &code);
    if (!file && code != SS_E_NOMEM && problem->code == 0) {
        problem->code = code;
        strncpy(problem->name, name, sizeof problem->name - 1);
    }
    if (!file)
        return code == SS_E_NOMEM ? code : 0;
    name_list_drop_last(&run->strangers);
    code = add_file(run, file);
    if (code != 0)
        process_file_close(file);
    return code;
}

static int compare_numbers(const void *a, const void *b)
{
    const uint32_t na = (*(struct run_lane *const *)a)->info.number;
    const uint32_t nb = (*(struct run_lane *const *)b)->info.number;

    return (na > nb) - (na < nb);
}

/* Gives the new lanes of a file their index in the run. */
static int publish_lanes(struct ss_run *run, struct process_file *file)
{
    const size_t fresh = file->lane_count - file->lanes_published;
    struct run_lane **lanes =
        array_grow(run->lanes, &run->lane_capacity, sizeof *lanes, run->lane_count + fresh);

    if (fresh == 0)
        return 0;
    if (!lanes)
        return SS_E_NOMEM;
    run->lanes = lanes;
    qsort(file->lanes + file->lanes_published, fresh, sizeof(struct run_lane *), compare_numbers);
    if (file->lanes_published == 0)
        file->info.first_lane = (uint32_t)run->lane_count;
    while (file->lanes_published < file->lane_count) {
        struct run_lane *const lane = file->lanes[file->lanes_published++];
        lane->index = (uint32_t)run->lane_count;
        lanes[run->lane_count++] = lane;
    }
    return 0;
}

/* Refreshes all processes; goes on after an error and gives the first. */
static int refresh_files(struct ss_run *run)
{
    int first = 0;

    for (size_t i = 0; i < run->file_count; i++) {
        int code = process_file_refresh(run->files[i], &run->host);
        if (code == 0)
            code = publish_lanes(run, run->files[i]);
        if (first == 0)
            first = code;
        run->by_name[i]->order = (uint32_t)i;
    }
    segment_cache_allow(&run->pool.cache, run->lane_count);
    run->barrier_ns = ss_run_is_live(run) ? run->host.now_ns - settle_ns : INT64_MAX;
    if (first == 0 && run->losses.failed)
        first = SS_E_NOMEM;
    run->losses.failed = false;
    return first;
}

static int adopt_directory(struct ss_run *run, struct problem *problem)
{
    struct name_list names = {0};
    int code = name_list_add_directory(&names, run->pool.dir);

    for (size_t i = 0; i < names.count && code == 0; i++)
        if (!is_known(run, names.items[i]))
            code = adopt(run, names.items[i], NULL, problem);
    name_list_release(&names);
    return code;
}

static int add_manifest(struct ss_run *run, struct source *source)
{
    const size_t most = source->size < MANIFEST_MOST ? (size_t)source->size : MANIFEST_MOST;
    char *const text = malloc(most);

    if (!text)
        return SS_E_NOMEM;
    const struct ss_text all = {text, source_read(source, 0, text, most)};
    const int code =
        all.size == most ? manifest_add_lines(&run->manifest, &run->texts, all) : SS_E_IO;
    free(text);
    return code;
}

/* There may be none, or something else of that name; one that cannot be read is an error. */
static int read_manifest(struct ss_run *run)
{
    struct source source;
    int code = source_open(&source, &run->pool, manifest_name);

    if (code == 0 && source.size > 0)
        code = add_manifest(run, &source);
    source_close(&source);
    return code == SS_E_NOTFOUND || code == SS_E_INVALID ? 0 : code;
}

static const char *explain(int code)
{
    switch (code) {
    case SS_E_DAMAGED:
        return "its header is damaged, or it is not a stepscope file";
    case SS_E_INVALID:
        return "not a regular file";
    default:
        return ss_error_text(code);
    }
}

static int fail_without_process(const char *path, const struct problem *problem,
                                struct ss_error *error)
{
    if (problem->code != 0)
        return error_set(error, problem->code, "%s/%s: %s", path, problem->name,
                         explain(problem->code));
    return error_set(error, SS_E_NOTRUN, "%s: %s (no %s file)", path, ss_error_text(SS_E_NOTRUN),
                     SS_FILE_SUFFIX);
}

/* The end of opening: a run that has a process, unless it `may_be_empty`, or NULL and the
 * reason. */
static struct ss_run *finish(struct ss_run *run, int code, const struct problem *problem,
                             const char *path, bool may_be_empty, struct ss_error *error)
{
    if (code == 0)
        code = refresh_files(run);
    if (code != 0)
        error_set(error, code, "%s: %s", path, ss_error_text(code));
    else if (run->file_count == 0 && (!may_be_empty || problem->code != 0))
        code = fail_without_process(path, problem, error);
    if (code == 0)
        return run;
    ss_run_close(run);
    return NULL;
}

static struct ss_run *open_directory(const char *path, bool may_be_empty, struct ss_error *error)
{
    struct ss_run *const run = new_run(false);
    struct problem problem = {0};
    int code = SS_E_NOMEM;

    if (!run) {
        error_set(error, code, "%s: %s", path, ss_error_text(code));
        return NULL;
    }
    run->pool.dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (run->pool.dir < 0) {
        if (errno == ENOTDIR)
            error_set(error, SS_E_NOTRUN, "%s: not a directory, so not a run", path);
        else
            error_set(error, error_code_of_errno(errno), "%s: %s", path,
                      ss_error_text(error_code_of_errno(errno)));
        ss_run_close(run);
        return NULL;
    }
    host_init(&run->host);
    code = read_manifest(run);
    fold_load(run);
    if (code == 0)
        code = adopt_directory(run, &problem);
    return finish(run, code, &problem, path, may_be_empty, error);
}

struct ss_run *ss_run_open(const char *path, struct ss_error *error)
{
    return open_directory(path, false, error);
}

struct ss_run *run_open_empty(const char *path, struct ss_error *error)
{
    return open_directory(path, true, error);
}

/* By name; two of the same name as they were given. */
static int compare_blobs(const void *a, const void *b)
{
    const struct ss_blob *const ba = *(const struct ss_blob *const *)a;
    const struct ss_blob *const bb = *(const struct ss_blob *const *)b;
    const int order = strcmp(ba->name, bb->name);

    return order ? order : (ba > bb) - (ba < bb);
}

static int adopt_blob(struct ss_run *run, const struct ss_blob *blob, struct problem *problem)
{
    if (is_process_name(blob->name))
        return adopt(run, blob->name, blob, problem);
    if (strcmp(blob->name, manifest_name) == 0 && blob->size > 0)
        return manifest_add_lines(&run->manifest, &run->texts,
                                  (struct ss_text){blob->data, blob->size});
    return 0;
}

struct ss_run *ss_run_open_memory(const struct ss_blob *files, size_t count, struct ss_error *error)
{
    struct ss_run *const run = new_run(true);
    const struct ss_blob **const sorted = calloc(count + 1, sizeof *sorted);
    struct problem problem = {0};
    int code = 0;

    if (!run || !sorted) {
        free(sorted);
        ss_run_close(run);
        error_set(error, SS_E_NOMEM, "%s", ss_error_text(SS_E_NOMEM));
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        sorted[i] = &files[i];
    qsort(sorted, count, sizeof *sorted, compare_blobs);
    for (size_t i = 0; i < count && code == 0; i++)
        code = adopt_blob(run, sorted[i], &problem);
    free(sorted);
    return finish(run, code, &problem, "memory", false, error);
}

void run_follow(struct ss_run *run, bool following)
{
    run->host.patient = following;
}

void run_note_no_writer(struct ss_run *run, size_t process)
{
    run->files[process]->has_no_writer = true;
}

int ss_run_refresh(struct ss_run *run)
{
    struct problem ignored = {0};

    if (run->in_memory)
        return 0;
    host_update(&run->host);
    losses_drop_strangers(&run->losses);
    name_list_release(&run->strangers);
    const int adopted = adopt_directory(run, &ignored);
    const int refreshed = refresh_files(run);
    const int cursors = cursors_refresh(run);
    return adopted ? adopted : refreshed ? refreshed : cursors;
}
