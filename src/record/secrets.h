/* Secrets are taken out of names and marks before they are recorded (base/redact.h). Any thread may
 * call; without an expression of the user there is no lock and no allocation. */
#ifndef RECORD_SECRETS_H
#define RECORD_SECRETS_H

#include <stddef.h>

/* `text`, or what is left of it in `room`; for one that redact_may_change(). */
const char *secrets_hide(const char *text, char *room, size_t size);

/* Around a fork, which must not find a search in progress; a child that was cloned without it. */
void secrets_before_fork(void);
void secrets_after_fork(void);
void secrets_after_clone(void);

#endif
