#include "diagnose/input_work.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "diagnose/hardware.h"
#include "render/units.h"
#include "stepscope/counters.h"
#include "summary/snapshot.h"

/* At this many bytes per second, reading is the work (ours). */
static const double bytes_matter = 1e6;

enum input_work {
    WORK_DISK,
    WORK_NETWORK,
    WORK_DECOMPRESSION,
    WORK_DECODING,
    WORK_AUGMENTATION,
    WORKS
};

static const struct {
    const char *what, *advice;
} works[WORKS] = {
    [WORK_DISK] =
        {"reading files",
         "read ahead in few large pieces, or keep the data in memory or on a faster disk"},
    [WORK_NETWORK] =
        {"reading from the network",
         "copy the data to a local disk before the training, or fetch several pieces at once"},
    [WORK_DECOMPRESSION] =
        {"decompression",
         "store the data uncompressed, or with a codec that is faster to read (lz4, zstd)"},
    [WORK_DECODING] =
        {"decoding",
         "store the data decoded or in the size that is trained on, or decode with a faster library"},
    [WORK_AUGMENTATION] = {
        "augmentation", "augment whole batches instead of samples, on the device if there is one"}};

/* Parts of the path of the innermost frame, the first that fits; functions where a file does
 * several. */
static const struct {
    const char *file, *function; /* NULL: any */
    enum input_work work;
} known[] = {{"/PIL/Image.py", "resize", WORK_AUGMENTATION},
             {"/PIL/Image.py", "crop", WORK_AUGMENTATION},
             {"/PIL/Image.py", "rotate", WORK_AUGMENTATION},
             {"/PIL/Image.py", "transpose", WORK_AUGMENTATION},
             {"/PIL/ImageEnhance.py", NULL, WORK_AUGMENTATION},
             {"/PIL/ImageOps.py", NULL, WORK_AUGMENTATION},
             {"/torchvision/transforms/", NULL, WORK_AUGMENTATION},
             {"/albumentations/", NULL, WORK_AUGMENTATION},
             {"/kornia/", NULL, WORK_AUGMENTATION},
             {"/imgaug/", NULL, WORK_AUGMENTATION},
             {"/monai/transforms/", NULL, WORK_AUGMENTATION},
             {"/layers/preprocessing/", NULL, WORK_AUGMENTATION},
             {"/gzip.py", NULL, WORK_DECOMPRESSION},
             {"/bz2.py", NULL, WORK_DECOMPRESSION},
             {"/lzma.py", NULL, WORK_DECOMPRESSION},
             {"/_compression.py", NULL, WORK_DECOMPRESSION},
             {"/zipfile", NULL, WORK_DECOMPRESSION},
             {"/zstandard/", NULL, WORK_DECOMPRESSION},
             {"/lz4/", NULL, WORK_DECOMPRESSION},
             {"/blosc", NULL, WORK_DECOMPRESSION},
             {"/socket.py", NULL, WORK_NETWORK},
             {"/ssl.py", NULL, WORK_NETWORK},
             {"/urllib", NULL, WORK_NETWORK},
             {"/http/client.py", NULL, WORK_NETWORK},
             {"/requests/", NULL, WORK_NETWORK},
             {"/aiohttp/", NULL, WORK_NETWORK},
             {"/botocore/", NULL, WORK_NETWORK},
             {"/s3fs/", NULL, WORK_NETWORK},
             {"/gcsfs/", NULL, WORK_NETWORK},
             {"/PIL/", NULL, WORK_DECODING},
             {"/imageio/", NULL, WORK_DECODING},
             {"/cv2/", NULL, WORK_DECODING},
             {"/torchvision/io/", NULL, WORK_DECODING},
             {"/torchaudio/", NULL, WORK_DECODING},
             {"/librosa/", NULL, WORK_DECODING},
             {"/decord/", NULL, WORK_DECODING},
             {"/json/", NULL, WORK_DECODING},
             {"/csv.py", NULL, WORK_DECODING},
             {"/tokeniz", NULL, WORK_DECODING},
             {"/numpy/lib/", "load", WORK_DISK},
             {"/numpy/lib/", "read_array", WORK_DISK},
             {"/numpy/lib/", "fromfile", WORK_DISK},
             {"/pathlib.py", NULL, WORK_DISK},
             {"/h5py/", NULL, WORK_DISK},
             {"/tarfile.py", NULL, WORK_DISK}};

static bool fits(size_t entry, const struct snap_hot_place *leaf)
{
    return strstr(leaf->file, known[entry].file) &&
           (!known[entry].function || strcmp(leaf->function, known[entry].function) == 0);
}

static enum input_work work_of(const struct snap_hot_place *leaf)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (fits(i, leaf))
            return known[i].work;
    return WORKS;
}

/* By samples; WORKS: none has a fifth of them for sure. */
static enum input_work find_by_samples(const struct diagnosis_input *input, uint32_t place,
                                       struct interval *share)
{
    const struct snap_hot *hot = &input->snapshot->hot;
    uint64_t count[WORKS + 1] = {0};
    enum input_work most = WORK_DISK;

    for (size_t i = 0; i < hot->line_count; i++)
        if (hot->lines[i].place == place)
            count[work_of(&hot->lines[i].leaf)] += hot->lines[i].leaf_count;
    for (int work = 0; work < WORKS; work++)
        most = count[work] > count[most] ? (enum input_work)work : most;
    *share = snapshot_share(count[most], hot->place_samples[place]);
    return share->low >= line_share ? most : WORKS;
}

static double per_s(const struct diagnosis_input *input, unsigned counter)
{
    const struct snap_resource *row = snapshot_value(input->snapshot, counter, SNAP_ANY);

    return row && isfinite(row->mean) ? row->mean : 0;
}

/* A thread that waits does so for the disk if the kernel says that, or tasks of the machine do and
 * the command reads; for the network if much comes in. */
static enum input_work find_by_waits(const struct diagnosis_input *input)
{
    const uint64_t *seen = input->snapshot->resources.states[SS_STAGE_DATA];
    const uint64_t all = seen[0] + seen[1] + seen[2];
    const double read = per_s(input, SS_COUNTER_ID_TREE_READ);

    if (all >= LOOKS_NEEDED &&
        snapshot_share(seen[SS_THREAD_WAITS_FOR_DISK], all).low >= line_share)
        return WORK_DISK;
    if (read >= bytes_matter && per_s(input, SS_COUNTER_ID_PSI_IO) / 1e9 >= io_limits.warn)
        return WORK_DISK;
    if (cause_works(input, SS_STAGE_DATA) < mostly_waiting &&
        per_s(input, SS_COUNTER_ID_NET_RECEIVED) >= bytes_matter && read < bytes_matter)
        return WORK_NETWORK;
    return WORKS;
}

static void say_bytes(struct finding *finding, const struct diagnosis_input *input,
                      enum input_work work)
{
    char rate[UNITS_SIZE];
    const double bytes =
        per_s(input, work == WORK_NETWORK ? SS_COUNTER_ID_NET_RECEIVED : SS_COUNTER_ID_TREE_READ);
    const double pressure = per_s(input, SS_COUNTER_ID_PSI_IO) / 1e9;

    if (work == WORK_DISK && pressure >= io_limits.warn)
        cause_more(finding->evidence, "; I/O pressure %.0f %% of the time",
                   100 * fmin(1, pressure));
    if ((work == WORK_DISK || work == WORK_NETWORK) && bytes >= bytes_matter)
        cause_more(finding->evidence, ", %s %s per second", units_bytes(rate, (uint64_t)bytes),
                   work == WORK_NETWORK ? "received" : "read");
}

void input_say_work(struct finding *finding, const struct diagnosis_input *input, uint32_t place)
{
    struct interval share;
    const enum input_work sampled = find_by_samples(input, place, &share);
    const enum input_work work = sampled < WORKS ? sampled : find_by_waits(input);

    if (work == WORKS)
        return;
    if (sampled < WORKS)
        cause_more(finding->evidence, "; %s%.0f %% of the time goes into %s",
                   place == SNAP_HOT_MAKING ? "in workers " : "", 100 * share.mid,
                   works[work].what);
    else
        cause_more(finding->evidence, "; the wait is for %s", works[work].what);
    say_bytes(finding, input, work);
    cause_more(finding->advice, "; %s", works[work].advice);
}
