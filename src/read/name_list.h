/* Names of files, each a copy that the list owns. */
#ifndef READ_NAME_LIST_H
#define READ_NAME_LIST_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
