/* Segments of every sort become columns and come back; content of every sort is refused or gives a
 * segment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pack/columns.h"
#include "pack/prediction.h"

enum { ROUNDS = 300, FRAME = 40 /* of struct ss_packed_columns */ };

static uint64_t state;

static uint64_t draw(void)
{
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void put(uint8_t *at, uint64_t word)
{
    memcpy(at, &word, sizeof word);
}

/* Nested spans of a clock that counts in steps of `unit`, as in a training loop. */
static void fill_with_spans(uint8_t *segment, uint64_t unit)
{
    uint64_t now = 1u << 30;
    const struct ss_segment_header header = {
        SS_SEGMENT_MAGIC, SS_SEGMENT_RECORDS, 1, 1, 1, now, {0}};

    memset(segment, 0, SS_SEGMENT_BYTES);
    memcpy(segment, &header, sizeof header);
    for (size_t at = SS_SEGMENT_HEADER_BYTES, n = 0; at < SS_SEGMENT_BYTES; at += SS_UNIT, n++) {
        const struct ss_head head = {SS_KIND_SPAN, 1, (uint16_t)(n % 6), 0, n % 6 != 5, 0};
        const uint64_t start = n % 6 == 5 ? now - 5000 * unit : now + (1 + draw() % 4) * unit;
        now += (100 + draw() % 900) * unit;
        memcpy(segment + at, &head, sizeof head);
        put(segment + at + 8, start);
        put(segment + at + 16, now);
    }
}

/* Anything that looks like records, and sometimes not even that. */
static void fill_with_anything(uint8_t *segment, uint32_t kind)
{
    const uint32_t words[] = {SS_SEGMENT_MAGIC, kind};

    for (size_t at = 0; at < SS_SEGMENT_BYTES; at += 8)
        put(segment + at, draw() % 4 ? draw() >> draw() % 64 : 0);
    memcpy(segment, words, sizeof words);
    for (size_t at = SS_SEGMENT_HEADER_BYTES; at < SS_SEGMENT_BYTES;) {
        const size_t units = 1 + draw() % (draw() % 8 ? 2 : 40);
        segment[at] = (uint8_t)(draw() % 24);
        segment[at + 1] = (uint8_t)units;
        at += units * SS_UNIT;
    }
}

static void comes_back(struct columns *columns, const uint8_t *segment)
{
    static uint8_t again[SS_SEGMENT_BYTES];
    const enum ss_packed_form form = columns_form(segment, SS_SEGMENT_BYTES);
    struct column_content content;

    assert_int_not_equal(form, SS_PACKED_PLAIN);
    if (!columns_make(columns, form, segment, &content))
        return;
    uint8_t *const bytes = malloc(content.size); /* its own, so that reading beyond it shows */
    assert_non_null(bytes);
    memcpy(bytes, content.bytes, content.size);
    assert_true(content.cuts <= COLUMN_CUTS_MOST);
    assert_int_equal(content.cut[content.cuts - 1], content.size);
    memset(again, 0xa5, sizeof again);
    assert_true(columns_undo(columns, form, bytes, content.size, again));
    assert_memory_equal(again, segment, sizeof again);
    free(bytes);
}

static void every_segment_comes_back(void **context)
{
    static uint8_t segment[SS_SEGMENT_BYTES];
    struct columns *const columns = columns_new();

    (void)context;
    assert_non_null(columns);
    for (int i = 0; i < ROUNDS; i++) {
        fill_with_anything(segment, i % 2 ? SS_SEGMENT_RECORDS : SS_SEGMENT_DIRECTORY);
        comes_back(columns, segment);
        fill_with_spans(segment, 1 + draw() % 40);
        const size_t unit = SS_SEGMENT_HEADER_BYTES / SS_UNIT + draw() % 2046;
        memset(segment + unit * SS_UNIT, 0, SS_UNIT); /* the records end there */
        comes_back(columns, segment);
    }
    columns_free(columns);
}

static void records_become_smaller_than_they_were(void **context)
{
    static uint8_t segment[SS_SEGMENT_BYTES];
    struct columns *const columns = columns_new();
    struct column_content content;

    (void)context;
    fill_with_spans(segment, 26);
    assert_true(columns_make(columns, SS_PACKED_RECORDS, segment, &content));
    assert_true(content.size < SS_SEGMENT_BYTES / 2);
    columns_free(columns);
}

static void damaged_content_is_refused_or_gives_a_segment(void **context)
{
    static uint8_t segment[SS_SEGMENT_BYTES], again[SS_SEGMENT_BYTES];
    struct columns *const columns = columns_new();
    struct column_content content;
    int refused = 0;

    (void)context;
    for (int i = 0; i < ROUNDS; i++) {
        fill_with_spans(segment, 1);
        assert_true(columns_make(columns, SS_PACKED_RECORDS, segment, &content));
        const size_t size = draw() % 2 ? content.size : draw() % content.size;
        uint8_t *const bytes = malloc(size + 1);
        memcpy(bytes, content.bytes, size);
        for (int hit = 0; hit < 3 && size > 0; hit++)
            bytes[draw() % 2 && size > FRAME ? draw() % FRAME : draw() % size] = (uint8_t)draw();
        refused += !columns_undo(columns, 1 + draw() % 2, bytes, size, again);
        free(bytes);
    }
    assert_true(refused > ROUNDS / 4 && refused < ROUNDS);
    columns_free(columns);
}

static void unit_of_the_clock_is_found_though_some_are_out_of_line(void **context)
{
    enum { COUNT = 1000 };
    static uint64_t gap[COUNT], length[COUNT];

    (void)context;
    for (int i = 0; i < COUNT; i++) {
        gap[i] = 26 * (draw() % 1000);
        length[i] = 26 * (draw() % 100000);
    }
    assert_int_equal(tick_unit_find(gap, length, COUNT), 26);
    for (int i = 0; i < COUNT; i += 50)
        length[i]++;
    assert_int_equal(tick_unit_find(gap, length, COUNT), 26);
    for (int i = 0; i < COUNT; i++)
        length[i] = draw();
    assert_int_equal(tick_unit_find(gap, length, COUNT), 1);
    memset(gap, 0, sizeof gap);
    memset(length, 0, sizeof length);
    assert_int_equal(tick_unit_find(gap, length, COUNT), 1);
    assert_int_equal(tick_unit_find(gap, length, 0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_segment_comes_back),
        cmocka_unit_test(records_become_smaller_than_they_were),
        cmocka_unit_test(damaged_content_is_refused_or_gives_a_segment),
        cmocka_unit_test(unit_of_the_clock_is_found_though_some_are_out_of_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
