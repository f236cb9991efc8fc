/* Pauses of Python's garbage collector, as spans of stage gc: a function in gc.callbacks. */
#ifndef COLLECTOR_H
#define COLLECTOR_H

/* Any thread, without the GIL: someone may have emptied the list. The main thread looks when it next
 * can; if our function is gone, it is put there again and the run says so. */
void collector_ask_for_check(void);

#endif
