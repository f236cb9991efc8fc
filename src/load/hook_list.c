#include "load/hook_list.h"

#include <string.h>

#include "base/files.h"
#include "base/text.h"

static bool same(const struct buf *bytes, struct ss_text text)
{
    return bytes->size == text.size &&
           (text.size == 0 || memcmp(bytes->data, text.data, text.size) == 0);
}

static const struct {
    const char *module, *name;
    enum hooked_framework framework; /* 0: one that has no steps of its own */
} modules[] = {
    {"torch", "PyTorch", HOOKED_TORCH},
    {"tensorflow", "TensorFlow", HOOKED_TENSORFLOW},
    {"keras", "Keras", HOOKED_KERAS},
    {"tf_keras", "tf-keras", HOOKED_KERAS},
    {"jax", "JAX", HOOKED_JAX},
    {"jaxlib", "JAX", HOOKED_JAX},
    {"optax", "Optax", HOOKED_JAX},
    {"lightning", "Lightning", 0},
    {"pytorch_lightning", "Lightning", 0},
    {"transformers", "Transformers", 0},
    {"accelerate", "Accelerate", 0},
};
enum { MODULES = sizeof modules / sizeof modules[0] };
_Static_assert((int)MODULES < (int)HOOK_GROUPS_MOST, "and one for all others");

/* Which of the modules a text begins with, before one of these characters; MODULES: none. */
static size_t module_of(struct ss_text text, const char *ends)
{
    for (size_t i = 0; i < MODULES; i++) {
        const size_t size = strlen(modules[i].module);
        if (text.size > size && memcmp(text.data, modules[i].module, size) == 0 &&
            strchr(ends, text.data[size]) && text.data[size] != '\0')
            return i;
    }
    return MODULES;
}

/* Hooks on a framework are called "module.part:name". */
static unsigned framework_of(struct ss_text target)
{
    if (target.size == 0 || !memchr(target.data, ':', target.size))
        return 0;
    const size_t module = module_of(target, ".:");
    return module < MODULES ? modules[module].framework : 0;
}

static void add_version(struct hook_list *list, struct ss_text text)
{
    const size_t module = module_of(text, " ");
    unsigned points = 0;
    size_t size = 0;

    if (module == MODULES || list->version[module][0])
        return;
    for (size_t i = strlen(modules[module].module) + 1;
         i < text.size && size + 1 < HOOK_VERSION_SIZE; i++) {
        const char c = text.data[i];
        points += c == '.';
        if ((c != '.' && !(c >= '0' && c <= '9')) || points == 2)
            break;
        list->version[module][size++] = c;
    }
}

/* The first module of the same name; MODULES: none. */
static size_t group_of(struct ss_text target)
{
    const size_t module = module_of(target, ".:");
    size_t first = 0;

    if (module == MODULES)
        return module;
    while (strcmp(modules[first].name, modules[module].name) != 0)
        first++;
    return first;
}

void hook_list_say_frameworks(const struct hook_list *list, struct buf *out)
{
    unsigned said = 0; /* of modules that share a bit, those with a version */
    const char *between = "";

    for (size_t i = 0; i < MODULES; i++)
        said |= list->version[i][0] ? modules[i].framework : 0;
    for (size_t i = 0; i < MODULES; i++) {
        const char *version = list->version[i];
        if (!version[0] && !(modules[i].framework & list->frameworks & ~said))
            continue;
        buf_printf(out, "%s%s%s%s", between, modules[i].name, version[0] ? " " : "", version);
        said |= modules[i].framework;
        between = ", ";
    }
}

size_t hook_list_groups(const struct hook_list *list, struct hook_group out[HOOK_GROUPS_MOST])
{
    struct hook_group group[MODULES + 1] = {0};
    size_t count = 0;

    for (size_t i = 0; i < list->count; i++) {
        const struct hook_entry *entry = &list->entry[i];
        const struct ss_text target = {buf_text(&entry->target), entry->target.size};
        struct hook_group *own = &group[group_of(target)];
        own->installed += !entry->skipped;
        own->skipped += entry->skipped;
    }
    for (size_t i = 0; i <= MODULES; i++) {
        if (group[i].installed + group[i].skipped == 0)
            continue;
        group[i].framework = i < MODULES ? modules[i].name : "other";
        group[i].version = i < MODULES ? list->version[i] : "";
        out[count++] = group[i];
    }
    return count;
}

void hook_list_add(struct hook_list *list, size_t most, const struct ss_record *record)
{
    const bool skipped = record->flags & SS_FLAG_FAILED;
    const struct ss_text target = record->u.text.a;
    const struct ss_text reason = skipped ? record->u.text.b : (struct ss_text){"", 0};

    list->installed += !skipped;
    list->skipped += skipped;
    if (!skipped)
        list->frameworks |= framework_of(target);
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

void hook_list_take_fact(struct hook_list *list, size_t most, const struct ss_run *run,
                         uint32_t process, const struct ss_record *record)
{
    static const char framework[] = "framework"; /* as python/stepscope/_hooks.py calls it */

    if (record->kind == SS_KIND_HOOK) {
        hook_list_add(list, most, record);
        return;
    }
    const struct ss_text name = ss_run_name(run, process, record->name)->text;
    if (name.size == sizeof framework - 1 && memcmp(name.data, framework, name.size) == 0)
        add_version(list, record->u.text.a);
}

const struct buf *hook_list_why_no_stacks(const struct hook_list *list)
{
    static const char sampler[] = "stack samples"; /* as python/core/sampler.c calls itself */
    for (size_t i = 0; i < list->count; i++)
        if (list->entry[i].skipped &&
            same(&list->entry[i].target, (struct ss_text){sampler, sizeof sampler - 1}))
            return &list->entry[i].reason;
    return NULL;
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

enum { LINE_BYTES = 1024 };

static const char key[] = "unhooked: ";

struct reason {
    struct buf *out;
    size_t columns;
};

static bool add_reason(void *context, const char *path)
{
    const struct reason *reason = context;
    const size_t skipped = sizeof key - 1;
    struct buf line = {0};

    (void)small_file_read(path, LINE_BYTES, &line); /* a reason less */
    if (line.size > skipped && memcmp(line.data, key, skipped) == 0) {
        const char *text = buf_text(&line) + skipped;
        text_fit(reason->out, text, strcspn(text, "\n"), reason->columns);
    }
    buf_release(&line);
    return false; /* one is enough */
}

void unhooked_reason(struct buf *out, const struct run_facts *facts, size_t columns)
{
    struct reason reason = {out, columns};

    path_match(facts->elsewhere ? facts->elsewhere : facts->path, "unhooked-*", add_reason,
               &reason);
}
