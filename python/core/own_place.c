#include "own_place.h"

#include <stdlib.h>

#include "record/notes.h"
#include "supervise/carry.h"

static struct place place;

static bool go_on(void *unused)
{
    (void)unused;
    return true;
}

int own_place_start(const struct place_wish *wish, struct ss_error *error)
{
    struct place fresh;
    int failed = place_make(&fresh, wish, error);

    if (!failed) {
        const struct ss_options options = {place_dir(&fresh), -1, 0, 0};
        failed = ss_start(&options);
        if (failed)
            place_remove(&fresh);
    }
    if (failed) {
        place_release(&fresh);
        return failed;
    }
    place_publish(&fresh);
    place_release(&place);
    place = fresh;
    return 0;
}

void own_place_stop(void)
{
    struct ss_error error;

    ss_stop();
    if (!place.local || carry_home(place.local, place.home, go_on, NULL, &error) != 0)
        return;
    carry_remove(place.local);
    free(place.local);
    place.local = NULL;
}

const char *own_place_dir(void)
{
    const char *joined = notes_recording() ? secure_getenv("STEPSCOPE_RUN") : NULL;

    return place.home ? place_dir(&place) : joined;
}
