#include "frames_threads.h"

#include "frames_layout.h"
#include "frames_memory.h"
#include "record/system.h"
#include <pthread.h>

enum { PTHREAD_BYTES = 2048 }; /* of a pthread_t's memory, the id is in the first ones */

_Static_assert(sizeof((struct thread_image *)NULL)->bytes == LAYOUT_THREAD_MOST,
               "room for the layout");

uintptr_t threads_pointer(const struct thread_image *image, size_t offset)
{
    uintptr_t value;
    memcpy(&value, image->bytes + offset, sizeof value);
    return value;
}

uintptr_t threads_tid_place(const struct frames *frames, const struct thread_image *image)
{
    return frames_layout->thread.id_is_native
               ? 0
               : threads_pointer(image, frames_layout->thread.id) +
                     frames->tid_in_pthread;
}

static uint32_t tid_of(const struct frames *frames, const struct thread_image *image)
{
    const uintptr_t place = threads_tid_place(frames, image);
    uint32_t tid = 0;
    if (!place) {
        return (uint32_t)threads_pointer(image, frames_layout->thread.id);
    }
    if (place == image->tid_place) {
        return image->tid;
    }
    return memory_read(place, &tid, sizeof tid) ? tid : 0;
}

bool threads_is(const struct frames *frames, const struct thread_image *image,
                uint32_t tid)
{
    return threads_pointer(image, frames_layout->thread.interpreter) ==
               frames->interpreter &&
           tid_of(frames, image) == tid;
}

void frames_find_threads(struct frames *frames)
{
    struct thread_image image;
    uintptr_t state;
    frames->thread_count = 0;
    image.tid_place = 0;
    if (!memory_read(frames->interpreter + frames_layout->first_thread, &state,
                     sizeof state)) {
        return;
    }
    while (state && frames->thread_count < FRAMES_THREADS &&
           memory_read(state, image.bytes, frames_layout->thread.bytes)) {
        const uint32_t tid = tid_of(frames, &image);
        if (!threads_is(frames, &image, tid)) {
            return;
        }
        frames->thread[frames->thread_count++] = (struct frames_thread){tid, state};
        state = threads_pointer(&image, frames_layout->thread.next);
    }
}

static uintptr_t find_known(const struct frames *frames, uint32_t tid)
{
    for (size_t i = 0; i < frames->thread_count; i++) {
        if (frames->thread[i].tid == tid) {
            return frames->thread[i].state;
        }
    }
    return 0;
}

uintptr_t threads_find(struct frames *frames, uint32_t tid)
{
    uintptr_t state = find_known(frames, tid);
    if (!state) {
        frames_find_threads(frames);
        state = find_known(frames, tid);
    }
    return state;
}

bool threads_learn_ids(struct frames *frames)
{
    unsigned char own[PTHREAD_BYTES];
    const uint32_t tid = system_tid();
    if (frames_layout->thread.id_is_native) {
        return true;
    }
    size_t readable = sizeof own;
    while (readable > 0 && !memory_read((uintptr_t)pthread_self(), own, readable)) {
        readable /= 2;
    }
    for (size_t i = 0; i + sizeof tid <= readable; i += sizeof tid) {
        if (memcmp(own + i, &tid, sizeof tid) == 0) {
            frames->tid_in_pthread = i;
            return true;
        }
    }
    return false;
}
