#include "model/name_table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static char *copy_text(struct ss_text text)
{
    char *copy = malloc(text.size + 1);
    if (copy) {
        if (text.size)
            memcpy(copy, text.data, text.size);
        copy[text.size] = '\0';
    }
    return copy;
}

static uint32_t hash_text(uint32_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 16777619u;
    return hash * 31;
}

static uint32_t hash_name(const struct model_name *name)
{
    uint32_t hash =
        2166136261u ^ name->stage ^ (uint32_t)name->role << 8 ^ (uint32_t)name->scope << 16;
    return hash_text(hash_text(hash * 16777619u, name->text), name->object);
}

static bool same_name(const struct model_name *a, const struct model_name *b)
{
    return a->stage == b->stage && a->role == b->role && a->scope == b->scope &&
           strcmp(a->text, b->text) == 0 && strcmp(a->object, b->object) == 0;
}

static uint32_t *find_slot(struct model_names *names, const struct model_name *name)
{
    uint32_t i = hash_name(name) & (names->slot_count - 1);
    while (names->slots[i] && !same_name(&names->name[names->slots[i] - 1], name))
        i = (i + 1) & (names->slot_count - 1);
    return &names->slots[i];
}

static int make_room(struct model_names *names)
{
    if (names->count < names->capacity)
        return SS_E_OK;
    uint32_t capacity = names->capacity ? names->capacity * 2 : 64;
    struct model_name *grown = realloc(names->name, capacity * sizeof *grown);
    uint32_t *slots = calloc((size_t)capacity * 2, sizeof *slots);
    if (grown)
        names->name = grown;
    if (!grown || !slots) {
        free(slots);
        return SS_E_NOMEM;
    }
    free(names->slots);
    names->slots = slots;
    names->slot_count = capacity * 2;
    names->capacity = capacity;
    for (uint32_t i = 0; i < names->count; i++)
        *find_slot(names, &names->name[i]) = i + 1;
    return SS_E_OK;
}

/* Objects are few; the one of a name with no object is the name itself. */
static uint32_t owner_of(const struct model_names *names, const struct model_name *name)
{
    for (uint32_t i = 0; name->object[0] && i < names->count; i++)
        if (strcmp(names->name[i].object, name->object) == 0)
            return names->name[i].owner;
    return names->count + 1;
}

/* Takes the texts of `name`. Returns its number, UINT32_MAX if memory is short. */
static uint32_t take_name(struct model_names *names, struct model_name *name)
{
    if (!name->text || !name->object || make_room(names) != SS_E_OK) {
        free(name->text);
        free(name->object);
        return UINT32_MAX;
    }
    uint32_t *slot = find_slot(names, name);
    if (*slot) {
        free(name->text);
        free(name->object);
        return *slot - 1;
    }
    name->owner = owner_of(names, name);
    names->name[names->count] = *name;
    *slot = ++names->count;
    return *slot - 1;
}

int model_names_init(struct model_names *names)
{
    static const struct ss_text unknown = {"(unnamed)", 9}, none = {"", 0};
    memset(names, 0, sizeof *names);
    struct model_name first = {.text = copy_text(unknown), .object = copy_text(none)};
    return take_name(names, &first) == 0 ? SS_E_OK : SS_E_NOMEM;
}

void model_names_release(struct model_names *names)
{
    for (uint32_t i = 0; i < names->count; i++) {
        free(names->name[i].text);
        free(names->name[i].object);
        sketch_release(&names->name[i].sketch);
    }
    for (uint32_t i = 0; i < names->processes; i++)
        free(names->process[i].number);
    free(names->process);
    free(names->name);
    free(names->slots);
}

static int set_number(struct model_names *names, uint32_t process, uint32_t id, uint32_t number)
{
    if (process >= names->processes) {
        void *grown = realloc(names->process, (process + 1) * sizeof *names->process);
        if (!grown)
            return SS_E_NOMEM;
        names->process = grown;
        memset(names->process + names->processes, 0,
               (process + 1 - names->processes) * sizeof *names->process);
        names->processes = process + 1;
    }
    uint32_t count = names->process[process].count;
    if (id >= count) {
        uint32_t wanted = id < 256 ? 256 : id * 2;
        uint32_t *grown = realloc(names->process[process].number, wanted * sizeof *grown);
        if (!grown)
            return SS_E_NOMEM;
        memset(grown + count, 0, (wanted - count) * sizeof *grown);
        names->process[process].number = grown;
        names->process[process].count = wanted;
    }
    names->process[process].number[id] = number;
    return SS_E_OK;
}

int model_names_add(struct model_names *names, uint32_t process, const struct ss_record *record)
{
    struct model_name name = {.text = copy_text(record->u.text.a),
                              .object = copy_text(record->u.text.b),
                              .stage = record->stage,
                              .role = record->role,
                              .scope = record->scope};
    uint32_t number = take_name(names, &name);
    return number == UINT32_MAX ? SS_E_NOMEM : set_number(names, process, record->name, number);
}

int model_names_merge(struct model_names *names, const struct model_names *from, uint32_t *number)
{
    for (uint32_t i = 0; i < from->count; i++) {
        const struct model_name *seen = &from->name[i];
        struct model_name name = {.text = strdup(seen->text),
                                  .object = strdup(seen->object),
                                  .stage = seen->stage,
                                  .role = seen->role,
                                  .scope = seen->scope};
        number[i] = take_name(names, &name);
        if (number[i] == UINT32_MAX)
            return SS_E_NOMEM;
        struct model_name *sum = &names->name[number[i]];
        sum->is_beside = sum->is_beside || seen->is_beside;
        sum->count += seen->count;
        sum->failed += seen->failed;
        sum->total_ns += seen->total_ns;
        sum->self_ns += seen->self_ns;
        sketch_merge(&sum->sketch, &seen->sketch);
    }
    return SS_E_OK;
}

void model_names_update(struct model_names *names, struct ss_text function)
{
    for (uint32_t i = 1; i < names->count; i++) {
        struct model_name *name = &names->name[i];
        const char *object = name->object[0] ? name->object : name->text;
        if (name->role == SS_ROLE_JIT_CALL && strlen(object) == function.size &&
            memcmp(object, function.data, function.size) == 0)
            name->updates = true;
    }
}

bool model_names_updates(const struct model_names *names, uint32_t owner)
{
    for (uint32_t i = 1; i < names->count; i++)
        if (names->name[i].owner == owner && names->name[i].updates)
            return true;
    return false;
}
