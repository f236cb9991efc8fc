#include "read/name_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "read/grow.h"
#include "stepscope/format.h"

void name_list_release(struct name_list *list)
{
    while (list->count > 0)
        name_list_drop_last(list);
    free(list->items);
    *list = (struct name_list){0};
}

int name_list_add(struct name_list *list, const char *name)
{
    const size_t size = strlen(name) + 1;
    char **items = grow(list->items, &list->capacity, sizeof *items, list->count + 1);

    if (!items)
        return SS_E_NOMEM;
    list->items = items;
    items[list->count] = malloc(size);
    if (!items[list->count])
        return SS_E_NOMEM;
    memcpy(items[list->count++], name, size);
    return 0;
}

void name_list_drop_last(struct name_list *list)
{
    free(list->items[--list->count]);
}

bool is_process_name(const char *name)
{
    const size_t size = strlen(name), suffix = strlen(SS_FILE_SUFFIX);

    return size >= suffix && strcmp(name + size - suffix, SS_FILE_SUFFIX) == 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A second description of the directory, since reading moves its position. */
static DIR *open_again(int dir)
{
    const int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *const entries = fd < 0 ? NULL : fdopendir(fd);

    if (!entries && fd >= 0)
        close(fd);
    return entries;
}

int name_list_add_directory(struct name_list *list, int dir)
{
    DIR *const entries = open_again(dir);
    const struct dirent *entry;
    int code = 0;

    if (!entries)
        return error_code_of_errno(errno);
    while (code == 0 && (entry = readdir(entries)))
        if (is_process_name(entry->d_name))
            code = name_list_add(list, entry->d_name);
    closedir(entries);
    if (list->count > 0)
        qsort(list->items, list->count, sizeof *list->items, compare_names);
    return code;
}
