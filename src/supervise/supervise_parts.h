/* What supervise.c has done by others: what it says (messages.c), whether the command can record
 * (reach.c), how large the run may be (run_budget.c), and packing it (pack_up.c). */
#ifndef SUPERVISE_SUPERVISE_PARTS_H
#define SUPERVISE_SUPERVISE_PARTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "model/model.h"
#include "read/run.h"
#include "supervise/job.h"
#include "supervise/keeper.h"
#include "supervise/supervise.h"

/* What `stepscope run` says on standard error. A reader that does not read may hold up what is said
 * after the command has ended, but only until the supervisor is asked to end too; before that,
 * nothing waits. */

/* Before the command starts. Says nothing if the user wants quiet. */
void message_say(const struct supervision *wish, const char *format, ...) ATTR_PRINTF(2, 3);

/* Whether a short text would not block. */
bool message_has_room(void);

/* The same as message_say(), once the command has started. */
void message_tell(const struct supervision *wish, struct job *job, const char *format, ...)
    ATTR_PRINTF(3, 4);

/* Writes a text in pieces for which there is room, and releases it. */
void message_show(struct job *job, struct buf *text);

/* On a terminal a progress bar may be where a line of ours begins: it is erased, and goes on below
 * the line. */
void message_begin_line(struct buf *text);

/* Packs the run in the directory `path`; what was not packed stays as it is, and can be packed
 * later. If it would take longer than a fraction of a second, a process of its own does it, unless
 * `at_once`: that outlives this one, has no terminal, and takes only what no other needs of the
 * processor and the disk. Here it stops when `may_go_on` says so. */
void pack_up(const char *path, bool at_once, bool (*may_go_on)(void *context), void *context);

/* From here on this process takes only what no other needs of the processor and the disk. */
void step_back(void);

/* What windows of a framework's own profiler left in the run becomes a table (import/reduce.h),
 * while the command runs in a process of its own. */
struct windows {
    pid_t child; /* 0: there is none */
};
void windows_look(struct windows *windows, const char *dir, bool keep);
/* The command has ended: all of them, at once. */
void windows_end(struct windows *windows, const char *dir, bool keep);

/* Can the processes of the command reach the run directory? One that has given up its privileges
 * (setpriv, su, gosu) may not write there, and one in a chroot does not see it.
 *
 * Appends why the process or one of its children cannot record, or nothing. */
void reach_look(struct buf *out, pid_t pid);

/* Keeps a run within its budget of disk, whatever the number of its processes.
 *
 * The file of a process that has ended is trimmed: space that was allocated ahead and never used
 * goes back to the file system. If the run is still too large, the oldest such files are folded
 * (read/fold.h) once the live feed has read them: first those of processes that held no training
 * loop, but never the first ones and the newest ones of either kind. Files of processes that live
 * are granted what is left: at that size they give up their oldest records. */

struct run_budget {
    int dir; /* of the run; borrowed */
    uint64_t most_bytes;
    struct budget_file *files; /* by process of the run */
    size_t count, capacity;
    bool is_late; /* the last look had no time for some */
    bool is_over; /* and the run was larger than its budget */
};

/* The budget is STEPSCOPE_RUN_CAP, or 1 GiB. */
void run_budget_init(struct run_budget *budget, int dir);
void run_budget_release(struct run_budget *budget);

/* To be called when the run was refreshed; `model` has been fed from it. Grants processes that live
 * what they may still write. Takes 50 ms at most, but for one file. False: there is more to be
 * trimmed. */
bool run_budget_keep(struct run_budget *budget, struct ss_run *run, const struct model *model,
                     struct keeper *keeper);

#endif
