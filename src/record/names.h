/* Names: text, stage, role, scope and object behind a small number. For the whole process: they
 * outlive a recording and a fork, and each new file gets them all. Callers hold the recorder's
 * lock, but for names_stage(), which any thread may call. */
#ifndef RECORD_NAMES_H
#define RECORD_NAMES_H

#include <stdint.h>

enum { NAMES_TEXT_MAX = 2000 };

struct name {
    const char *text, *object;
    uint8_t stage, role, scope;
};

/* Finds or adds; texts are copied, up to NAMES_TEXT_MAX bytes. When the table is nearly full,
 * texts become "(more)". Returns an id, 0 if memory is short. */
uint32_t names_intern(const struct name *name);

/* For how many it was short: spans of theirs have no name. */
uint32_t names_refused(void);

uint32_t names_count(void); /* ids 1 .. count - 1 are in use; at least 1 */
const struct name *names_get(uint32_t id);
uint8_t names_stage(uint16_t id);

/* The third byte of a name of this stage: the stage, SS_NEST_CLOSED if it is closed, and, turned
 * round, SS_NEST_OPAQUE if it is not (pen_place_inside). */
uint8_t names_nest(uint8_t stage);

#endif
