#include "model/layers.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "model/name_table.h"

/* The log. */

static void empty(struct layer_stretch *stretch)
{
    stretch->count = 0;
    stretch->is_cut = false;
    memset(stretch->cost_ns, 0, sizeof stretch->cost_ns);
}

/* Gives its room to the next one. */
static void drop_first(struct layer_log *log)
{
    struct layer_stretch first = log->waiting[0];
    log->waits--;
    memmove(log->waiting, log->waiting + 1, log->waits * sizeof *log->waiting);
    log->waiting[log->waits] = first;
}

static void close_stretch(struct layer_log *log, int64_t end_ns)
{
    struct layer_stretch *open = &log->open;
    log->is_open = false;
    open->end_ns = end_ns;
    for (int i = 0; i < SS_STAGE_COUNT; i++) {
        const int64_t ns = log->stage_ns[i] - open->stage_ns[i] - open->cost_ns[i];
        open->stage_ns[i] = ns > 0 ? ns : 0;
    }
    open->charged_ns = log->spent_ns - log->charged_ns;
    log->charged_ns = log->spent_ns;
    if (log->waits == LAYERS_WAITING)
        drop_first(log);
    struct layer_stretch *place = &log->waiting[log->waits++];
    const struct layer_stretch unused = *place;
    *place = *open;
    *open = unused;
}

void layers_stretch(struct layer_log *log, int64_t start_ns, int64_t end_ns)
{
    if (start_ns < end_ns) {
        if (log->is_open && log->open.start_ns <= start_ns)
            close_stretch(log, end_ns);
        return;
    }
    empty(&log->open);
    log->is_open = true;
    log->open.start_ns = start_ns;
    memcpy(log->open.stage_ns, log->stage_ns, sizeof log->stage_ns);
}

/* A layer that is called is most often called again soon, or has the same place as before. */
bool layers_note(struct layer_log *log, uint32_t name, int64_t self_ns)
{
    struct layer_stretch *open = &log->open;
    if (!log->is_open)
        return true;
    if (open->count == open->capacity) {
        if (open->capacity >= 1u << 16)
            return true;
        const uint32_t capacity = open->capacity ? open->capacity * 2 : 64;
        struct layer_part *grown = realloc(open->part, capacity * sizeof *grown);
        if (!grown)
            return false;
        open->part = grown;
        open->capacity = capacity;
    }
    open->part[open->count++] = (struct layer_part){name, 1, self_ns > 0 ? self_ns : 0};
    return true;
}

void layers_cost(struct layer_log *log, unsigned stage, int64_t ns)
{
    if (log->is_open && stage < SS_STAGE_COUNT)
        saturate_add(&log->open.cost_ns[stage], ns);
}

void layers_spent(struct layer_log *log, double ns)
{
    if (ns >= (double)log->spent_ns && ns < (double)(INT64_MAX / 2))
        log->spent_ns = (int64_t)ns;
}

static bool overlaps(const struct layer_stretch *stretch, int64_t start_ns, int64_t end_ns)
{
    return stretch->start_ns < end_ns && stretch->end_ns > start_ns;
}

void layers_cut(struct layer_log *log, int64_t start_ns, int64_t end_ns)
{
    for (uint32_t i = 0; i < log->waits; i++)
        log->waiting[i].is_cut |= overlaps(&log->waiting[i], start_ns, end_ns);
    if (log->is_open && log->open.start_ns < end_ns)
        log->open.is_cut = true;
}

void layers_release(struct layer_log *log)
{
    for (uint32_t i = 0; i < LAYERS_WAITING; i++)
        free(log->waiting[i].part);
    free(log->open.part);
}

/* The sums of a loop. */

void layers_free(struct loop_layers *layers)
{
    if (!layers)
        return;
    for (uint32_t i = 0; i < layers->count; i++) {
        free(layers->node[i].path);
        free(layers->node[i].kind);
    }
    free(layers->node);
    free(layers->place);
    free(layers);
}

void layers_forget_names(struct loop_layers *layers)
{
    if (!layers)
        return;
    free(layers->place);
    layers->place = NULL;
    layers->places = 0;
}

static uint32_t hash_of(const char *text, size_t bytes)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash;
}

static uint32_t new_node(struct loop_layers *layers, const char *path, size_t bytes, uint32_t hash)
{
    if (layers->count == layers->capacity) {
        const uint32_t capacity = layers->capacity ? layers->capacity * 2 : 32;
        struct layer_node *grown = realloc(layers->node, capacity * sizeof *grown);
        if (!grown)
            return 0;
        layers->node = grown;
        layers->capacity = capacity;
    }
    struct layer_node *node = &layers->node[layers->count];
    memset(node, 0, sizeof *node);
    node->path = strndup(path, bytes);
    node->hash = hash;
    return node->path ? ++layers->count : 0;
}

/* Its place + 1, made if it is new, with all that are around it; 0: none. */
static uint32_t find_node(struct loop_layers *layers, const char *path)
{
    uint32_t parent = 0, depth = 0;
    for (size_t bytes = 0; depth < LAYER_DEPTH_MOST; depth++) {
        bytes += strcspn(path + bytes, ".");
        const uint32_t hash = hash_of(path, bytes);
        uint32_t i = 0;
        while (i < layers->count &&
               (layers->node[i].hash != hash || layers->node[i].depth != depth ||
                strncmp(layers->node[i].path, path, bytes) != 0 || layers->node[i].path[bytes]))
            i++;
        if (i == layers->count) {
            if (i == LAYERS_MOST || !new_node(layers, path, bytes, hash))
                return 0;
            layers->node[i].parent = parent;
            layers->node[i].depth = depth;
        }
        parent = i + 1;
        if (!path[bytes])
            break;
        bytes++;
    }
    return parent;
}

static uint32_t node_of(struct loop_layers *layers, const struct model_name *names,
                        uint32_t name_count, uint32_t name)
{
    enum { NOWHERE = UINT32_MAX };
    if (name >= layers->places) {
        uint32_t *grown = realloc(layers->place, name_count * sizeof *grown);
        if (!grown)
            return 0;
        memset(grown + layers->places, 0, (name_count - layers->places) * sizeof *grown);
        layers->place = grown;
        layers->places = name_count;
    }
    if (layers->place[name] == 0) {
        const uint32_t found = find_node(layers, names[name].text);
        layers->place[name] = found ? found : NOWHERE;
        if (found && !layers->node[found - 1].kind)
            layers->node[found - 1].kind = strdup(names[name].object);
    }
    return layers->place[name] == NOWHERE ? 0 : layers->place[name];
}

static void merge_cells(struct loop_layers *layers)
{
    const int half = LAYER_CELLS / 2;
    for (int i = 0; i < half; i++) {
        for (int k = 0; k < SS_STAGE_COUNT; k++)
            layers->stage_ns[i][k] = layers->stage_ns[2 * i][k] + layers->stage_ns[2 * i + 1][k];
        for (uint32_t n = 0; n < layers->count; n++)
            for (int pass = 0; pass < LAYER_PASSES; pass++)
                layers->node[n].cell_ns[i][pass] =
                    layers->node[n].cell_ns[2 * i][pass] + layers->node[n].cell_ns[2 * i + 1][pass];
    }
    memset(layers->stage_ns + half, 0, sizeof layers->stage_ns / 2);
    for (uint32_t n = 0; n < layers->count; n++)
        memset(layers->node[n].cell_ns + half, 0, sizeof layers->node[n].cell_ns / 2);
    layers->size *= 2;
}

static void book_part(struct loop_layers *layers, uint32_t place, enum layer_pass pass, int cell,
                      const struct layer_part *part)
{
    if (pass == LAYER_FORWARD)
        layers->node[place - 1].calls += part->calls;
    for (; place > 0; place = layers->node[place - 1].parent)
        saturate_add(&layers->node[place - 1].cell_ns[cell][pass], part->self_ns);
}

static void book(struct loop_layers *layers, const struct layer_stretch *stretch,
                 const struct model_name *names, uint32_t name_count)
{
    if (layers->stretches == LAYER_CELLS * layers->size)
        merge_cells(layers);
    const int cell = (int)(layers->stretches++ / layers->size);
    for (int i = 0; i < SS_STAGE_COUNT; i++) {
        saturate_add(&layers->stage_ns[cell][i], stretch->stage_ns[i]);
        if (stretch->charged_ns <= 0)
            saturate_add(&layers->cost_ns, stretch->cost_ns[i]);
    }
    saturate_add(&layers->cost_ns, stretch->charged_ns > 0 ? stretch->charged_ns : 0);
    for (uint32_t i = 0; i < stretch->count; i++) {
        const struct layer_part *part = &stretch->part[i];
        const uint32_t place = node_of(layers, names, name_count, part->name);
        if (place)
            book_part(layers, place,
                      names[part->name].stage == SS_STAGE_BACKWARD ? LAYER_BACKWARD : LAYER_FORWARD,
                      cell, part);
    }
}

bool layers_book(struct layer_log *log, int64_t until_ns, const struct model_name *names,
                 uint32_t name_count, struct loop_layers **layers)
{
    while (log->waits > 0 && log->waiting[0].start_ns < until_ns) {
        if (log->waiting[0].end_ns > until_ns)
            break;
        if (layers && !*layers && (*layers = calloc(1, sizeof **layers)))
            (*layers)->size = 1;
        if (layers && !*layers)
            return false;
        if (layers && !log->waiting[0].is_cut)
            book(*layers, &log->waiting[0], names, name_count);
        drop_first(log);
    }
    return true;
}
