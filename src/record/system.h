/* What the recorder asks of the operating system: small, no state, nothing that prints. */
#ifndef RECORD_SYSTEM_H
#define RECORD_SYSTEM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Thread sanitizers know nothing of a touch that changes no byte. */
#if defined(__SANITIZE_THREAD__)
#define SYSTEM_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SYSTEM_TSAN 1
#endif
#endif
#ifndef SYSTEM_TSAN
#define SYSTEM_TSAN 0
#endif

void system_random(void *out, size_t bytes);
uint32_t system_tid(void);
int64_t system_coarse_ns(void);         /* monotonic, to a few milliseconds */
int64_t system_thread_cpu_ns(void);     /* of the calling thread */
uint64_t system_process_start(void);    /* field 22 of /proc/self/stat, 0: not known */
void system_boot_id(uint8_t out[16]);   /* zeros if not known */
int system_thread_exists(uint32_t tid); /* in this process */

/* Waits until *word is no longer `value`, and someone says so with system_wake(), or the time is
 * over. Returns whether *word is still `value`. */
bool system_wait(_Atomic uint32_t *word, uint32_t value, int microseconds);
void system_wake(_Atomic uint32_t *word);

/* What the program must not notice of a call that does more than record: errno stays as it was, and
 * the thread cannot be cancelled inside, where it would keep our locks for ever. */
struct system_visit {
    int error_number, cancel_state;
};
void system_enter(struct system_visit *visit);
void system_leave(const struct system_visit *visit);

/* Whether a file may have this many bytes. Going over RLIMIT_FSIZE would send SIGXFSZ to the
 * program. */
bool system_file_may_have(uint64_t bytes);

/* Whether the main thread has ended, and all others but those called `name`. */
bool system_only_threads_called(const char *name);

/* Keeps this library loaded after dlclose(): threads that ran through it end through it. */
void system_stay_resident(void);

/* Zeroed private memory from the kernel, not from malloc: the program may hook that. NULL on
 * failure. With _wiped, a forked child finds it zeroed again. */
void *system_map_private(size_t bytes);

/* madvise(), unless a filter would kill for it: then EPERM. */
int system_advise(void *p, size_t bytes, int advice);

/* A forked child finds zeros in the page. */
void system_wipe_on_fork(void *page, size_t bytes);

void system_unmap(void *memory, size_t bytes);

/* Reads a small file; returns its bytes, at most size - 1, and terminates them. */
size_t system_read_file(const char *path, char *out, size_t size);

#endif
