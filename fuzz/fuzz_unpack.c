/* Fuzzes what reads packed files, behind zstd: its checksum would keep nearly all changes out.
 *
 * The first byte is the form of a segment, the rest the content of its block. A segment that comes
 * out must become columns and come back again, and the reader takes whatever it is. */
#include <stdlib.h>
#include <string.h>

#include "pack/columns.h"
#include "support/exercise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool condition)
{
    if (!condition)
        abort();
}

static void pack_again(struct columns *columns, enum ss_packed_form form, const uint8_t *segment)
{
    static uint8_t content[SS_PACKED_CONTENT_MOST], again[SS_SEGMENT_BYTES];
    struct column_content made;

    if (!columns_make(columns, form, segment, &made))
        return;
    memcpy(content, made.bytes, made.size);
    expect(columns_undo(columns, form, content, made.size, again));
    expect(memcmp(again, segment, sizeof again) == 0);
}

/* A file of two segments: a directory, then this one. */
static void read_it(const uint8_t *segment)
{
    const struct ss_file_header header = {.magic = SS_FILE_MAGIC,
                                          .version = SS_FORMAT_VERSION,
                                          .min_reader = SS_FORMAT_MIN_READER,
                                          .segment_bytes = SS_SEGMENT_BYTES,
                                          .block_bytes = SS_BLOCK_BYTES,
                                          .inline_offset = SS_INLINE_OFFSET,
                                          .ticks_per_s = 1000000000,
                                          .clock = SS_CLOCK_TSC,
                                          .state = SS_FILE_EXITED};
    uint8_t *const file = calloc(2, SS_SEGMENT_BYTES);

    expect(file);
    memcpy(file, &header, sizeof header);
    memcpy(file + SS_SEGMENT_BYTES, segment, SS_SEGMENT_BYTES);
    const struct ss_blob blob = {"a.ssp", file, 2 * SS_SEGMENT_BYTES};
    exercise_files(&blob, 1);
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t segment[SS_SEGMENT_BYTES];
    struct columns *const columns = columns_new();

    expect(columns);
    if (size > 0) {
        const enum ss_packed_form form = data[0] % 2 ? SS_PACKED_RECORDS : SS_PACKED_DIRECTORY;
        if (columns_undo(columns, form, data + 1, size - 1, segment)) {
            pack_again(columns, form, segment);
            read_it(segment);
        }
    }
    columns_free(columns);
    return 0;
}
