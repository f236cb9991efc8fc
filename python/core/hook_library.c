/* Slots of libraries as hooks. The replacements run on threads that need not be Python's and
 * without the GIL: they record, and call on. A row says what the function is:
 *
 *   tells "duration_us"  f(microseconds): something that took so long ends now; it is appended
 *   tells "batch"        f(bytes): a batch was got, or none if there are none; it is counted, and
 * it is the argument of the wait (stage data) that the same thread tells of tells "asks" f(...):
 * this thread asks for a batch. With such a row, what a thread tells of batches without having
 * asked is made ahead, and no wait nothing              a span around a function of up to six
 * integers or pointers */
#include "got_patch.h"
#include "hook_technique.h"

enum { SLOTS = 12 };

struct served {
    struct got_patch got;
    const struct hook_point *point;
    bool is_used; /* by a hook, or one that was let go */
    bool is_laid;
};
static struct served served[SLOTS]; /* a replacement knows nothing but its number */

uint64_t hook_batches; /* any thread adds: not in hook_state, which has a line of its own */

/* A wait and the size of its batch are recorded one after the other, and versions differ in which
 * is first: it is kept until the other one comes. */
static _Thread_local struct {
    const struct hook_point *point; /* of a wait whose size is not known yet */
    ss_ticks start, end;
    long bytes; /* of a batch whose wait is not known yet */
    ss_ticks bytes_at;
    unsigned missed; /* waits in a row whose size never came */
    unsigned asked;  /* which of these are due */
} told __attribute__((tls_model(SS_TLS_MODEL)));
enum { MISSED_MOST = 3 };
enum { ASKED_WAIT = 1, ASKED_SIZE = 2 };
/* Whether a hook is in place that tells the other things; any thread asks. */
static bool sizes_are_told, asking_is_told;

static void put_wait(const struct hook_point *point, ss_ticks start, ss_ticks end, long bytes)
{
    ss_append(point->name, start, end, point->flags, bytes);
}

static bool has_sizes(const struct hook_point *point)
{
    return point->is_data && told.missed < MISSED_MOST &&
           __atomic_load_n(&sizes_are_told, __ATOMIC_RELAXED);
}

/* Whether a wait, or a size, is of a batch that this thread asked for. */
static bool is_asked(unsigned due)
{
    const bool is_due = told.asked & due || !__atomic_load_n(&asking_is_told, __ATOMIC_RELAXED);
    told.asked &= ~due;
    return is_due;
}

static void tell_duration(const struct hook_point *point, long us)
{
    if (point->is_data && !is_asked(ASKED_WAIT))
        return;
    const ss_ticks now = ss_now();
    const ss_ticks took = ss_ticks_of_ns(us * 1000);
    const ss_ticks start = now > took ? now - took : now;
    if (told.point) {
        put_wait(told.point, told.start, told.end, 0);
        told.point = NULL;
        told.missed++;
    }
    if (!has_sizes(point)) {
        put_wait(point, start, now, 0);
    } else if (told.bytes_at + ss_ticks_of_ns(1000) > start) { /* inside it, as microseconds go */
        put_wait(point, start, now, told.bytes);
        told.bytes_at = 0;
    } else {
        told.point = point;
        told.start = start;
        told.end = now;
    }
}

static void tell_batch(long bytes)
{
    if (!is_asked(ASKED_SIZE))
        return;
    __atomic_add_fetch(&hook_batches, bytes > 0, __ATOMIC_RELAXED);
    told.missed = 0;
    if (told.point) {
        put_wait(told.point, told.start, told.end, bytes);
        told.point = NULL;
    } else {
        told.bytes = bytes;
        told.bytes_at = ss_now();
    }
}

typedef long (*integers)(long, long, long, long, long, long);

static long around(unsigned slot, const long *a)
{
    const struct served *me = &served[slot];
    const struct hook_point *point = me->point;
    const integers original = (integers)me->got.function;
    if (!hook_state.is_on)
        return original(a[0], a[1], a[2], a[3], a[4], a[5]);
    if (point->tells == HOOK_TELLS_ASKS) {
        told.asked = ASKED_WAIT | ASKED_SIZE;
        return original(a[0], a[1], a[2], a[3], a[4], a[5]);
    }
    if (point->tells == HOOK_TELLS_BATCH) {
        tell_batch(a[0]);
        return original(a[0], a[1], a[2], a[3], a[4], a[5]);
    }
    if (point->tells == HOOK_TELLS_DURATION) {
        tell_duration(point, a[0]);
        return original(a[0], a[1], a[2], a[3], a[4], a[5]);
    }
    ss_begin(point->name, point->flags);
    const long result = original(a[0], a[1], a[2], a[3], a[4], a[5]);
    ss_end(0, 0);
    return result;
}

#define EACH_SLOT(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define REPLACEMENT(n)                                                                             \
    static long replacement_##n(long a, long b, long c, long d, long e, long f)                    \
    {                                                                                              \
        return around(n, (const long[]){a, b, c, d, e, f});                                        \
    }
EACH_SLOT(REPLACEMENT)
#define ADDRESS(n) (void *)replacement_##n,
static void *const replacements[SLOTS] = {EACH_SLOT(ADDRESS)};

/* A slot is not used a second time: a thread may be on its way through the replacement. */
static struct served *free_slot(struct hook *hook)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        if (!served[i].is_used) {
            hook->slot = i;
            return &served[i];
        }
    }
    return NULL;
}

static void set_told(const struct hook_point *point, bool is_told)
{
    if (point->tells == HOOK_TELLS_BATCH)
        __atomic_store_n(&sizes_are_told, is_told, __ATOMIC_RELAXED);
    if (point->tells == HOOK_TELLS_ASKS)
        __atomic_store_n(&asking_is_told, is_told, __ATOMIC_RELAXED);
}

static const char *patch(struct served *me, const struct hook *hook)
{
    const char *reason = got_patch_apply(&me->got, replacements[hook->slot]);
    me->is_laid = !reason;
    if (!reason)
        set_told(me->point, true);
    return reason;
}

static const char *lay_first(struct hook *hook, const char *library, const char *symbol)
{
    struct served *me = free_slot(hook);
    if (!me)
        return "too many slots of libraries are hooked";
    const char *reason = got_patch_find(&me->got, library, symbol);
    if (reason)
        return reason;
    me->point = hook->points;
    reason = patch(me, hook);
    if (reason) {
        got_patch_release(&me->got);
        return reason;
    }
    me->is_used = true;
    hook->place = me;
    return NULL;
}

static const char *lay(struct hook *hook)
{
    struct served *me = hook->place;
    if (me) /* again: what it calls is known, and may be in use */
        return patch(me, hook);
    const char *library = hook->owner ? PyUnicode_AsUTF8(hook->owner) : NULL;
    const char *symbol = library ? PyUnicode_AsUTF8(hook->attribute) : NULL;
    PyErr_Clear();
    return symbol ? lay_first(hook, library, symbol) : "it does not name a library and a symbol";
}

/* The library stays loaded: a thread may still be returning from it. */
static const char *restore(struct hook *hook)
{
    struct served *me = hook->place;
    me->is_laid = false;
    set_told(hook->points, false);
    return got_patch_restore(&me->got) ? NULL : "something else replaced it since";
}

void hook_library_check(void)
{
    for (unsigned i = 0; i < SLOTS; i++)
        if (served[i].is_laid && hook_state.is_on)
            got_patch_check(&served[i].got);
}

const struct hook_technique hook_library = {"library", lay, restore};
