/* A library with the symbols of CUDA's driver, for machines without a GPU. It plays a device that
 * does what is queued one after the other: fake_cuda_work() queues work that takes so long, an
 * event happens when all that was queued before it is done. Time is that of the machine.
 *
 * The other functions whose names begin with fake_cuda_ are for scripts: to wait, to make a
 * function fail, to begin a capture, which any other use of events breaks, and to ask what
 * happened. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    NOT_INITIALIZED = 3,
    NOT_READY = 600,
    CAPTURE_IMPLICIT = 906
};
enum { THREAD_LOCAL = 1, RELAXED = 2 };

struct event {
    int64_t ns; /* when it happens; 0: it was not recorded */
};

int cuCtxGetCurrent(void **context);
int cuEventCreate(void **event, unsigned flags);
int cuEventRecord(void *event, void *stream);
int cuEventQuery(void *event);
int cuEventElapsedTime(float *ms, void *first, void *last);
int cuStreamIsCapturing(void *stream, int *status);
int cuThreadExchangeStreamCaptureMode(int *mode);

void fake_cuda_work(int64_t ns);
void fake_cuda_wait(int64_t most_ns);
void fake_cuda_fail(const char *function, int result, int64_t after);
void fake_cuda_capture(int is_on);
void fake_cuda_set_context(int64_t number);
int64_t fake_cuda_left(void);
int64_t fake_cuda_calls(void);
int fake_cuda_is_broken(void);

static int64_t done_ns; /* when the device will have done all */
static int64_t context = 1;
static int64_t calls, fails_after;
static const char *failing;
static int failure, mode = THREAD_LOCAL;
static bool is_captured, is_broken;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* What a function returns. */
static int answer(const char *function)
{
    calls++;
    return failing && strcmp(failing, function) == 0 && fails_after-- <= 0 ? failure : SUCCESS;
}

void fake_cuda_work(int64_t ns)
{
    done_ns = later(done_ns, now_ns()) + ns;
}

/* How much it has to do yet, in nanoseconds. */
int64_t fake_cuda_left(void)
{
    return later(done_ns - now_ns(), 0);
}

/* Until at most that much is left to do. */
void fake_cuda_wait(int64_t most_ns)
{
    int64_t more;
    while ((more = fake_cuda_left() - most_ns) > 0) {
        const struct timespec nap = {more / 1000000000, more % 1000000000};
        nanosleep(&nap, NULL);
    }
}

void fake_cuda_fail(const char *function, int result, int64_t after)
{
    failing = strdup(function);
    failure = result;
    fails_after = after;
}

void fake_cuda_capture(int is_on)
{
    is_captured = is_on;
}

void fake_cuda_set_context(int64_t number)
{
    context = number;
}

int64_t fake_cuda_calls(void)
{
    return calls;
}

int fake_cuda_is_broken(void)
{
    return is_broken;
}

int cuCtxGetCurrent(void **out)
{
    if (context < 0)
        return NOT_INITIALIZED;
    *out = (void *)(intptr_t)context;
    return answer("cuCtxGetCurrent");
}

int cuEventCreate(void **event, unsigned flags)
{
    *event = calloc(1, sizeof(struct event));
    return *event && flags == 0 ? answer("cuEventCreate") : INVALID_VALUE;
}

int cuEventRecord(void *event, void *stream)
{
    struct event *recorded = event;
    is_broken = is_broken || is_captured;
    (void)stream;
    recorded->ns = later(done_ns, now_ns());
    return answer("cuEventRecord");
}

int cuEventQuery(void *event)
{
    const struct event *asked = event;
    const int result = answer("cuEventQuery");
    is_broken = is_broken || is_captured || mode != RELAXED || asked->ns == 0;
    return result != SUCCESS ? result : now_ns() < asked->ns ? NOT_READY : SUCCESS;
}

int cuEventElapsedTime(float *ms, void *first, void *last)
{
    const struct event *from = first, *to = last;
    is_broken =
        is_broken || from->ns == 0 || to->ns == 0 || now_ns() < from->ns || now_ns() < to->ns;
    *ms = (float)((double)(to->ns - from->ns) / 1e6);
    return answer("cuEventElapsedTime");
}

int cuStreamIsCapturing(void *stream, int *status)
{
    *status = stream && is_captured;
    return !stream && is_captured ? CAPTURE_IMPLICIT : answer("cuStreamIsCapturing");
}

int cuThreadExchangeStreamCaptureMode(int *wanted)
{
    const int before = mode;
    mode = *wanted;
    *wanted = before;
    return answer("cuThreadExchangeStreamCaptureMode");
}
