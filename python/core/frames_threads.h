/* The threads of the interpreter, from its own list, without the GIL. */
#ifndef FRAMES_THREADS_H
#define FRAMES_THREADS_H

#include "frames.h"

struct thread_image { /* a copy of the part of a PyThreadState that the layout knows */
    unsigned char bytes[512];
    uintptr_t tid_place; /* 0, or where `tid` was copied from with it */
    uint32_t tid;
};

/* The address in the image at an offset. */
uintptr_t threads_pointer(const struct thread_image *image, size_t offset);

/* Where the kernel's id of the thread is, if not in the state itself: 0. */
uintptr_t threads_tid_place(const struct frames *frames,
                            const struct thread_image *image);

/* Whether the image is that of a thread of this interpreter, with this id of the kernel. */
bool threads_is(const struct frames *frames, const struct thread_image *image,
                uint32_t tid);

/* The state that a thread had when the list was read last, 0: there is none. */
uintptr_t threads_find(struct frames *frames, uint32_t tid);

/* Finds where the C library keeps the kernel's id of a thread; false: nowhere. With the GIL. */
bool threads_learn_ids(struct frames *frames);

#endif
