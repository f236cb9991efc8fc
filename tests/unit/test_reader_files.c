/* Which files, segments and lane blocks count: format 8.1 to 8.4. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/reading.h"

enum { SEGMENT = SS_SEGMENT_BYTES, BLOCK = SS_BLOCK_BYTES };

static int code_of_opening(const void *data, size_t size)
{
    const struct ss_blob blob = {"p-1.ssp", data, size};
    struct ss_error error = {0};
    struct ss_run *const run = ss_run_open_memory(&blob, 1, &error);

    assert_true((run == NULL) == (error.code != 0));
    ss_run_close(run);
    return error.code;
}

static void a_file_too_short_for_its_header_is_no_process(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();

    assert_int_equal(code_of_opening(synth_bytes(synth), 1023), SS_E_DAMAGED);
    assert_int_equal(code_of_opening(synth_bytes(synth), 0), SS_E_DAMAGED);
    assert_int_equal(code_of_opening(NULL, 0), SS_E_DAMAGED);
    assert_int_equal(code_of_opening(synth_bytes(synth), 1024), SS_E_OK);
    synth_free(synth);
}

static void another_magic_or_geometry_is_no_process(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();
    struct ss_file_header *const header = synth_header(synth);
    const struct ss_file_header good = *header;

    header->magic[7] = 'q';
    assert_int_equal(code_of_opening(header, SEGMENT), SS_E_DAMAGED);
    *header = good;
    header->segment_bytes = 32768;
    assert_int_equal(code_of_opening(header, SEGMENT), SS_E_DAMAGED);
    *header = good;
    header->block_bytes = 4096;
    assert_int_equal(code_of_opening(header, SEGMENT), SS_E_DAMAGED);
    *header = good;
    header->inline_offset = 1024;
    assert_int_equal(code_of_opening(header, SEGMENT), SS_E_DAMAGED);
    synth_free(synth);
}

static void a_file_for_newer_readers_is_refused(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();

    synth_header(synth)->version = 7;
    assert_int_equal(code_of_opening(synth_bytes(synth), SEGMENT), SS_E_OK);
    synth_header(synth)->min_reader = SS_FORMAT_VERSION + 1;
    assert_int_equal(code_of_opening(synth_bytes(synth), SEGMENT), SS_E_VERSION);
    synth_free(synth);
}

static void files_that_are_no_process_are_lost_beside_one_that_is(void **state)
{
    (void)state;
    struct synth *const good = synth_new(), *const newer = synth_new();
    struct ss_error error = {0};

    synth_span(good, 1, 0, 2000, 3000);
    synth_header(newer)->min_reader = 9;
    const struct ss_blob blobs[] = {synth_blob(good, "p-3.ssp"),
                                    synth_blob(newer, "p-2.ssp"),
                                    {"p-1.ssp", "short", 5},
                                    {"notes.txt", "hello", 5}};
    struct ss_run *const run = ss_run_open_memory(blobs, 4, &error);
    assert_non_null(run);
    assert_int_equal(ss_run_processes(run), 1);
    assert_string_equal(ss_run_process(run, 0)->file, "p-3.ssp");
    const struct ss_loss losses[] = {{.kind = SS_LOSS_TRUNCATED, .bytes = 5},
                                     {.kind = SS_LOSS_FILE, .bytes = SEGMENT}};
    reading_expect_losses(run, losses, 2);
    assert_int_equal(ss_run_loss(run, 0)->process, UINT32_MAX);
    assert_string_equal(ss_run_loss(run, 0)->file, "p-1.ssp");
    assert_string_equal(ss_run_loss(run, 1)->file, "p-2.ssp");
    ss_run_close(run);
    synth_free(good);
    synth_free(newer);
}

static void processes_come_in_the_order_of_their_file_names(void **state)
{
    (void)state;
    struct synth *const a = synth_new(), *const b = synth_new();
    struct ss_error error = {0};

    synth_header(a)->pid = 10;
    synth_header(b)->pid = 20;
    synth_span(a, 2, 0, 2000, 3000);
    const struct ss_blob blobs[] = {synth_blob(b, "p-20.ssp"), synth_blob(a, "p-10.ssp")};
    struct ss_run *const run = ss_run_open_memory(blobs, 2, &error);
    assert_int_equal(ss_run_process(run, 0)->pid, 10);
    assert_int_equal(ss_run_process(run, 1)->pid, 20);
    assert_int_equal(ss_run_process(run, 0)->first_lane, 0);
    assert_int_equal(ss_run_process(run, 0)->lanes, 2);
    assert_int_equal(ss_run_process(run, 1)->first_lane, 2);
    assert_int_equal(ss_run_lane(run, 1)->number, 2);
    assert_int_equal(ss_run_lane(run, 2)->process, 1);
    assert_null(ss_run_process(run, 2));
    assert_null(ss_run_lane(run, 3));
    ss_run_close(run);
    synth_free(a);
    synth_free(b);
}

static void the_count_of_segments_in_the_header_is_not_trusted(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();

    synth_next_segment(synth, 1);
    synth_span(synth, 1, 0, 2000, 3000);
    synth_header(synth)->segments = UINT64_MAX;
    struct ss_run *run = reading_open(synth);
    assert_int_equal(reading_count(run), 1);
    ss_run_close(run);
    synth_header(synth)->segments = 0;
    run = reading_open(synth);
    assert_int_equal(reading_count(run), 1);
    ss_run_close(run);
    synth_free(synth);
}

static void a_last_segment_without_room_for_its_header_is_lost(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();

    synth_next_segment(synth, 1);
    synth_span(synth, 1, 0, 2000, 3000);
    synth_cut(synth, SEGMENT + 63);
    struct ss_run *const run = reading_open(synth);
    const struct ss_loss loss = {.kind = SS_LOSS_TRUNCATED, .offset = SEGMENT, .bytes = 63};
    reading_expect_losses(run, &loss, 1);
    ss_run_close(run);
    synth_free(synth);
}

static void segments_that_are_not_in_use_are_no_loss(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();

    synth_free_segment(synth); /* good magic, kind 0 */
    synth_next_segment(synth, 1);
    synth_span(synth, 1, 0, 2000, 3000);
    synth_segment(synth, 1)->lease = 0; /* kind 2, not handed out */
    synth_free_segment(synth);
    memset(synth_bytes(synth) + 3 * SEGMENT, 0, 64); /* never touched: what follows is old */
    memset(synth_bytes(synth) + 3 * SEGMENT + 64, 7, 64);
    struct ss_run *const run = reading_open(synth);
    assert_int_equal(reading_count(run), 0);
    reading_expect_losses(run, NULL, 0);
    ss_run_close(run);
    synth_free(synth);
}

static void a_segment_header_that_makes_no_sense_loses_the_segment(void **state)
{
    (void)state;
    const struct ss_segment_header good = {SS_SEGMENT_MAGIC, SS_SEGMENT_RECORDS, 1, 1, 1, 0, {0}};
    struct ss_segment_header bad[7];

    for (size_t i = 0; i < 7; i++)
        bad[i] = good;
    bad[0].magic = 0;
    bad[1].magic++;
    bad[2].kind = 3;
    bad[3].lane = 7 * 65536;
    bad[4].seq = 0;
    bad[5] = (struct ss_segment_header){
        .magic = SS_SEGMENT_MAGIC, .kind = SS_SEGMENT_DIRECTORY, .lane = 8};
    bad[6] = (struct ss_segment_header){
        .magic = SS_SEGMENT_MAGIC, .kind = SS_SEGMENT_DIRECTORY, .lane = 7 * 65536};
    for (size_t i = 0; i < 7; i++) {
        struct synth *const synth = synth_new();
        synth_next_segment(synth, 1);
        synth_span(synth, 1, 0, 2000, 3000);
        *synth_segment(synth, 1) = bad[i];
        synth_cut(synth, SEGMENT + 200);
        struct ss_run *const run = reading_open(synth);
        const struct ss_loss loss = {.kind = SS_LOSS_HEADER, .offset = SEGMENT, .bytes = 200};
        reading_expect_losses(run, &loss, 1);
        assert_int_equal(reading_count(run), 0);
        ss_run_close(run);
        synth_free(synth);
    }
}

static void the_second_directory_of_the_same_lanes_is_lost(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();

    synth_span(synth, 7, 0, 2000, 3000);  /* segment 1 */
    synth_span(synth, 14, 0, 2000, 4000); /* segment 2 */
    ((struct ss_segment_header *)(void *)(synth_bytes(synth) + 2 * SEGMENT))->lane = 7;
    struct ss_run *run = reading_open(synth);
    const struct ss_loss second = {.kind = SS_LOSS_HEADER, .offset = 2 * SEGMENT, .bytes = SEGMENT};
    reading_expect_losses(run, &second, 1);
    assert_int_equal(reading_count(run), 1);
    ss_run_close(run);

    /* Segment 0 is the directory of lane 0. */
    ((struct ss_segment_header *)(void *)(synth_bytes(synth) + 2 * SEGMENT))->lane = 0;
    run = reading_open(synth);
    reading_expect_losses(run, &second, 1);
    ss_run_close(run);
    synth_free(synth);
}

static void lane_blocks_of_every_directory_are_lanes(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();
    struct ss_record record;

    for (uint32_t lane = 1; lane < 30; lane++)
        synth_span(synth, lane, 0, 2000 + lane, 3000 + lane);
    synth_block(synth, 20)->tid = 4712;
    synth_block(synth, 20)->owners = 3;
    synth_block(synth, 20)->lost_records = 9;
    synth_block(synth, 20)->lost_by_stage[5] = 4;
    synth_block(synth, 20)->unbalanced = 2;
    synth_block(synth, 20)->too_deep = 1;
    struct ss_run *const run = reading_open(synth);
    assert_int_equal(ss_run_lanes(run), 30);
    for (uint32_t lane = 1; lane < 30; lane++) {
        assert_int_equal(ss_run_lane(run, lane)->number, lane);
        assert_int_equal(reading_of(run, lane, &record, 1), 1);
        assert_int_equal(record.start_ns, 2000 + lane);
    }
    const struct ss_lane *const lane = ss_run_lane(run, 20);
    assert_int_equal(lane->tid, 4712);
    assert_int_equal(lane->owners, 3);
    assert_int_equal(lane->lost_records, 9);
    assert_int_equal(lane->lost_by_stage[5], 4);
    assert_int_equal(lane->unbalanced, 2);
    assert_int_equal(lane->too_deep, 1);
    reading_expect_losses(run, NULL, 0);
    ss_run_close(run);
    synth_free(synth);
}

static void a_lane_block_that_makes_no_sense_is_lost(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();

    synth_span(synth, 1, 0, 2000, 3000);
    synth_span(synth, 2, 0, 2000, 3000);
    synth_span(synth, 3, 0, 2000, 3000);
    synth_block(synth, 1)->magic = 17;
    synth_block(synth, 2)->lane = 5;
    synth_block(synth, 3)->magic = 0; /* never used */
    struct ss_run *const run = reading_open(synth);
    const struct ss_loss losses[] = {{.kind = SS_LOSS_HEADER, .offset = 2 * BLOCK, .bytes = BLOCK},
                                     {.kind = SS_LOSS_HEADER, .offset = 3 * BLOCK, .bytes = BLOCK}};
    reading_expect_losses(run, losses, 2);
    assert_int_equal(ss_run_lanes(run), 1);
    ss_run_close(run);
    synth_free(synth);
}

static void a_lane_block_cut_short_is_lost_but_not_one_that_never_began(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();

    synth_span(synth, 1, 0, 2000, 3000);
    synth_span(synth, 2, 0, 2000, 3000);
    synth_cut(synth, 3 * BLOCK - 1);
    struct ss_run *run = reading_open(synth);
    const struct ss_loss loss = {
        .kind = SS_LOSS_TRUNCATED, .offset = 2 * BLOCK, .bytes = BLOCK - 1};
    reading_expect_losses(run, &loss, 1);
    assert_int_equal(ss_run_lanes(run), 1);
    ss_run_close(run);

    synth_cut(synth, 2 * BLOCK);
    run = reading_open(synth);
    reading_expect_losses(run, NULL, 0);
    ss_run_close(run);
    synth_free(synth);
}

static void a_lane_without_its_block_still_counts(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();
    struct ss_record record;

    synth_block(synth, 1)->tid = 12;
    synth_next_segment(synth, 1);
    synth_span(synth, 1, 0, 2000, 3000);
    synth_block(synth, 1)->magic = 0;
    struct ss_run *const run = reading_open(synth);
    assert_int_equal(ss_run_lanes(run), 2);
    assert_int_equal(ss_run_lane(run, 1)->tid, 0);
    assert_int_equal(reading_of(run, 1, &record, 1), 1);
    assert_int_equal(record.end_ns, 3000);
    ss_run_close(run);
    synth_free(synth);
}

static void segments_of_a_lane_come_by_seq_and_gaps_are_fine(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();
    struct ss_record records[4];

    synth_span(synth, 1, 1, 2000, 2001);
    for (uint16_t i = 2; i <= 4; i++) {
        synth_skip_segments(synth, 1, 1);
        synth_span(synth, 1, i, 2000, 2000 + i);
    }
    /* Places 2, 4 and 6 of the file become 6, 4 and 2 of the lane. */
    ((struct ss_segment_header *)(void *)(synth_bytes(synth) + SEGMENT))->seq = 6;
    ((struct ss_segment_header *)(void *)(synth_bytes(synth) + 3 * SEGMENT))->seq = 2;
    struct ss_run *const run = reading_open(synth);
    assert_int_equal(reading_of(run, 1, records, 4), 4);
    assert_int_equal(records[0].name, 1);
    assert_int_equal(records[1].name, 4);
    assert_int_equal(records[2].name, 3);
    assert_int_equal(records[3].name, 2);
    reading_expect_losses(run, NULL, 0);
    ss_run_close(run);
    synth_free(synth);
}

/* Three segments of one place: that of lease 5 further back wins. */
static void of_two_segments_at_one_place_the_higher_lease_counts(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();
    const uint64_t leases[] = {5, 3, 5};
    struct ss_record record;

    for (uint16_t i = 0; i < 3; i++) {
        synth_next_segment(synth, 1);
        synth_span(synth, 1, (uint16_t)(i + 1), 2000, 3000);
        synth_segment(synth, 1)->seq = 8;
        synth_segment(synth, 1)->lease = leases[i];
    }
    struct ss_run *run = reading_open(synth);
    const struct ss_loss losses[] = {
        {.kind = SS_LOSS_ORDER, .offset = SEGMENT, .bytes = SEGMENT},
        {.kind = SS_LOSS_ORDER, .offset = 2 * SEGMENT, .bytes = SEGMENT}};
    assert_int_equal(reading_of(run, 1, &record, 1), 1);
    assert_int_equal(record.name, 3);
    reading_expect_losses(run, losses, 2);
    ss_run_close(run);
    synth_free(synth);
}

static void a_missing_run_or_a_file_or_an_empty_directory_is_explained(void **state)
{
    (void)state;
    char *const dir = reading_make_dir();
    struct ss_error error = {0};
    char path[4200];

    assert_null(ss_run_open("/nonexistent/run", &error));
    assert_int_equal(error.code, SS_E_NOTFOUND);
    assert_non_null(strstr(error.message, "/nonexistent/run"));
    assert_null(ss_run_open(dir, &error));
    assert_int_equal(error.code, SS_E_NOTRUN);
    snprintf(path, sizeof path, "%s/file", dir);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    assert_null(ss_run_open(path, &error));
    assert_int_equal(error.code, SS_E_NOTRUN);
    assert_null(ss_run_open(path, NULL));
    reading_remove_dir(dir);
}

/* A FIFO would block a reader that opens it; a directory cannot be read. */
static void what_is_no_regular_file_is_lost(void **state)
{
    (void)state;
    char *const dir = reading_make_dir();
    struct synth *const synth = synth_new();
    struct ss_error error = {0};
    char path[4200];

    snprintf(path, sizeof path, "%s/a.ssp", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_null(ss_run_open(dir, &error));
    assert_non_null(strstr(error.message, "a.ssp"));
    assert_int_equal(synth_write(synth, dir, "b.ssp"), 0);
    struct ss_run *const run = ss_run_open(dir, &error);
    assert_non_null(run);
    assert_int_equal(ss_run_losses(run), 1);
    assert_int_equal(ss_run_loss(run, 0)->kind, SS_LOSS_FILE);
    assert_string_equal(ss_run_loss(run, 0)->file, "a.ssp");
    ss_run_close(run);
    synth_free(synth);
    reading_remove_dir(dir);
}

static size_t open_files(void)
{
    DIR *const dir = opendir("/proc/self/fd");
    size_t count = 0;

    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static void set_open_limit(rlim_t most)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = most < limit.rlim_max ? most : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* 300 files, of which at first 128 are open at a time, then fewer than 40. */
static void more_files_than_may_be_open_are_all_read(void **state)
{
    (void)state;
    char *const dir = reading_make_dir();
    const size_t before = open_files();
    struct synth *const synth = synth_new();
    struct ss_error error = {0};
    char name[32];

    synth_span(synth, 1, 0, 2000, 3000);
    synth_next_segment(synth, 1);
    synth_span(synth, 1, 0, 2000, 4000);
    synth_trim(synth);
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "p-%03d.ssp", i);
        assert_int_equal(synth_write(synth, dir, name), 0);
    }
    for (int few = 0; few < 2; few++) {
        if (few)
            set_open_limit(40);
        struct ss_run *const run = ss_run_open(dir, &error);
        assert_non_null(run);
        assert_int_equal(ss_run_processes(run), 300);
        assert_int_equal(reading_count(run), 600);
        assert_int_equal(ss_run_losses(run), 0);
        set_open_limit(1024);
        assert_true(open_files() <= before + 129);
        ss_run_close(run);
        assert_int_equal(open_files(), before);
    }
    synth_free(synth);
    reading_remove_dir(dir);
}

/* 4 TB of holes: neither memory nor time may go with the size. */
static void a_huge_sparse_file_is_read_at_once(void **state)
{
    (void)state;
    char *const dir = reading_make_dir();
    struct synth *const synth = synth_new();
    struct ss_error error = {0};
    char path[4200];

    synth_span(synth, 1, 0, 2000, 3000);
    assert_int_equal(synth_write(synth, dir, "p-1.ssp"), 0);
    snprintf(path, sizeof path, "%s/p-1.ssp", dir);
    if (truncate(path, (off_t)1 << 42) == 0) {
        struct ss_run *const run = ss_run_open(dir, &error);
        assert_non_null(run);
        assert_int_equal(reading_count(run), 1);
        assert_int_equal(ss_run_losses(run), 0);
        ss_run_close(run);
    }
    synth_free(synth);
    reading_remove_dir(dir);
}

static void the_manifest_is_keys_and_values(void **state)
{
    (void)state;
    struct synth *const synth = synth_new();
    static const char text[] = "format: 1\ncommand: python a\\nb\\\\c.py: x\nno value\n"
                               "format: 2\nhost: h";
    const struct ss_blob blobs[] = {{"manifest", text, sizeof text - 1},
                                    synth_blob(synth, "p.ssp")};
    struct ss_error error = {0};
    struct ss_text key, value;
    struct ss_run *const run = ss_run_open_memory(blobs, 2, &error);

    assert_non_null(run);
    assert_true(text_is(ss_run_info(run, SIZE_MAX, "format"), "1"));
    assert_true(text_is(ss_run_info(run, SIZE_MAX, "command"), "python a\nb\\c.py: x"));
    assert_true(text_is(ss_run_info(run, SIZE_MAX, "host"), "h"));
    assert_null(ss_run_info(run, SIZE_MAX, "nothing").data);
    assert_true(ss_run_info_at(run, SIZE_MAX, 2, &key, &value));
    assert_true(text_is(key, "host"));
    assert_false(ss_run_info_at(run, SIZE_MAX, 3, &key, &value));
    ss_run_close(run);
    synth_free(synth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_too_short_for_its_header_is_no_process),
        cmocka_unit_test(another_magic_or_geometry_is_no_process),
        cmocka_unit_test(a_file_for_newer_readers_is_refused),
        cmocka_unit_test(files_that_are_no_process_are_lost_beside_one_that_is),
        cmocka_unit_test(processes_come_in_the_order_of_their_file_names),
        cmocka_unit_test(the_count_of_segments_in_the_header_is_not_trusted),
        cmocka_unit_test(a_last_segment_without_room_for_its_header_is_lost),
        cmocka_unit_test(segments_that_are_not_in_use_are_no_loss),
        cmocka_unit_test(a_segment_header_that_makes_no_sense_loses_the_segment),
        cmocka_unit_test(the_second_directory_of_the_same_lanes_is_lost),
        cmocka_unit_test(lane_blocks_of_every_directory_are_lanes),
        cmocka_unit_test(a_lane_block_that_makes_no_sense_is_lost),
        cmocka_unit_test(a_lane_block_cut_short_is_lost_but_not_one_that_never_began),
        cmocka_unit_test(a_lane_without_its_block_still_counts),
        cmocka_unit_test(segments_of_a_lane_come_by_seq_and_gaps_are_fine),
        cmocka_unit_test(of_two_segments_at_one_place_the_higher_lease_counts),
        cmocka_unit_test(a_missing_run_or_a_file_or_an_empty_directory_is_explained),
        cmocka_unit_test(what_is_no_regular_file_is_lost),
        cmocka_unit_test(more_files_than_may_be_open_are_all_read),
        cmocka_unit_test(a_huge_sparse_file_is_read_at_once),
        cmocka_unit_test(the_manifest_is_keys_and_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
