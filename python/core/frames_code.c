#include "frames_code.h"

#include "core.h"

#include <stdlib.h>

#include "frames_bytecode.h"
#include "frames_memory.h"
#include "stepscope/format.h"

enum {
    FUNCTION_MOST = 255,
    FILE_MOST = 1023,
    LINES_MOST = 256 * 1024, /* of a code object with more, no line is known */
    CODE_MOST = 256 * 1024,  /* and no loops, if it has more bytes of code, or more loops */
    LOOPS_MOST = 256,
    UNIT_BYTES = 2,
    NEIGHBOURS = 4 /* slots that an address may be in */
};

static uintptr_t pointer_at(const unsigned char *image, size_t offset)
{
    uintptr_t value;
    memcpy(&value, image + offset, sizeof value);
    return value;
}

static int int_at(const unsigned char *image, size_t offset)
{
    int value;
    memcpy(&value, image + offset, sizeof value);
    return value;
}

/* Only what never changes while the object lives. */
static struct code_fields fields_of(const unsigned char *image)
{
    const struct frames_layout *at = frames_layout;
    struct code_fields fields = {.type = pointer_at(image, at->code.type),
                                 .file = pointer_at(image, at->code.file),
                                 .name = pointer_at(image, at->code.name),
                                 .lines = pointer_at(image, at->code.lines),
                                 .constants = pointer_at(image, at->code.constants),
                                 .names = pointer_at(image, at->code.names),
                                 .first_line = int_at(image, at->code.first_line),
                                 .flags = int_at(image, at->code.flags)};
    if (at->code.is_variable) {
        fields.units = (int64_t)pointer_at(image, at->code.units);
        fields.first_traceable = int_at(image, at->code.first_traceable);
    } else {
        fields.instructions = pointer_at(image, at->code.instructions);
    }
    if (at->code.has_version)
        fields.version = (uint32_t)int_at(image, at->code.version);
    if (at->frame.has_copy)
        fields.copies = pointer_at(image, at->code.copies);
    return fields;
}

static bool same_fields(const struct code_fields *a, const struct code_fields *b)
{
    return a->type == b->type && a->file == b->file && a->name == b->name && a->lines == b->lines &&
           a->constants == b->constants && a->names == b->names && a->units == b->units &&
           a->first_line == b->first_line && a->first_traceable == b->first_traceable &&
           a->version == b->version && a->flags == b->flags && a->instructions == b->instructions;
}

static bool read_fields(uintptr_t address, struct code_fields *fields)
{
    unsigned char image[LAYOUT_CODE_MOST];
    const bool got = memory_read(address, image, frames_layout->code.bytes);
    if (got)
        *fields = fields_of(image);
    return got && fields->type == (uintptr_t)&PyCode_Type;
}

static void free_code(struct code *code)
{
    if (code) {
        free(code->function);
        free(code->file);
        free(code->lines);
        free(code->loops);
        free(code);
    }
}

static size_t first_slot(uintptr_t address)
{
    return (size_t)((uint64_t)address * 0x9e3779b97f4a7c15u >> 40) % CODE_CACHE_SLOTS;
}

static struct code **slot_of(const struct code_cache *cache, uintptr_t address)
{
    const size_t first = first_slot(address);
    struct code *const *free_slot = NULL;
    for (size_t i = 0; i < NEIGHBOURS; i++) {
        struct code *const *slot = &cache->slot[(first + i) % CODE_CACHE_SLOTS];
        if (*slot && (*slot)->address == address)
            return (struct code **)(uintptr_t)slot;
        free_slot = *slot || free_slot ? free_slot : slot;
    }
    return (struct code **)(uintptr_t)(free_slot ? free_slot : &cache->slot[first]);
}

static void forget(struct code_cache *cache, uintptr_t address)
{
    struct code **slot = slot_of(cache, address);
    if (*slot && (*slot)->address == address) {
        free_code(*slot);
        *slot = NULL;
    }
}

void code_cache_release(struct code_cache *cache)
{
    for (size_t i = 0; i < CODE_CACHE_SLOTS; i++) {
        free_code(cache->slot[i]);
        cache->slot[i] = NULL;
    }
}

struct code *code_find(const struct code_cache *cache, uintptr_t address)
{
    struct code *code = *slot_of(cache, address);
    return code && code->address == address ? code : NULL;
}

static void note_witness(struct code_witness *witness, const struct text_place *place,
                         const void *data)
{
    witness->address = place->address;
    witness->bytes = place->bytes < CODE_WITNESS_BYTES ? place->bytes : CODE_WITNESS_BYTES;
    memcpy(witness->copy, data, witness->bytes);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    do {
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    } while (*text++);
    return hash;
}

static void name_cell(struct code *code)
{
    char *name = cells_name(code->file);
    if (name) {
        free(code->file);
        code->file = name;
    }
}

static bool fill_names(struct code *code)
{
    struct text_place name, file;
    code->function = text_copy(code->fields.name, FUNCTION_MOST, &name);
    code->file = text_copy(code->fields.file, FILE_MOST, &file);
    if (!code->function || !code->file)
        return false;
    name_cell(code);
    code->name_witness.address = name.address;
    code->name_witness.bytes = name.bytes < CODE_WITNESS_BYTES ? name.bytes : CODE_WITNESS_BYTES;
    code->text_hash = hash_text(hash_text(0xcbf29ce484222325u, code->function), code->file);
    return memory_read(name.address, code->name_witness.copy, code->name_witness.bytes);
}

static void fill_lines(struct code *code)
{
    struct text_place lines;
    code->lines = text_copy_bytes(code->fields.lines, LINES_MOST, &lines);
    if (code->lines) {
        code->lines_bytes = lines.bytes;
        note_witness(&code->lines_witness, &lines, code->lines);
    }
    code->known_unit = -1;
}

/* A copy that the caller frees; NULL: not to be had. */
static unsigned char *copy_instructions(const struct code *code, uintptr_t address, size_t *bytes)
{
    struct text_place place;
    if (!frames_layout->code.is_variable) {
        unsigned char *copy = text_copy_bytes(code->fields.instructions, CODE_MOST, &place);
        *bytes = copy ? place.bytes : 0;
        return copy;
    }
    if (code->fields.units <= 0 || code->fields.units > CODE_MOST / UNIT_BYTES)
        return NULL;
    *bytes = (size_t)code->fields.units * UNIT_BYTES;
    unsigned char *copy = malloc(*bytes);
    if (copy && !memory_read(address + frames_layout->code.unit_one, copy, *bytes)) {
        free(copy);
        copy = NULL;
    }
    return copy;
}

static void fill_loops(struct code *code, uintptr_t address)
{
    struct code_loop found[LOOPS_MOST];
    size_t bytes = 0;
    unsigned char *instructions = copy_instructions(code, address, &bytes);
    const size_t count = instructions ? loops_find(instructions, bytes, found, LOOPS_MOST) : 0;
    free(instructions);
    if (count > 0 && count <= LOOPS_MOST && (code->loops = malloc(count * sizeof *found))) {
        memcpy(code->loops, found, count * sizeof *found);
        code->loop_count = count;
    }
}

struct code *code_resolve(struct code_cache *cache, uintptr_t address)
{
    struct code *code = calloc(1, sizeof *code);
    struct code_fields after;
    if (!code || !read_fields(address, &code->fields) || !fill_names(code)) {
        free_code(code);
        return NULL;
    }
    code->address = address;
    fill_lines(code);
    fill_loops(code, address);
    if (!read_fields(address, &after) || !same_fields(&code->fields, &after)) {
        free_code(code);
        return NULL;
    }
    struct code **slot = slot_of(cache, address);
    free_code(*slot);
    *slot = code;
    return code;
}

static bool is_same_witness(const struct code_witness *witness, const void *copy)
{
    return memcmp(witness->copy, copy, witness->bytes) == 0;
}

size_t code_look(const struct code *code, struct code_look *look, struct memory_piece *pieces)
{
    size_t count = 0;
    pieces[count++] = (struct memory_piece){code->address, look->image, frames_layout->code.bytes};
    if (code->fields.version)
        return count;
    pieces[count++] =
        (struct memory_piece){code->name_witness.address, look->name, code->name_witness.bytes};
    if (code->lines) {
        pieces[count++] = (struct memory_piece){code->lines_witness.address, look->lines,
                                                code->lines_witness.bytes};
    }
    return count;
}

static bool is_same(const struct code *code, const struct code_look *look)
{
    const struct code_fields now = fields_of(look->image);
    return same_fields(&code->fields, &now) &&
           (now.version || (is_same_witness(&code->name_witness, look->name) &&
                            is_same_witness(&code->lines_witness, look->lines)));
}

size_t code_keep(struct code_cache *cache, struct code **codes, const struct code_look *looks,
                 size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (is_same(codes[i], &looks[i])) {
            codes[i]->fields.copies = fields_of(looks[i].image).copies; /* there may be more now */
            codes[kept++] = codes[i];
        } else {
            forget(cache, codes[i]->address);
        }
    return kept;
}

/* The loop whose next item this instruction gets; NULL: none. */
static const struct code_loop *loop_of(const struct code *code, int unit)
{
    for (size_t i = 0; i < code->loop_count; i++)
        if (unit >= code->loops[i].first && unit < code->loops[i].body)
            return &code->loops[i];
    return NULL;
}

static struct code_place find_place(const struct code *code, int unit)
{
    const struct lines_table table = {frames_layout->code.format, code->lines, code->lines_bytes,
                                      code->fields.first_line};
    const struct code_loop *loop = loop_of(code, unit);
    struct code_place place = {.line = (uint32_t)lines_find(&table, unit)};
    if (code->fields.flags & (CO_GENERATOR | CO_ASYNC_GENERATOR))
        place.traits |= SS_FRAME_GENERATOR;
    if (loop) {
        const uint32_t last = (uint32_t)lines_last(&table, loop->body, loop->end);
        const uint32_t body = last > place.line ? last - place.line : 0;
        place.traits |= SS_FRAME_FOR;
        place.body = (uint16_t)(body < UINT16_MAX ? body : UINT16_MAX);
    }
    return place;
}

struct code_place code_place(struct code *code, int unit)
{
    if (unit != code->known_unit || unit < 0) {
        code->known_place = find_place(code, unit);
        code->known_unit = unit;
    }
    return code->known_place;
}

/* A thread keeps its copy as long as it lives, and another one may have that number afterwards. So
 * an address counts that was the same before and after the frame was read. */
uintptr_t code_instructions(struct code *code, int32_t copy)
{
    const uintptr_t place =
        code->fields.copies + sizeof(Py_ssize_t) + (size_t)copy * sizeof(uintptr_t);
    uintptr_t address = 0, before = 0;
    if (copy == 0)
        return code->address + frames_layout->code.unit_one;
    if (copy < 0 || !code->fields.copies || !memory_read(place, &address, sizeof address))
        return 0;
    if (code->copy == copy)
        before = code->copy_address;
    code->copy = copy;
    code->copy_address = address;
    return address == before ? address : 0;
}
