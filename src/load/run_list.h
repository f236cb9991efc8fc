/* The runs of a folder, and which of them a word stands for. Reads small files only, never
 * records. */
#ifndef LOAD_RUN_LIST_H
#define LOAD_RUN_LIST_H

#include "load/run_facts.h"

struct run_entry {
    char *directory;               /* its name in the folder */
    char *name;                    /* what it was called by --name, or its command */
    char *command;                 /* "" if it is not known */
    int64_t created_s, changed_ns; /* UTC; of several in a second, when the manifest was written */
    struct run_facts facts;
    struct run_result result;
    bool has_result; /* else it goes on, or no supervisor saw its end */
};

struct run_list { /* {0} is empty */
    char *folder;
    struct run_entry *entry; /* newest first */
    size_t count;
};

/* STEPSCOPE_DIR, or stepscope-runs. */
const char *run_list_folder(void);

/* All runs of the folder; none if there is no such folder. 0 or SS_E_NOMEM; release it in either
 * case. */
int run_list_load(struct run_list *list, const char *folder);
void run_list_release(struct run_list *list);

/* Whether there is a run in this directory: a manifest, or the file of a process. */
bool run_list_is_run(const char *path);

/* The newest run that recorded something, or the newest of all if none did; or the one that the
 * link `latest` names, if that is there. SIZE_MAX: there is no run. */
size_t run_list_latest(const struct run_list *list);

/* What a word means, tried in this order: the name of a directory, `latest`, a name, the beginning
 * of a name or of a directory. The newest run of several with one name; with "~N" behind it the
 * one that many before it. */
enum run_match { RUN_MATCH_NONE, RUN_MATCH_ONE, RUN_MATCH_SEVERAL };

struct run_match_result {
    enum run_match kind;
    size_t index;  /* of the one */
    size_t prefix; /* of several: how many bytes of the word they begin with */
};

struct run_match_result run_list_find(const struct run_list *list, const char *word);

/* Whether the name or the directory of the run begins with these bytes. */
bool run_entry_begins_with(const struct run_entry *entry, const char *word, size_t size);

#endif
