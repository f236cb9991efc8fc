/* libstepscope: record where the time of a training loop goes. C99 and C++.
 *
 * Recording starts with ss_start(), or at the first call below when `stepscope run` set
 * STEPSCOPE_RUN; otherwise every call returns after one branch. Any thread may call; each writes
 * to its own lane, without a lock or a system call. Nothing here prints, fails or changes errno:
 * what cannot be recorded is dropped and counted. Not for use in signal handlers.
 *
 *     static ss_name forward;
 *     if (!forward)
 *         forward = ss_intern("forward", SS_STAGE_FORWARD, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
 *     ss_begin(forward, 0);
 *     ...
 *     ss_end(0, 0);
 */
#ifndef STEPSCOPE_RECORDER_H
#define STEPSCOPE_RECORDER_H
#include <stdint.h>

#include "stepscope/vocabulary.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t ss_name;  /* an interned name; 0 is "(unnamed)" */
typedef uint64_t ss_ticks; /* a time stamp of ss_now(); only this library knows its unit */

struct ss_options {
    const char *dir;    /* run directory, made if missing; NULL: STEPSCOPE_RUN */
    int rank, world;    /* which of how many replicas; -1, 0: from the environment */
    uint64_t cap_bytes; /* most bytes that this process may write; 0: STEPSCOPE_CAP, else 1 GiB,
                           less on tmpfs */
};

SS_API int
ss_start(const struct ss_options *options); /* 0, or a negative SS_E code; NULL: defaults */
SS_API void ss_stop(void);                  /* closes the run; ss_start() may follow */
SS_API const char *ss_status(void); /* "off", "recording to ...", or the first error; one buffer */

/* Texts are copied. `object` (may be NULL) is the owner of the name: "Adam#2", a function. */
SS_API ss_name ss_intern(const char *text, enum ss_stage stage, enum ss_role role,
                         enum ss_scope scope, const char *object);

SS_API void ss_begin(ss_name name, unsigned flags);  /* spans nest, up to 63 deep */
SS_API void ss_end(unsigned flags, int64_t arg);     /* flags are added to those of ss_begin */
SS_API void ss_switch(ss_name next, unsigned flags); /* end and begin with one clock read */
SS_API ss_ticks ss_now(void);                        /* 0 when not recording */
SS_API ss_ticks ss_ticks_of_ns(int64_t duration_ns); /* to date a span back from ss_now() */
SS_API void ss_append(ss_name name, ss_ticks start, ss_ticks end, unsigned flags, int64_t arg);

SS_API void ss_step(uint64_t samples); /* a training step of `samples` starts here */
SS_API void ss_loop_begin(ss_name loop);
SS_API void ss_loop_end(unsigned flags);
SS_API void ss_epoch_begin(uint64_t epoch);
SS_API void ss_epoch_end(unsigned flags);
SS_API void ss_plan(uint64_t steps, uint64_t epochs, uint64_t steps_per_epoch, uint64_t batch);
SS_API void ss_counter(ss_name name, double value);
SS_API void ss_mark(ss_name name, const char *text);

/* SS_SPAN(name); opens a span that closes when the enclosing block is left (GCC and Clang). */
static inline void ss_span_close(const char *unused)
{
    (void)unused;
    ss_end(0, 0);
}
#define SS_SPAN_(name, line)                                                                       \
    char ss_span_##line __attribute__((cleanup(ss_span_close), unused)) =                          \
        (ss_begin((name), 0), (char)0)
#define SS_SPAN_AT(name, line) SS_SPAN_(name, line)
#define SS_SPAN(name) SS_SPAN_AT(name, __LINE__)

#ifdef __cplusplus
}
#endif
#endif
