#include "output/hook_list.h"

#include <string.h>

static bool same(const struct buf *bytes, struct ss_text text)
{
    return bytes->size == text.size &&
           (text.size == 0 || memcmp(bytes->data, text.data, text.size) == 0);
}

void hook_list_add(struct hook_list *list, size_t most, const struct ss_record *record)
{
    const bool skipped = record->flags & SS_FLAG_FAILED;
    const struct ss_text target = record->u.text.a;
    const struct ss_text reason = skipped ? record->u.text.b : (struct ss_text){"", 0};

    list->installed += !skipped;
    list->skipped += skipped;
    for (size_t i = 0; i < list->count; i++) {
        const struct hook_entry *entry = &list->entry[i];
        if (entry->skipped == skipped && same(&entry->target, target) &&
            same(&entry->reason, reason))
            return;
    }
    if (list->count == most || list->count == HOOK_LIST_MOST)
        return;
    struct hook_entry *entry = &list->entry[list->count++];
    entry->skipped = skipped;
    buf_add(&entry->target, target.data, target.size);
    buf_add(&entry->reason, reason.data, reason.size);
}

bool hook_list_failed(const struct hook_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->entry[i].target.failed || list->entry[i].reason.failed)
            return true;
    return false;
}

void hook_list_release(struct hook_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        buf_release(&list->entry[i].target);
        buf_release(&list->entry[i].reason);
    }
    list->count = 0;
}
