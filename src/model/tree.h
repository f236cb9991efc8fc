/* First stage: nesting, who owns an instant (step model 1). Spans arrive when they end,
 * children before parents; what is known below an open span waits in its level. So do loops nest,
 * and a loop inside a loop is part of it; nothing inside a closed span says anything about the
 * loop around it. What comes out whole goes down the pipe of the thread (item.h). */
#ifndef MODEL_TREE_H
#define MODEL_TREE_H

#include "model/thread.h"
#include "model/work.h"
#include "stepscope/reader.h"

struct call_log;

/* Spans nested at one depth, below a span that is still open. */
struct level {
    bool used;
    int64_t covered_ns; /* by spans of any kind */
    int64_t sampled_ns; /* by sampled ones, without what else has a name in them */
    int64_t first_ns, last_ns;
    struct work work;
};

struct tree_stage {
    struct thread *thread;
    struct jit_stage *next; /* NULL: nothing of a loop was seen */
    struct call_log *calls; /* the same */
    struct level *levels;
    uint32_t level_count, deepest; /* deeper than that, none is used */
    int64_t samples;               /* of the batches that the thread gets now; 0: not known */
    bool announced;                /* in a loop that was */
    int loop_depth;                /* further ones inside it */
};

void tree_release(struct tree_stage *stage);

void tree_span(struct tree_stage *stage, const struct ss_record *record);

/* A mark, the begin or end of a loop or epoch, or a plan. */
void tree_boundary(struct tree_stage *stage, const struct ss_record *record);

/* The batches that the thread gets from here on have this many samples. */
void tree_samples(struct tree_stage *stage, double samples);

/* Records of the thread are missing there; a function is compiled again. */
void tree_missing(struct tree_stage *stage, int64_t start_ns, int64_t end_ns);
void tree_recompile(struct tree_stage *stage, struct ss_text text);
/* What sampling layers has cost on the thread so far. */
void tree_layers(struct tree_stage *stage, double ns);

void tree_batches(struct tree_stage *stage, int64_t time_ns, struct ss_text text);

/* Nothing more comes; the recording was stopped at that time, 0: it was not. */
void tree_flush(struct tree_stage *stage, int64_t stop_ns);

#endif
