/* A play for the step model: threads that record spans at exact times, without clock or files.
 *
 * Time stands still but for script_pass(). Depth and nesting are filled in as the recorder does.
 * Records go to the model when they would be written, so in time order. */
#ifndef TESTS_SCRIPT_H
#define TESTS_SCRIPT_H

#include "summary/snapshot.h"

struct script;

struct script *script_new(void);
void script_free(struct script *script);

/* Which lane acts from now on: 1 is the main thread of process 0. */
void script_lane(struct script *script, uint32_t lane);
void script_process(struct script *script, uint32_t process, int rank);

/* A name; the same arguments give the same number. */
unsigned script_name(struct script *script, const char *text, unsigned stage, unsigned role,
                     unsigned scope, const char *object);

void script_pass(struct script *script, int64_t ns);
int64_t script_now(const struct script *script);
void script_begin(struct script *script, unsigned name, unsigned flags);
void script_end(struct script *script, unsigned flags, int64_t arg);
/* begin, pass, end */
void script_span(struct script *script, unsigned name, unsigned flags, int64_t ns);
/* STEP (samples), LOOP_BEGIN (name), LOOP_END, EPOCH_BEGIN (number), EPOCH_END. */
void script_point(struct script *script, unsigned kind, uint64_t value);
/* CLOCK and ARM. */
void script_clock(struct script *script, uint64_t waited_ns, uint64_t others_ns);
void script_arm(struct script *script, unsigned name, uint64_t round, bool settles);
void script_counter(struct script *script, unsigned name, double value);
void script_mark(struct script *script, unsigned name);
void script_mark_text(struct script *script, unsigned name, const char *text);
void script_plan(struct script *script, uint64_t steps, uint64_t epochs, uint64_t per_epoch,
                 uint64_t batch);

/* What goes wrong: the innermost span ends and its record is lost; a span is written long after it
 * ended; another thread takes the lane. */
void script_drop(struct script *script);
void script_append(struct script *script, unsigned name, unsigned flags, int64_t start_ns,
                   int64_t end_ns);
void script_gap(struct script *script); /* records of the lane are missing from here on */
void script_new_owner(struct script *script);
void script_perturbed(struct script *script, int64_t ns);          /* for so long, until now */
void script_ended(struct script *script, enum ss_process_end end); /* EXITED if not told */
unsigned script_depth(const struct script *script);

/* Gives each record that goes to the model to someone else too. */
void script_tap(struct script *script,
                void (*tap)(void *context, uint32_t process, const struct ss_record *record),
                void *context);
struct model *script_model(const struct script *script);
const struct ss_process *script_facts(const struct script *script, uint32_t process);

/* Checks that books close: no segment is negative, segments and stages add up. */
void script_check_books(const struct snapshot *snapshot);

/* A snapshot in between, as of a run that goes on. */
void script_look(struct script *script);

/* Ends all and takes the books; checks them. */
const struct snapshot *script_finish(struct script *script);
const struct snap_span *script_find(const struct snapshot *snapshot, const char *text);

#endif
