#include <unistd.h>

#include "attach.h"
#include "control.h"
#include "run_dir.h"
#include "session.h"
#include "system.h"

/* What the environment and the options said comes first. */
void session_fill_rank(struct ss_file_header *header, const struct run_settings *settings,
                       const struct told_rank *told)
{
    const bool is_set = settings->rank >= 0;
    header->world = (uint32_t)(is_set || settings->world > 0 ? settings->world : told->world);
    header->rank = is_set ? settings->rank : told->rank;
}

static void fill_header(struct session *session, const struct run_settings *settings,
                        const struct told_rank *told)
{
    struct ss_file_header *header = session->store.header;
    header->version = SS_FORMAT_VERSION;
    header->min_reader = SS_FORMAT_MIN_READER;
    header->segment_bytes = SS_SEGMENT_BYTES;
    header->block_bytes = SS_BLOCK_BYTES;
    header->inline_offset = SS_INLINE_OFFSET;
    header->clock = (uint8_t)session->clock;
    header->pid = (uint32_t)getpid();
    header->parent_pid = (uint32_t)getppid();
    header->process_start = system_process_start();
    system_boot_id(header->boot_id);
    system_random(header->file_id, sizeof header->file_id);
    session_fill_rank(header, settings, told);
    header->cap_bytes = (uint64_t)session->store.cap * SS_SEGMENT_BYTES;
    header->start_ticks = session->first.ticks;
    header->start_raw_ns = session->first.raw_ns;
    header->start_realtime_ns = session->first.realtime_ns;
    header->state = SS_FILE_OPEN;
}

static void put_info(void *session, const char *key, const char *value)
{
    control_put_info(session, key, value);
}

int session_open(struct session *session, const struct run_settings *settings,
                 const struct told_rank *told)
{
    session->clock = ticks_choose();
    session->users = 1;
    session->names_written = 1;
    ticks_read_pair(session->clock, CALIBRATION_TRIES, &session->first);
    int error = store_open(&session->store, settings->dir, settings->cap_bytes);
    if (error)
        return error;
    fill_header(session, settings, told);
    struct lane *control = attach_new_lane(session);
    if (!control) {
        if (session->store.fd >= 0)
            unlink(session->store.path);
        store_release(&session->store);
        return SS_E_NOMEM;
    }
    pen_take_up(&session->control, control);
    run_dir_describe(put_info, session);
    control_put_names(session);
    struct ticks_pair second;
    ticks_read_pair(session->clock, CALIBRATION_TRIES, &second);
    session->ticks_per_s =
        session->clock == SS_CLOCK_RAW ? 1000000000u : ticks_per_second(&session->first, &second);
    session->store.header->ticks_per_s = session->ticks_per_s;
    session->next_calibration_ns = session->first.raw_ns + 1000000;
    store_publish(&session->store);
    return SS_E_OK;
}
