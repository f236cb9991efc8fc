#include "sampler_ids.h"

#include "record/notes.h"

/* Code objects come and go, the same function may have many: what counts is the text. */
static uint64_t key_of(const struct code *code, const struct code_place *place)
{
    const uint64_t kind = (uint64_t)place->body << 8 | place->traits;
    uint64_t key =
        code->text_hash ^ (kind << 32 | place->line) * UINT64_C(0x9e3779b97f4a7c15);
    key ^= key >> 32;
    key *= UINT64_C(0xd6e8feb86659fd93);
    key ^= key >> 32;
    return key ? key : 1;
}

static uint32_t tell_full(struct ids *ids, uint32_t recording)
{
    if (ids->full_told != recording) {
        const struct ss_rec_frame frame = {.id = IDS_FULL};
        if (!notes_frame(&frame, "(too many different lines)", "")) {
            return 0;
        }
        ids->full_told = recording;
    }
    return IDS_FULL;
}

uint32_t ids_tell(struct ids *ids, const struct code *code,
                  const struct code_place *place, uint32_t recording)
{
    const uint64_t key = key_of(code, place);
    size_t at = key % IDS_SLOTS;
    while (ids->slot[at].key && ids->slot[at].key != key) {
        at = (at + 1) % IDS_SLOTS;
    }
    if (!ids->slot[at].key) {
        if (ids->count == IDS_MOST) {
            return tell_full(ids, recording);
        }
        ids->slot[at].key = key;
        ids->slot[at].id = IDS_FULL + ++ids->count;
    }
    if (ids->slot[at].told != recording) {
        const struct ss_rec_frame frame = {.id = ids->slot[at].id,
                                           .line = place->line,
                                           .traits = place->traits,
                                           .body = place->body};
        if (!notes_frame(&frame, code->function, code->file)) {
            return 0;
        }
        ids->slot[at].told = recording;
    }
    return ids->slot[at].id;
}
