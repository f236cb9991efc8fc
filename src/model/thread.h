/* A thread: one owner of a lane. Threads belong to the model (model.c). */
#ifndef MODEL_THREAD_H
#define MODEL_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arms;
struct batch_log;
struct hot_thread;
struct jit_stage;
struct loop;
struct model;
struct pipe;
struct tree_stage;

struct thread {
    struct model *model;
    uint32_t process, lane, tid, owner;
    uint32_t gaps; /* as its last record's */
    int64_t begin_ns, last_ns;
    struct batch_log *log;  /* its batches by number; NULL: none */
    struct hot_thread *hot; /* its samples; looked for again when there are more */
    uint32_t hot_threads;   /* threads with samples than are kept */
    struct tree_stage *tree;
    struct arms *arms;   /* of an experiment; NULL: none */
    struct pipe *pipe;   /* what follows the tree; NULL: nothing of a loop was seen */
    struct thread *next; /* threads that have ended */
};

/* pipe.c. */

/* What tree passes items to, made for the first of them; NULL: no memory. */
struct jit_stage *thread_open_pipe(struct thread *thread);
void thread_free_pipe(struct thread *thread);

/* Its loops, oldest first; the one that is open; NULL: none. */
struct loop *thread_loops(const struct thread *thread);
const struct loop *thread_open_loop(const struct thread *thread);

/* Up to where its time is in the books: the end of what its open loop knows. */
int64_t thread_booked_ns(const struct thread *thread);

/* The books as they would be if the recording ended then; where that is: not before what is booked
 * already. `books` has MODEL_SEGMENT_COUNT. */
int64_t thread_books(const struct thread *thread, int64_t end_ns, int64_t *books);

/* model.c. Goes through all threads, those of lanes first; begins with {0}. NULL: that was all. */
struct thread_walk {
    uint32_t lane;
    const struct thread *ended; /* the last one that it gave, of those that have ended */
};
const struct thread *model_next_thread(const struct model *model, struct thread_walk *walk);

#endif
