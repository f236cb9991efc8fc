/* Writes the first inputs of fuzz_reader: the runs of tests/support/damage.c and the golden runs'
 * like, as descriptions. `make_corpus DIRECTORY`; only needed when the format changes. */
#include <stdio.h>
#include <string.h>

#include "support/damage.h"

enum { PLACE_UNIT = 32, PIECE_BYTES = 255 / 4 * 32 };

static bool is_zero(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i])
            return false;
    return true;
}

/* One piece for each row of units that are not zero. */
static void describe(FILE *out, const uint8_t *bytes, size_t size)
{
    size_t at = 0;

    while (at < size) {
        size_t end = at;
        while (end + PLACE_UNIT <= size && end - at < PIECE_BYTES &&
               !is_zero(bytes + end, PLACE_UNIT))
            end += PLACE_UNIT;
        if (end > at) {
            const size_t place = at / PLACE_UNIT;
            const uint8_t piece[3] = {(uint8_t)place, (uint8_t)(place >> 8),
                                      (uint8_t)((end - at) / 8)};
            fwrite(piece, sizeof piece, 1, out);
            fwrite(bytes + at, end - at, 1, out);
        }
        at = end > at ? end : at + PLACE_UNIT;
    }
}

int main(int argc, char **argv)
{
    for (unsigned i = 0; argc == 2 && i < DAMAGE_RUNS; i++) {
        struct synth *const synth = damage_run(i);
        char path[4096];
        snprintf(path, sizeof path, "%s/run-%u", argv[1], i);
        FILE *const out = fopen(path, "wb");
        if (!out) {
            perror(path);
            return 1;
        }
        fputc(1, out);
        describe(out, synth_bytes(synth), synth_size(synth));
        fclose(out);
        synth_free(synth);
    }
    return argc == 2 ? 0 : 2;
}
