/* A slot of the global offset table of a loaded library: the address through which the library
 * calls a function of another one. No Python here, no lock: one thread at a time may call these,
 * while any thread may be calling through the slot. x86-64 and aarch64.
 *
 * Slots that the loader made read-only are made writable for the moment of the store. A slot that
 * is bound lazily still leads into the library's own table of stubs; the function is then looked up
 * here, because the stub would write over the slot. If something else has patched the slot before,
 * the function behind it is theirs: calls go through both. */
#ifndef PYTHON_GOT_PATCH_H
#define PYTHON_GOT_PATCH_H

#include <stdbool.h>
#include <stddef.h>

enum { GOT_PATCH_SLOTS = 4 }; /* a library has one for calls, and one for the address */

struct got_patch {
    void **slots[GOT_PATCH_SLOTS];
    void *before[GOT_PATCH_SLOTS]; /* what was in them */
    bool is_read_only[GOT_PATCH_SLOTS];
    unsigned count;
    void *function; /* what the replacement has to call */
    void *replacement;
    void *library; /* of dlopen(): keeps it loaded */
};

/* Finds the slots of `symbol` in the first library whose path has `library` in it. NULL, or why
 * not; then nothing is to be released. */
const char *got_patch_find(struct got_patch *got, const char *library, const char *symbol);

/* NULL, or why not; then all slots are as they were. Not if something else owns one by now. */
const char *got_patch_apply(struct got_patch *got, void *replacement);

/* Patches again what the loader wrote over while it bound lazily. For the first step: by then every
 * slot is bound. False: something else owns a slot now, which is left alone. */
bool got_patch_check(struct got_patch *got);

/* False: something else has patched over it, and the replacement is still called from there. */
bool got_patch_restore(struct got_patch *got);

void got_patch_release(struct got_patch *got); /* the library may be unloaded again */

#endif
