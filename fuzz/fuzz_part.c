/* Fuzzes the parts of a job: any bytes are a part or are refused; one that is read is written again
 * as it was, and can be compared. */
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "job/job_view.h"
#include "job/part.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* With the right checksum, or no content would ever be read. */
static void mend(uint8_t *bytes, size_t size)
{
    const uint64_t payload = size - PART_HEAD;
    const uint32_t sum = (memcpy(bytes + 32, &payload, 8), crc32c(bytes + 16, size - 16));

    memcpy(bytes + 12, &sum, sizeof sum);
}

static void compare(const struct job_part *part)
{
    struct job_view view = {0};

    if (job_view_add(&view, part) != 0 || job_view_finish(&view, NULL) != 0)
        abort();
    if (view.rank_count != part->rank_count)
        abort();
    job_view_release(&view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(size + 1); /* its own, so that reading beyond it shows */
    struct buf again = {0};
    struct job_part part;

    if (!bytes)
        abort();
    memcpy(bytes, data, size);
    if (size >= PART_HEAD)
        mend(bytes, size);
    if (part_read(&part, bytes, size, NULL) == 0) {
        compare(&part);
        part_write(&again, &part);
        if (again.failed)
            abort();
    }
    part_release(&part);
    buf_release(&again);
    free(bytes);
    return 0;
}
