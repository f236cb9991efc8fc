#include "pack/columns.h"

#include <stdlib.h>
#include <string.h>

#include "pack/prediction.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "runs are little-endian and packed as they are");

enum { RECORDS_MOST = SS_SEGMENT_BYTES / SS_UNIT, WORD = 8, FIRST_BODY = 8 };

struct columns {
    struct prediction prediction;
    uint64_t number[SS_COLUMN_COUNT][RECORDS_MOST];
    size_t count[SS_COLUMN_COUNT];
    uint8_t heads[RECORDS_MOST * WORD];
    size_t records;
    uint8_t rest[SS_SEGMENT_BYTES]; /* what is in no column, in the order of the segment */
    size_t rest_size;
    uint8_t content[SS_PACKED_CONTENT_MOST];
};

struct columns *columns_new(void)
{
    return calloc(1, sizeof(struct columns));
}

void columns_free(struct columns *columns)
{
    free(columns);
}

/* What the words after a head are. */
enum body { BODY_TEXT, BODY_WINDOW, BODY_POINT };

static const uint8_t bodies[256] = {
    [SS_KIND_SPAN] = BODY_WINDOW,       [SS_KIND_PERTURBED] = BODY_WINDOW,
    [SS_KIND_LOST] = BODY_WINDOW,       [SS_KIND_STEP] = BODY_POINT,
    [SS_KIND_LOOP_BEGIN] = BODY_POINT,  [SS_KIND_LOOP_END] = BODY_POINT,
    [SS_KIND_EPOCH_BEGIN] = BODY_POINT, [SS_KIND_EPOCH_END] = BODY_POINT,
    [SS_KIND_COUNTER] = BODY_POINT,     [SS_KIND_MARK] = BODY_POINT,
    [SS_KIND_PLAN] = BODY_POINT,        [SS_KIND_CALIBRATION] = BODY_POINT,
    [SS_KIND_SAMPLE] = BODY_POINT,      [SS_KIND_HOOK] = BODY_POINT,
    [SS_KIND_SYSTEM] = BODY_POINT,      [SS_KIND_THREAD_BEGIN] = BODY_POINT,
    [SS_KIND_THREAD_END] = BODY_POINT,
};

/* Where records are: [start, end) of region `i`. */
struct region {
    size_t start, end;
};

static unsigned regions_of(enum ss_packed_form form)
{
    return form == SS_PACKED_DIRECTORY ? SS_BLOCKS_PER_SEGMENT : 1;
}

static struct region region_at(enum ss_packed_form form, unsigned i)
{
    if (form == SS_PACKED_RECORDS)
        return (struct region){SS_SEGMENT_HEADER_BYTES, SS_SEGMENT_BYTES};
    const size_t block = (size_t)(i + 1) * SS_BLOCK_BYTES;
    return (struct region){block + SS_INLINE_OFFSET, block + SS_BLOCK_BYTES};
}

static uint64_t load(const uint8_t *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof word);
    return word;
}

static void store(uint8_t *at, uint64_t word)
{
    memcpy(at, &word, sizeof word);
}

static uint64_t fold_sign(uint64_t number)
{
    return number << 1 ^ (0 - (number >> 63));
}

static uint64_t unfold_sign(uint64_t number)
{
    return number >> 1 ^ (0 - (number & 1));
}

enum ss_packed_form columns_form(const uint8_t *segment, size_t size)
{
    struct ss_segment_header header;

    if (size != SS_SEGMENT_BYTES)
        return SS_PACKED_PLAIN;
    if (memcmp(segment, SS_FILE_MAGIC, sizeof SS_FILE_MAGIC - 1) == 0)
        return SS_PACKED_DIRECTORY;
    memcpy(&header, segment, sizeof header);
    if (header.magic != SS_SEGMENT_MAGIC)
        return SS_PACKED_PLAIN;
    if (header.kind == SS_SEGMENT_DIRECTORY)
        return SS_PACKED_DIRECTORY;
    return header.kind == SS_SEGMENT_RECORDS ? SS_PACKED_RECORDS : SS_PACKED_PLAIN;
}

/* --- To columns --- */

static void put(struct columns *columns, enum ss_packed_column column, uint64_t number)
{
    columns->number[column][columns->count[column]++] = number;
}

static void keep(struct columns *columns, const uint8_t *bytes, size_t size)
{
    memcpy(columns->rest + columns->rest_size, bytes, size);
    columns->rest_size += size;
}

static void take_window(struct columns *columns, const uint8_t *record)
{
    const uint64_t start = load(record + 8), end = load(record + 16);
    const struct window_origin origin = prediction_window(&columns->prediction, record);

    put(columns, SS_COLUMN_GAP, origin.of_child ? origin.start - start : start - origin.start);
    put(columns, SS_COLUMN_LENGTH, origin.of_child ? end - origin.end : end - start);
    put(columns, SS_COLUMN_ARGUMENT, fold_sign(load(record + 24)));
    prediction_note_window(&columns->prediction, record, start, end);
}

static void take_point(struct columns *columns, const uint8_t *record)
{
    const uint64_t ticks = load(record + 8), value = load(record + 16), subject = load(record + 24);
    uint64_t *const last = prediction_value(&columns->prediction, load(record), subject);

    put(columns, SS_COLUMN_TICKS, fold_sign(ticks - columns->prediction.ticks));
    put(columns, SS_COLUMN_VALUE, fold_sign(value - *last));
    put(columns, SS_COLUMN_SUBJECT, subject);
    columns->prediction.ticks = ticks;
    *last = value;
}

static size_t take_record(struct columns *columns, const uint8_t *record)
{
    const size_t bytes = (size_t)record[1] * SS_UNIT;
    size_t done = SS_UNIT;

    memcpy(columns->heads + columns->records++ * WORD, record, WORD);
    if (bodies[record[0]] == BODY_WINDOW)
        take_window(columns, record);
    else if (bodies[record[0]] == BODY_POINT)
        take_point(columns, record);
    else
        done = FIRST_BODY;
    keep(columns, record + done, bytes - done);
    return bytes;
}

static bool is_record(const uint8_t *at, size_t room)
{
    return at[0] != 0 && at[1] != 0 && (size_t)at[1] * SS_UNIT <= room;
}

/* Ticks of the first record that has any. */
static uint64_t find_base(const uint8_t *segment, enum ss_packed_form form)
{
    for (unsigned i = 0; i < regions_of(form); i++) {
        const struct region region = region_at(form, i);
        size_t at = region.start;
        while (at < region.end && is_record(segment + at, region.end - at)) {
            if (bodies[segment[at]] != BODY_TEXT)
                return load(segment + at + 8);
            at += (size_t)segment[at + 1] * SS_UNIT;
        }
    }
    return 0;
}

static void take_segment(struct columns *columns, enum ss_packed_form form, const uint8_t *segment,
                         struct ss_packed_columns *header)
{
    size_t done = 0;

    for (unsigned i = 0; i < regions_of(form); i++) {
        const struct region region = region_at(form, i);
        size_t at = region.start;
        keep(columns, segment + done, region.start - done);
        prediction_begin(&columns->prediction, header->base);
        while (at < region.end && is_record(segment + at, region.end - at)) {
            at += take_record(columns, segment + at);
            header->records[i]++;
        }
        done = at;
    }
    keep(columns, segment + done, SS_SEGMENT_BYTES - done);
    while (columns->rest_size > 0 && columns->rest[columns->rest_size - 1] == 0)
        columns->rest_size--;
}

static void divide(struct columns *columns, enum ss_packed_column column, uint32_t unit)
{
    const enum ss_packed_column rest = column + (SS_COLUMN_GAP_REST - SS_COLUMN_GAP);
    uint64_t *const number = columns->number[column];

    columns->count[rest] = columns->count[column];
    for (size_t i = 0; i < columns->count[column]; i++) {
        int64_t part = (int64_t)number[i] / unit;
        int64_t left = (int64_t)number[i] % unit;
        if (left < 0) {
            part--;
            left += unit;
        }
        number[i] = fold_sign((uint64_t)part);
        columns->number[rest][i] = (uint64_t)left;
    }
}

static uint8_t planes_of(const uint64_t *number, size_t count)
{
    uint64_t all = 0;
    uint8_t planes = 0;

    for (size_t i = 0; i < count; i++)
        all |= number[i];
    for (; all; all >>= 8)
        planes++;
    return planes;
}

static void cut(struct column_content *content)
{
    if (content->cuts == 0 || content->cut[content->cuts - 1] != content->size)
        content->cut[content->cuts++] = content->size;
}

static void add(struct columns *columns, struct column_content *content, const void *bytes,
                size_t size)
{
    memcpy(columns->content + content->size, bytes, size);
    content->size += size;
    cut(content);
}

static void add_plane(struct columns *columns, struct column_content *content,
                      enum ss_packed_column column, unsigned plane)
{
    const uint64_t *const number = columns->number[column];

    for (size_t i = 0; i < columns->count[column]; i++)
        columns->content[content->size++] = (uint8_t)(number[i] >> 8 * plane);
    cut(content);
}

bool columns_make(struct columns *columns, enum ss_packed_form form, const uint8_t *segment,
                  struct column_content *content)
{
    struct ss_packed_columns header = {.base = find_base(segment, form)};
    size_t size = sizeof header;

    memset(columns->count, 0, sizeof columns->count);
    columns->records = columns->rest_size = 0;
    prediction_clear(&columns->prediction);
    take_segment(columns, form, segment, &header);
    header.unit = tick_unit_find(columns->number[SS_COLUMN_GAP], columns->number[SS_COLUMN_LENGTH],
                                 columns->count[SS_COLUMN_GAP]);
    divide(columns, SS_COLUMN_GAP, header.unit);
    divide(columns, SS_COLUMN_LENGTH, header.unit);
    for (unsigned c = 0; c < SS_COLUMN_COUNT; c++) {
        header.planes[c] = planes_of(columns->number[c], columns->count[c]);
        size += header.planes[c] * columns->count[c];
    }
    size += columns->records * WORD + columns->rest_size;
    if (size > sizeof columns->content)
        return false;
    *content = (struct column_content){.bytes = columns->content};
    add(columns, content, &header, sizeof header);
    add(columns, content, columns->heads, columns->records * WORD);
    for (unsigned c = 0; c < SS_COLUMN_COUNT; c++)
        for (unsigned plane = 0; plane < header.planes[c]; plane++)
            add_plane(columns, content, c, plane);
    add(columns, content, columns->rest, columns->rest_size);
    return true;
}

/* --- And back --- */

/* The rest goes on as zeros. */
struct rest {
    const uint8_t *at;
    size_t size;
};

static void give(struct rest *rest, uint8_t *out, size_t size)
{
    const size_t there = size < rest->size ? size : rest->size;

    memcpy(out, rest->at, there);
    memset(out + there, 0, size - there);
    rest->at += there;
    rest->size -= there;
}

/* Reads the numbers of a column; `left` are the bytes from `at` on. NULL: there are too few. */
static const uint8_t *read_column(struct columns *columns, enum ss_packed_column column,
                                  unsigned planes, const uint8_t *at, size_t left)
{
    const size_t count = columns->count[column];
    uint64_t *const number = columns->number[column];

    if (planes > WORD || planes * count > left)
        return NULL;
    memset(number, 0, count * sizeof *number);
    for (unsigned plane = 0; plane < planes; plane++, at += count)
        for (size_t i = 0; i < count; i++)
            number[i] |= (uint64_t)at[i] << 8 * plane;
    return at;
}

/* How many numbers each column has follows from the heads. */
static void count_numbers(struct columns *columns, const uint8_t *heads)
{
    size_t count[3] = {0};

    for (size_t i = 0; i < columns->records; i++)
        count[bodies[heads[i * WORD]]]++;
    for (unsigned c = 0; c < SS_COLUMN_COUNT; c++)
        columns->count[c] = count[c < SS_COLUMN_TICKS ? BODY_WINDOW : BODY_POINT];
}

/* All columns, with gaps and lengths in ticks again. What is left is the rest. */
static bool read_columns(struct columns *columns, const struct ss_packed_columns *header,
                         const uint8_t *at, const uint8_t *end, struct rest *rest)
{
    for (unsigned c = 0; c < SS_COLUMN_COUNT; c++) {
        at = read_column(columns, c, header->planes[c], at, (size_t)(end - at));
        if (!at)
            return false;
    }
    for (size_t i = 0; i < columns->count[SS_COLUMN_GAP]; i++) {
        uint64_t *const gap = &columns->number[SS_COLUMN_GAP][i];
        uint64_t *const length = &columns->number[SS_COLUMN_LENGTH][i];
        *gap = unfold_sign(*gap) * header->unit + columns->number[SS_COLUMN_GAP_REST][i];
        *length = unfold_sign(*length) * header->unit + columns->number[SS_COLUMN_LENGTH_REST][i];
    }
    *rest = (struct rest){at, (size_t)(end - at)};
    return true;
}

static void give_window(struct columns *columns, size_t i, uint8_t *record)
{
    const uint64_t gap = columns->number[SS_COLUMN_GAP][i];
    const uint64_t length = columns->number[SS_COLUMN_LENGTH][i];
    const struct window_origin origin = prediction_window(&columns->prediction, record);
    const uint64_t start = origin.of_child ? origin.start - gap : origin.start + gap;
    const uint64_t end = (origin.of_child ? origin.end : start) + length;

    store(record + 8, start);
    store(record + 16, end);
    store(record + 24, unfold_sign(columns->number[SS_COLUMN_ARGUMENT][i]));
    prediction_note_window(&columns->prediction, record, start, end);
}

static void give_point(struct columns *columns, size_t i, uint8_t *record)
{
    const uint64_t subject = columns->number[SS_COLUMN_SUBJECT][i];
    uint64_t *const last = prediction_value(&columns->prediction, load(record), subject);

    columns->prediction.ticks += unfold_sign(columns->number[SS_COLUMN_TICKS][i]);
    *last += unfold_sign(columns->number[SS_COLUMN_VALUE][i]);
    store(record + 8, columns->prediction.ticks);
    store(record + 16, *last);
    store(record + 24, subject);
}

struct place {
    size_t windows, points; /* that were given */
    struct rest rest;
};

/* The bytes of the record; 0: it does not fit. */
static size_t give_record(struct columns *columns, struct place *place, const uint8_t *head,
                          uint8_t *record, size_t room)
{
    const size_t bytes = (size_t)head[1] * SS_UNIT;
    size_t done = SS_UNIT;

    if (bytes == 0 || bytes > room)
        return 0;
    memcpy(record, head, WORD);
    if (bodies[head[0]] == BODY_WINDOW)
        give_window(columns, place->windows++, record);
    else if (bodies[head[0]] == BODY_POINT)
        give_point(columns, place->points++, record);
    else
        done = FIRST_BODY;
    give(&place->rest, record + done, bytes - done);
    return bytes;
}

static bool give_segment(struct columns *columns, enum ss_packed_form form,
                         const struct ss_packed_columns *header, const uint8_t *heads,
                         struct place *place, uint8_t *segment)
{
    size_t done = 0;

    for (unsigned i = 0; i < regions_of(form); i++) {
        const struct region region = region_at(form, i);
        give(&place->rest, segment + done, region.start - done);
        prediction_begin(&columns->prediction, header->base);
        done = region.start;
        for (unsigned n = 0; n < header->records[i]; n++, heads += WORD) {
            const size_t bytes =
                give_record(columns, place, heads, segment + done, region.end - done);
            if (bytes == 0)
                return false;
            done += bytes;
        }
    }
    give(&place->rest, segment + done, SS_SEGMENT_BYTES - done);
    return place->rest.size == 0;
}

bool columns_undo(struct columns *columns, enum ss_packed_form form, const uint8_t *content,
                  size_t size, uint8_t *segment)
{
    struct ss_packed_columns header;
    struct place place = {0};

    if (size < sizeof header)
        return false;
    memcpy(&header, content, sizeof header);
    columns->records = 0;
    for (unsigned i = 0; i < regions_of(form); i++)
        columns->records += header.records[i];
    const uint8_t *const heads = content + sizeof header;
    if (columns->records > RECORDS_MOST || columns->records * WORD > size - sizeof header)
        return false;
    count_numbers(columns, heads);
    prediction_clear(&columns->prediction);
    return read_columns(columns, &header, heads + columns->records * WORD, content + size,
                        &place.rest) &&
           give_segment(columns, form, &header, heads, &place, segment);
}
