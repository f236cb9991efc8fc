#include "sampler_ids.h"

#include "record/notes.h"

/* Code objects come and go, the same function may have many: what counts is the text. */
static uint64_t key_of(const struct code *code, uint32_t line)
{
    uint64_t key = code->text_hash ^ (line + 1) * UINT64_C(0x9e3779b97f4a7c15);
    key ^= key >> 32;
    key *= UINT64_C(0xd6e8feb86659fd93);
    key ^= key >> 32;
    return key ? key : 1;
}

static uint32_t tell_full(struct ids *ids, uint32_t recording)
{
    if (ids->full_told != recording) {
        if (!notes_frame(IDS_FULL, "(too many different lines)", "", 0)) {
            return 0;
        }
        ids->full_told = recording;
    }
    return IDS_FULL;
}

uint32_t ids_tell(struct ids *ids, const struct code *code, uint32_t line,
                  uint32_t recording)
{
    const uint64_t key = key_of(code, line);
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
        if (!notes_frame(ids->slot[at].id, code->function, code->file, line)) {
            return 0;
        }
        ids->slot[at].told = recording;
    }
    return ids->slot[at].id;
}
