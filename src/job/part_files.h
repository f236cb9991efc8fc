/* Parts on disk: a file has one or several, one after the other; a directory has files of them, and
 * runs with one each. */
#ifndef JOB_PART_FILES_H
#define JOB_PART_FILES_H

#include "job/job_view.h"
#include "job/part.h"

struct part_visit {
    void *context;
    /* Each part that is whole by its head; false: stop. */
    bool (*take)(void *context, const char *path, const uint8_t *bytes, size_t size);
    /* What cannot be used, and why; false: stop. */
    bool (*skip)(void *context, const char *path, const char *why);
};

/* Of a file, or of a directory: its files *.ssj, and part.ssj of each directory in it, in the order
 * of names. 0, or errno of what cannot be opened at all. */
int part_files_visit(const char *path, const struct part_visit *visit);

/* Whether there is a part in this directory, or in one below it. */
bool part_files_has(const char *path);

/* Adds all parts of a file or a directory to the view. 0 or an SS_E code with a sentence. */
int job_view_load(struct job_view *view, const char *path, struct ss_error *error);

/* Parts as they are: of two of one launch the newer one, in the order of launch ids. So joining in
 * any order gives the same bytes. {0} is empty. */
struct part_set {
    struct part_bytes {
        uint64_t launch, sequence;
        uint8_t *bytes;
        size_t size;
    } * items;
    size_t count, room;
};

void part_set_release(struct part_set *set);

/* One part; 0, or SS_E with a sentence. */
int part_set_add(struct part_set *set, const uint8_t *bytes, size_t size, struct ss_error *error);
void part_set_write(struct part_set *set, struct buf *out);

#endif
