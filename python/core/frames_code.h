/* Code objects that were seen on stacks: their names, files and line tables, copied without the
 * GIL.
 *
 * A code object may be freed at any moment, and another one may take its place. So an entry is what
 * was there when it was read, with witnesses: fields and bytes that are compared again each time
 * the entry is used. Code that uses one for a stack has it before that stack is read, and checks it
 * afterwards (code_look(), code_keep()): then the name is that of the code that was there in
 * between.
 *
 * One thread at a time. Entries stay valid until the cache is released or told to forget them. */
#ifndef FRAMES_CODE_H
#define FRAMES_CODE_H

#include "frames_bytecode.h"
#include "frames_layout.h"
#include "frames_memory.h"

enum {
    CODE_CACHE_SLOTS = 2048,
    CODE_WITNESS_BYTES = 32,
    CODE_CHECK_MOST = 64,
    CODE_PIECES = 3 /* of memory that the check of one takes */
};

struct code_fields {
    uintptr_t type, file, name, lines, constants, names;
    uintptr_t instructions; /* the object that has them; 0: they are inside */
    int64_t units;
    int first_line, first_traceable, flags;
    uint32_t version; /* 0: there is none, and the witnesses have to do */
    uintptr_t copies; /* of the instructions; 0: there are none */
};

struct code_witness {
    uintptr_t address;
    size_t bytes;
    unsigned char copy[CODE_WITNESS_BYTES];
};

/* What an instruction is to a reader of stacks. */
struct code_place {
    uint32_t line;  /* 0: not known */
    uint8_t traits; /* enum ss_frame_trait */
    uint16_t body;  /* SS_FRAME_FOR: lines below that one which the loop's body goes on for */
};

struct code {
    uintptr_t address;
    struct code_fields fields;
    struct code_witness name_witness, lines_witness;
    char *function, *file; /* UTF-8 */
    unsigned char *lines;
    size_t lines_bytes;
    struct code_loop *loops;
    size_t loop_count;
    uint64_t text_hash; /* of function and file */
    int32_t copy;       /* of the instructions, the last that was looked for, and where that was */
    uintptr_t copy_address;
    int known_unit;
    struct code_place known_place; /* of that unit */
};

struct code_cache {
    struct code *slot[CODE_CACHE_SLOTS];
};

void code_cache_release(struct code_cache *cache);

/* NULL: not known yet, or not to be read. */
struct code *code_find(const struct code_cache *cache, uintptr_t address);
struct code *code_resolve(struct code_cache *cache, uintptr_t address);

/* A check, for code that reads other memory with the same call: code_look() says what is to be
 * read, and returns how many pieces that is; once they are there, code_keep() leaves of the code
 * objects, each of them there once, those that are what they were, forgets the others, and returns
 * how many are left. */
struct code_look {
    unsigned char image[LAYOUT_CODE_MOST];
    unsigned char name[CODE_WITNESS_BYTES], lines[CODE_WITNESS_BYTES];
};
size_t code_look(const struct code *code, struct code_look *look, struct memory_piece *pieces);
size_t code_keep(struct code_cache *cache, struct code **codes, const struct code_look *looks,
                 size_t count);

struct code_place code_place(struct code *code, int unit);

/* Where the instructions are, or a thread's copy of them. 0: not known, or it is somewhere else
 * than when it was asked for last; the next call may know. */
uintptr_t code_instructions(struct code *code, int32_t copy);

#endif
