/* Fuzzes the reader with the files of a run.
 *
 * The first byte says what the rest is:
 *   0  the bytes of one process file
 *   1  a description of one: its header is given, the rest is zero but for pieces, each
 *      with u16 place in units of 32 bytes, u8 length in units of 8, then its bytes
 *   2  two descriptions, the first as long as the next u16 says
 *   3  a manifest, beside a file with nothing in it
 * Descriptions are small where files are large and empty, so that most changes hit
 * something. */
#include <stdlib.h>
#include <string.h>

#include "support/exercise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { IMAGE_BYTES = 5 * SS_SEGMENT_BYTES, PLACE_UNIT = 32, LENGTH_UNIT = 8 };

struct image {
    uint8_t *bytes;
    size_t size;
};

static void put_header(struct image *image)
{
    const struct ss_file_header header = {.version = SS_FORMAT_VERSION,
                                          .min_reader = SS_FORMAT_MIN_READER,
                                          .segment_bytes = SS_SEGMENT_BYTES,
                                          .block_bytes = SS_BLOCK_BYTES,
                                          .inline_offset = SS_INLINE_OFFSET,
                                          .start_ticks = 1000,
                                          .start_raw_ns = 1000,
                                          .ticks_per_s = 1000000000,
                                          .clock = SS_CLOCK_TSC,
                                          .state = SS_FILE_OPEN};

    memcpy(image->bytes, &header, sizeof header);
    memcpy(image->bytes + offsetof(struct ss_file_header, magic), SS_FILE_MAGIC,
           sizeof header.magic);
    image->size = sizeof header;
}

/* The image ends with its last piece, so that files of every length come up. */
static struct image make_image(const uint8_t *data, size_t size)
{
    struct image image = {calloc(1, IMAGE_BYTES), 0};

    if (!image.bytes)
        abort();
    put_header(&image);
    while (size >= 3) {
        const size_t place = (size_t)(data[0] | data[1] << 8) * PLACE_UNIT;
        size_t length = (size_t)data[2] * LENGTH_UNIT;
        data += 3;
        size -= 3;
        if (length > size)
            length = size;
        if (place + length <= IMAGE_BYTES) {
            memcpy(image.bytes + place, data, length);
            if (image.size < place + length)
                image.size = place + length;
        }
        data += length;
        size -= length;
    }
    uint8_t *const exact = realloc(image.bytes, image.size);
    if (exact)
        image.bytes = exact;
    return image;
}

static void read_images(const uint8_t *data, size_t size, size_t first)
{
    const struct image a = make_image(data, first);
    const struct image b = make_image(data + first, size - first);
    const struct ss_blob blobs[] = {{"a.ssp", a.bytes, a.size}, {"b.ssp", b.bytes, b.size}};

    exercise_files(blobs, first < size ? 2 : 1);
    free(a.bytes);
    free(b.bytes);
}

static void read_manifest(const uint8_t *data, size_t size)
{
    const struct image image = make_image(NULL, 0);
    const struct ss_blob blobs[] = {{"manifest", data, size}, {"a.ssp", image.bytes, image.size}};

    exercise_files(blobs, 2);
    free(image.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const unsigned what = data[0] % 4;
    data++;
    size--;
    if (what == 0) {
        const struct ss_blob blob = {"a.ssp", data, size};
        exercise_files(&blob, 1);
    } else if (what == 1) {
        read_images(data, size, size);
    } else if (what == 3) {
        read_manifest(data, size);
    } else if (size >= 2) {
        const size_t first = (size_t)(data[0] | data[1] << 8) % (size - 1);
        read_images(data + 2, size - 2, first);
    }
    return 0;
}
