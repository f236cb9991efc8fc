/* Arrays that grow by doubling: of anything, of names of files, of losses. */
#ifndef READ_ARRAY_H
#define READ_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

#include "stepscope/reader.h"

/* The array with room for `items`, at its old place or a new one; what is new is zero.
 * NULL if there is no memory: then the array stays as it was. Starts as NULL with a
 * capacity of 0. */
void *array_grow(void *array, size_t *capacity, size_t item_size, size_t items);

struct name_list {
    char **items;
    size_t count, capacity;
};

void name_list_release(struct name_list *list);
/* 0 or SS_E_NOMEM. */
int name_list_add(struct name_list *list, const char *name);
void name_list_drop_last(struct name_list *list);

/* Adds the process files of a directory, by name. 0 or SS_E. */
int name_list_add_directory(struct name_list *list, int dir);

/* Only files with names like this are processes. */
bool is_process_name(const char *name);

struct losses {
    struct ss_loss *items;
    size_t count, capacity;
    bool failed; /* one found no memory */
};

void losses_release(struct losses *losses);
void losses_add(struct losses *losses, const struct ss_loss *loss);
/* Forgets those of files that are no process of the run. */
void losses_drop_strangers(struct losses *losses);

#endif
