/* The parts of the page that need no run: escaping, round numbers on axes, steps in buckets. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "html/html.h"
#include "html/step_course.h"
#include "html/svg.h"

static void expect_text(const char *data, size_t size, size_t columns, const char *wanted)
{
    struct buf text = {0};
    struct sink out;
    struct html html;

    sink_init_buf(&out, &text);
    html_init(&html, &out);
    html_bytes(&html, data, size, columns);
    assert_int_equal(sink_flush(&out), 0);
    assert_string_equal(buf_text(&text), wanted);
    html_release(&html);
    buf_release(&text);
}

static void markup_is_escaped(void **state)
{
    (void)state;
    expect_text("a<b>&\"c'", 8, 100, "a&lt;b&gt;&amp;&quot;c&#39;");
    expect_text("", 0, 100, "");
    expect_text("\x1b[31m", 5, 100, "\xef\xbf\xbd[31m");
    expect_text("\xff<", 2, 100, "\xef\xbf\xbd&lt;");
    expect_text("5\xc2\xa0%", 4, 100, "5 %");
    expect_text("<<<<<<<<", 8, 5, "&lt;&lt;...");
    expect_text("a\0<", 3, 100, "a\xef\xbf\xbd&lt;");
}

static void write_sentence(const char *sentence, struct buf *out)
{
    struct sink sink;
    struct html html;

    buf_reset(out);
    sink_init_buf(&sink, out);
    html_init(&html, &sink);
    html_text(&html, sentence);
    assert_int_equal(sink_flush(&sink), 0);
    html_release(&html);
}

static void sentences_keep_their_spaces(void **state)
{
    struct buf text = {0};

    (void)state;
    write_sentence("<5\xc2\xa0%", &text);
    assert_string_equal(buf_text(&text), "&lt;5\xc2\xa0%");
    write_sentence("\xc2\xa0\xc2\xa0", &text);
    assert_string_equal(buf_text(&text), "\xc2\xa0\xc2\xa0");
    buf_release(&text);
}

/* Wherever the limit falls: on a letter, or on a space that must not break. */
static void a_sentence_that_is_cut_says_so(void **state)
{
    struct buf text = {0}, many = {0};

    (void)state;
    for (size_t extra = 0; extra < 4; extra++) {
        buf_reset(&many);
        buf_add_repeated(&many, 'n', extra);
        for (size_t i = 0; i < HTML_TEXT_MOST; i++)
            buf_add_text(&many, "n\xc2\xa0");
        write_sentence(buf_text(&many), &text);
        assert_int_equal(text.size, HTML_TEXT_MOST);
        assert_string_equal(buf_text(&text) + text.size - 3, "...");
    }
    buf_release(&text);
    buf_release(&many);
}

static void the_longest_sentence_is_whole(void **state)
{
    struct buf text = {0}, many = {0};

    (void)state;
    for (size_t i = 0; i < HTML_TEXT_MOST / 2; i++)
        buf_add_text(&many, "n\xc2\xa0");
    write_sentence(buf_text(&many), &text);
    assert_string_equal(buf_text(&text), buf_text(&many));
    buf_release(&text);
    buf_release(&many);
}

static void json_ends_no_element(void **state)
{
    struct buf json = {0}, text = {0};
    struct sink out;
    struct html html;

    (void)state;
    buf_add_text(&json, "{\"a\":\"</script><!--\"}");
    sink_init_buf(&out, &text);
    html_init(&html, &out);
    html_json(&html, &json);
    assert_int_equal(sink_flush(&out), 0);
    assert_string_equal(buf_text(&text), "{\"a\":\"\\u003c/script>\\u003c!--\"}");
    assert_int_equal(html_json_size(&json), text.size);
    html_release(&html);
    buf_release(&text);
    buf_release(&json);
}

static void ticks_are_round(void **state)
{
    double tick[SVG_TICKS];

    (void)state;
    assert_int_equal(svg_ticks(0, 10, 5, tick), 6);
    assert_float_equal(tick[1], 2, 1e-12);
    assert_int_equal(svg_ticks(0.13, 0.98, 4, tick), 4);
    assert_float_equal(tick[0], 0.2, 1e-12);
    assert_int_equal(svg_ticks(1, 1, 5, tick), 0);
    assert_int_equal(svg_ticks(0, NAN, 5, tick), 0);
    assert_int_equal(svg_ticks(0, INFINITY, 5, tick), 0);
    assert_float_equal(svg_round_up(9.3e6), 1e7, 1);
    assert_float_equal(svg_round_up(0), 1, 0);
    assert_float_equal(svg_round_up(NAN), 1, 0);
    for (double length = 1e-9; length < 1e12; length *= 3.7) {
        const size_t count = svg_ticks(0, length, 5, tick);
        assert_in_range(count, 3, SVG_TICKS);
        assert_true(svg_round_up(length) >= length * 0.999999);
    }
}

static void add_of(struct step_courses *courses, uint32_t tid, int64_t number, int64_t time_ns,
                   int64_t loop)
{
    int64_t stage_ns[SS_STAGE_COUNT] = {[SS_STAGE_DATA] = time_ns};
    const struct model_step step = {.lane = 1,
                                    .tid = tid,
                                    .loop_begin_ns = loop,
                                    .number = number,
                                    .steps = 1,
                                    .start_ns = number * 1000,
                                    .time_ns = time_ns,
                                    .stage_ns = stage_ns,
                                    .source = SOURCE_USER,
                                    .counted = true};

    step_courses_add(courses, &step);
}

static void add(struct step_courses *courses, int64_t number, int64_t time_ns, int64_t loop)
{
    add_of(courses, 7, number, time_ns, loop);
}

static const struct step_course *course_of(const struct step_courses *courses, uint32_t tid,
                                           int64_t begin_ns)
{
    struct snap_loop *loop = calloc(1, sizeof *loop);

    loop->lane = 1;
    loop->tid = tid;
    loop->begin_ns = begin_ns;
    const struct step_course *found = step_courses_find(courses, loop);
    free(loop);
    return found;
}

static const struct step_course *course_at(const struct step_courses *courses, int64_t begin_ns)
{
    return course_of(courses, 7, begin_ns);
}

/* However many steps there are, each is in one bucket, and the spike is in its own. */
static void no_spike_disappears(void **state)
{
    static struct step_bucket column[100];
    const int64_t steps = 1234567, spike = 777777;

    (void)state;
    struct step_courses courses = {0};
    for (int64_t i = 0; i < steps; i++)
        add(&courses, i, i == spike ? 90000 : 100 + i % 7, 0);
    const struct step_course *course = course_at(&courses, 0);
    assert_non_null(course);
    assert_in_range(course->count, COURSE_BUCKETS / 2, COURSE_BUCKETS);
    int64_t seen = 0, time_ns = 0, data_ns = 0;
    for (size_t i = 0; i < course->count; i++) {
        const struct step_bucket *bucket = &course->bucket[i];
        assert_int_equal(bucket->first_step, seen);
        seen += bucket->steps;
        time_ns += bucket->time_ns;
        data_ns += bucket->stage_ns[SS_STAGE_DATA];
        const bool has_it = bucket->first_step <= spike && seen > spike;
        assert_int_equal(bucket->max_ns, has_it ? 90000 : 106);
        assert_int_equal(bucket->max_step == spike, has_it);
        assert_int_equal(bucket->min_ns, 100);
    }
    assert_int_equal(seen, steps);
    assert_int_equal(time_ns, course->time_ns);
    assert_int_equal(data_ns, time_ns);
    const size_t count = step_course_columns(course, column, 100);
    assert_in_range(count, 50, 100);
    int64_t longest = 0;
    for (size_t i = 0; i < count; i++)
        longest = column[i].max_ns > longest ? column[i].max_ns : longest;
    assert_int_equal(longest, 90000);
    step_courses_release(&courses);
}

static void many_loops_keep_the_long_ones(void **state)
{
    struct step_courses courses = {0};

    (void)state;
    add(&courses, 0, 1000000, 1);
    for (int64_t i = 0; i < 5 * COURSES_OF_THREAD; i++)
        add(&courses, 0, 100 + i, 100 + i);
    assert_int_equal(courses.count, COURSES_OF_THREAD);
    assert_non_null(course_at(&courses, 1));
    assert_null(course_at(&courses, 100));
    assert_non_null(course_at(&courses, 99 + 5 * COURSES_OF_THREAD));
    step_courses_release(&courses);
}

/* Ranks take turns: none may push out another, and all steps of each are there. */
static void many_threads_keep_all_steps(void **state)
{
    const uint32_t threads = 600;
    const int64_t steps = 3000;

    (void)state;
    struct step_courses courses = {0};
    for (int64_t i = 0; i < steps; i++)
        for (uint32_t tid = 1; tid <= threads; tid++)
            add_of(&courses, tid, i, 100 + tid % 3, 5);
    assert_int_equal(courses.count, threads);
    assert_in_range(courses.buckets, 1, COURSES_BUCKETS);
    for (uint32_t tid = 1; tid <= threads; tid++) {
        const struct step_course *course = course_of(&courses, tid, 5);
        assert_non_null(course);
        assert_int_equal(step_course_steps(course), steps);
        assert_int_equal(course->time_ns, steps * (100 + tid % 3));
        for (size_t i = 0, first = 0; i < course->count; i++) {
            assert_int_equal(course->bucket[i].first_step, first);
            first += (size_t)course->bucket[i].steps;
        }
    }
    step_courses_release(&courses);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markup_is_escaped),
        cmocka_unit_test(sentences_keep_their_spaces),
        cmocka_unit_test(a_sentence_that_is_cut_says_so),
        cmocka_unit_test(the_longest_sentence_is_whole),
        cmocka_unit_test(json_ends_no_element),
        cmocka_unit_test(ticks_are_round),
        cmocka_unit_test(no_spike_disappears),
        cmocka_unit_test(many_loops_keep_the_long_ones),
        cmocka_unit_test(many_threads_keep_all_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
