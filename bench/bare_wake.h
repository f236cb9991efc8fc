#ifndef BARE_WAKE_H
#define BARE_WAKE_H

int bare_wake_start(int hz); /* 0, or an errno */
long bare_wake_stop(void);   /* the thread's CPU time in ns */
long bare_wake_count(void);  /* how often it woke up */

#endif
