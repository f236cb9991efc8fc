#include "model/pipe.h"

#include <stdlib.h>

#include "model/model_state.h"
#include "model/thread.h"
#include "model/tree.h"

struct jit_stage *thread_open_pipe(struct thread *thread)
{
    struct pipe *pipe = calloc(1, sizeof *pipe);
    if (!pipe) {
        thread->model->error = SS_E_NOMEM;
        return NULL;
    }
    pipe->calls.thread = thread;
    jit_init(&pipe->jit, thread, &pipe->phase);
    loop_init(&pipe->loop, thread, &pipe->calls);
    thread->pipe = pipe;
    if (!step_init(&pipe->step, &pipe->loop) ||
        !phase_init(&pipe->phase, thread, &pipe->calls, &pipe->step)) {
        thread_free_pipe(thread);
        thread->model->error = SS_E_NOMEM;
        return NULL;
    }
    thread->tree->next = &pipe->jit;
    thread->tree->calls = &pipe->calls;
    return &pipe->jit;
}

void thread_free_pipe(struct thread *thread)
{
    struct pipe *pipe = thread->pipe;
    if (!pipe)
        return;
    jit_release(&pipe->jit);
    phase_release(&pipe->phase);
    step_release(&pipe->step);
    loop_release(&pipe->loop);
    free(pipe->calls.call);
    layers_release(&pipe->calls.layers);
    free(pipe);
    thread->pipe = NULL;
}

struct loop *thread_loops(const struct thread *thread)
{
    return thread->pipe ? thread->pipe->loop.loops : NULL;
}

const struct loop *thread_open_loop(const struct thread *thread)
{
    return thread->pipe ? thread->pipe->loop.open : NULL;
}

int64_t thread_booked_ns(const struct thread *thread)
{
    return thread->pipe->loop.cursor_ns;
}

int64_t thread_books(const struct thread *thread, int64_t end_ns, int64_t *books)
{
    const struct loop_stage *loop = &thread->pipe->loop;
    end_ns = end_ns > loop->cursor_ns ? end_ns : loop->cursor_ns;
    loop_books(loop, &thread->pipe->step.outside, end_ns, books);
    return end_ns;
}
