#include "read/array.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "stepscope/format.h"

void *array_grow(void *array, size_t *capacity, size_t item_size, size_t items)
{
    size_t wanted = *capacity ? *capacity : 4;
    char *larger;

    if (items <= *capacity)
        return array;
    while (wanted < items && wanted <= SIZE_MAX / 2)
        wanted *= 2;
    if (wanted < items || wanted > SIZE_MAX / item_size)
        return NULL;
    larger = realloc(array, wanted * item_size);
    if (!larger)
        return NULL;
    memset(larger + *capacity * item_size, 0, (wanted - *capacity) * item_size);
    *capacity = wanted;
    return larger;
}

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
    char **items = array_grow(list->items, &list->capacity, sizeof *items, list->count + 1);

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
    do {
        errno = 0;
        entry = readdir(entries);
        if (!entry)
            code = error_code_of_errno(errno);
        else if (is_process_name(entry->d_name))
            code = name_list_add(list, entry->d_name);
    } while (code == 0 && entry);
    closedir(entries);
    if (list->count > 0)
        qsort(list->items, list->count, sizeof *list->items, compare_names);
    return code;
}

void losses_release(struct losses *losses)
{
    free(losses->items);
    *losses = (struct losses){0};
}

void losses_add(struct losses *losses, const struct ss_loss *loss)
{
    struct ss_loss *items =
        array_grow(losses->items, &losses->capacity, sizeof *items, losses->count + 1);

    if (!items) {
        losses->failed = true;
        return;
    }
    losses->items = items;
    items[losses->count++] = *loss;
}

void losses_drop_strangers(struct losses *losses)
{
    size_t kept = 0;

    for (size_t i = 0; i < losses->count; i++)
        if (losses->items[i].process != UINT32_MAX)
            losses->items[kept++] = losses->items[i];
    losses->count = kept;
}
