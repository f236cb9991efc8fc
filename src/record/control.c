#include "control.h"

#include "names.h"
#include "session.h"

static void count_lost(struct session *session)
{
    session->store.header->lost_names++;
}

void control_put_info(struct session *session, const char *key, const char *value)
{
    struct ss_rec_name info = {.head = {.kind = SS_KIND_INFO}};
    if (value[0] && !pen_put_text(&session->control, &info, key, value))
        count_lost(session);
}

void control_put_calibration(struct session *session, const struct ticks_pair *pair)
{
    struct ss_rec_calibration record = {.head = {.kind = SS_KIND_CALIBRATION},
                                        .ticks = pair->ticks,
                                        .raw_ns = pair->raw_ns,
                                        .realtime_ns = pair->realtime_ns,
                                        .bracket_ticks = pair->bracket_ticks};
    if (!pen_put(&session->control, &record, 2))
        count_lost(session);
}

bool control_put_frame(struct session *session, const struct ss_rec_frame *frame,
                       const char *function, const char *file)
{
    struct ss_rec_frame record = *frame;
    record.head = (struct ss_head){.kind = SS_KIND_FRAME};
    return pen_put_text(&session->control, &record, function, file);
}

void control_put_names(struct session *session)
{
    session->store.header->lost_names += names_refused() - session->names_refused;
    session->names_refused = names_refused();
    for (; session->names_written < names_count(); session->names_written++) {
        const struct name *name = names_get(session->names_written);
        struct ss_rec_name record = {.head = {.kind = SS_KIND_NAME},
                                     .stage = name->stage,
                                     .role = name->role,
                                     .scope = name->scope};
        record.head.name = (uint16_t)session->names_written;
        if (!pen_put_text(&session->control, &record, name->text, name->object)) {
            if (session->names_written >= session->names_missed) {
                session->names_missed = session->names_written + 1;
                count_lost(session);
            }
            return;
        }
    }
}
