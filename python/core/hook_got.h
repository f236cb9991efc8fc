/* A slot of the global offset table of a loaded library: the address through which the library calls
 * a function of another one. No Python here, no lock: one thread at a time may call these, while any
 * thread may be calling through the slot. x86-64 and aarch64.
 *
 * Slots that the loader made read-only are made writable for the moment of the store. A slot that is
 * bound lazily still leads into the library's own table of stubs; the function is then looked up
 * here, because the stub would write over the slot. If somebody else has patched the slot before,
 * the function behind it is theirs: calls go through both. */
#ifndef PYTHON_HOOK_GOT_H
#define PYTHON_HOOK_GOT_H

#include <stdbool.h>
#include <stddef.h>

enum { HOOK_GOT_SLOTS = 4 }; /* a library has one for calls, and one for the address */

struct hook_got {
    void **slots[HOOK_GOT_SLOTS];
    void *before[HOOK_GOT_SLOTS]; /* what was in them */
    bool is_read_only[HOOK_GOT_SLOTS];
    unsigned count;
    void *function; /* what the replacement has to call */
    void *replacement;
    void *library; /* of dlopen(): keeps it loaded */
};

/* Finds the slots of `symbol` in the first library whose path has `library` in it. NULL, or why not;
 * then nothing is to be released. */
const char *hook_got_find(struct hook_got *got, const char *library, const char *symbol);

/* NULL, or why not; then all slots are as they were. Not if somebody else owns one by now. */
const char *hook_got_patch(struct hook_got *got, void *replacement);

/* Patches again what the loader wrote over while it bound lazily. For the first step: by then every
 * slot is bound. False: somebody else owns a slot now, which is left alone. */
bool hook_got_check(struct hook_got *got);

/* False: somebody else has patched over it, and the replacement is still called from there. */
bool hook_got_restore(struct hook_got *got);

void hook_got_release(struct hook_got *got); /* the library may be unloaded again */

#endif
