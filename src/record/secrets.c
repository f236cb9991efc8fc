#include "secrets.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/redact.h"
#include "base/redact_pattern.h"
#include "session.h"
#include "system.h"

static pthread_mutex_t search_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool is_searching __attribute__((tls_model(SS_TLS_MODEL)));

/* The search takes memory: malloc() may be hooked, and record. */
static const char *search(const char *text, char *room, size_t size)
{
    struct pen *pen = &session_tls;
    const int32_t gate = pen->gate, fast_gate = pen->fast_gate;
    struct system_visit visit;

    if (is_searching)
        return "***";
    system_enter(&visit);
    is_searching = true;
    pen->gate = GATE_BUSY;
    pen->fast_gate = GATE_NONE;
    pthread_mutex_lock(&search_lock);
    const char *safe = redact_text(text, room, size) ? room : text;
    pthread_mutex_unlock(&search_lock);
    pen->gate = gate;
    pen->fast_gate = fast_gate;
    is_searching = false;
    system_leave(&visit);
    return safe;
}

const char *secrets_hide(const char *text, char *room, size_t size)
{
    if (redact_pattern_is_set())
        return search(text, room, size);
    return redact_text(text, room, size) ? room : text;
}

void secrets_before_fork(void)
{
    pthread_mutex_lock(&search_lock);
}

void secrets_after_fork(void)
{
    pthread_mutex_unlock(&search_lock);
}

void secrets_after_clone(void)
{
    const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    search_lock = fresh;
    redact_pattern_forget();
}
