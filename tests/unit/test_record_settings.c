/* Where a recording goes and what it says of its process: options, environment, secrets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/run_dir.h"
#include "support/own_run.h"

static const char *const VARIABLES[] = {"STEPSCOPE_RUN",
                                        "STEPSCOPE_RANK",
                                        "STEPSCOPE_WORLD",
                                        "STEPSCOPE_CAP",
                                        "RANK",
                                        "OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "STEPSCOPE_DISABLE",
                                        "PMIX_RANK",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "SLURM_PROCID",
                                        "SLURM_STEP_ID",
                                        "TF_CONFIG",
                                        "WORLD_SIZE",
                                        "SLURM_NTASKS",
                                        "OMP_NUM_THREADS",
                                        "WANDB_API_KEY"};

static int clear_environment(void **state)
{
    for (size_t i = 0; i < sizeof VARIABLES / sizeof VARIABLES[0]; i++)
        unsetenv(VARIABLES[i]);
    return own_run_setup(state);
}
#define CLEAN_TEST(test) cmocka_unit_test_setup_teardown(test, clear_environment, own_run_teardown)

static struct run_settings settings_of(const struct ss_options *options)
{
    struct run_settings settings;

    run_dir_settings(&settings, options);
    return settings;
}

static void without_a_word_there_is_no_directory(void **state)
{
    (void)state;
    const struct run_settings settings = settings_of(NULL);

    assert_string_equal(settings.dir, "");
    assert_int_equal(settings.rank, -1);
    assert_int_equal(settings.world, 0);
    assert_int_equal(settings.cap_bytes, 0);
}

static void options_win_over_the_environment(void **state)
{
    (void)state;
    const struct ss_options all = {"given", 3, 8, 1 << 20};
    const struct ss_options none = {NULL, -1, 0, 0};

    setenv("STEPSCOPE_RUN", "from the environment", 1);
    setenv("STEPSCOPE_RANK", "5", 1);
    setenv("STEPSCOPE_WORLD", "6", 1);
    setenv("STEPSCOPE_CAP", "7M", 1);
    struct run_settings settings = settings_of(&all);
    assert_string_equal(settings.dir, "given");
    assert_int_equal(settings.rank, 3);
    assert_int_equal(settings.world, 8);
    assert_int_equal(settings.cap_bytes, 1 << 20);
    settings = settings_of(&none);
    assert_string_equal(settings.dir, "from the environment");
    assert_int_equal(settings.rank, 5);
    assert_int_equal(settings.world, 6);
    assert_int_equal(settings.cap_bytes, 7 << 20);
}

static void disable_wins_over_the_environment_only(void **state)
{
    (void)state;
    const struct ss_options given = {"given", -1, 0, 0};

    setenv("STEPSCOPE_RUN", "somewhere", 1);
    setenv("STEPSCOPE_DISABLE", "1", 1);
    assert_string_equal(settings_of(NULL).dir, "");
    assert_string_equal(settings_of(&given).dir, "given");
    setenv("STEPSCOPE_DISABLE", "0", 1);
    assert_string_equal(settings_of(NULL).dir, "somewhere");
    setenv("STEPSCOPE_DISABLE", "", 1);
    assert_string_equal(settings_of(NULL).dir, "somewhere");
}

static void the_rank_may_be_where_tensorflow_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int rank, world;
    } cases[] = {
        {"{\"cluster\": {\"worker\": [\"a:1\", \"b:2\"]}, "
         "\"task\": {\"type\": \"worker\", \"index\": 1}}",
         1, 2},
        {"{\"task\":{\"index\":\"0\",\"type\":\"worker\"},"
         "\"cluster\":{\"chief\":[\"c:1\"],\"worker\":[\"a:1\"]}}",
         1, 2},
        {"{\"cluster\": {\"chief\": [\"c:1\"], \"worker\": [\"a:1\"]}, "
         "\"task\": {\"type\": \"chief\", \"index\": 0}}",
         0, 2},
        {"{\"cluster\": {\"ps\": [\"p:1\"]}, "
         "\"task\": {\"type\": \"ps\", \"index\": 0}}",
         -1, 0},
        {"{\"task\": {\"type\": \"worker\", \"index\": }}", -1, 0},
        {"task", -1, 0},
        {"", -1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        setenv("TF_CONFIG", cases[i].text, 1);
        assert_int_equal(settings_of(NULL).rank, cases[i].rank);
        assert_int_equal(settings_of(NULL).world, cases[i].world);
    }
    setenv("TF_CONFIG", cases[0].text, 1);
    setenv("RANK", "7", 1);
    assert_int_equal(settings_of(NULL).rank, 7);
}

static void the_rank_comes_from_the_first_launcher_that_has_a_number(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "x", "-3", "4 ", "99999999999", "0x2"};

    setenv("SLURM_PROCID", "7", 1);
    assert_int_equal(settings_of(NULL).rank, -1); /* the script of a batch job */
    setenv("SLURM_STEP_ID", "4294967290", 1);
    assert_int_equal(settings_of(NULL).rank, -1); /* an interactive shell */
    setenv("SLURM_STEP_ID", "0", 1);
    assert_int_equal(settings_of(NULL).rank, 7);
    setenv("OMPI_COMM_WORLD_RANK", "6", 1);
    assert_int_equal(settings_of(NULL).rank, 6);
    setenv("RANK", "0", 1);
    assert_int_equal(settings_of(NULL).rank, 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        setenv("STEPSCOPE_RANK", bad[i], 1);
        assert_int_equal(settings_of(NULL).rank, 0);
    }
    setenv("WORLD_SIZE", "16", 1);
    assert_int_equal(settings_of(NULL).world, 16);
    setenv("STEPSCOPE_WORLD", "4", 1);
    assert_int_equal(settings_of(NULL).world, 4);
}

static void the_cap_has_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } caps[] = {
        {"1", 1},
        {"65536", 65536},
        {"64K", 64ull << 10},
        {"3M", 3ull << 20},
        {"2G", 2ull << 30},
        {"1T", 1ull << 40},
        {"", 0},
        {"K", 0},
        {"-1", 0},
        {" 1", 0},
        {"5X", 0},
        {"5k", 0},
        {"1KB", 0},
        {"1.5G", 0},
        {"16777216T", 0}, /* 2^64 */
        {"18446744073709551616", 0},
    };

    for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++) {
        setenv("STEPSCOPE_CAP", caps[i].text, 1);
        assert_int_equal(settings_of(NULL).cap_bytes, caps[i].bytes);
    }
}

/* Runs this program again, to record one span and exit. Returns its exit code. */
static int record_in_new_process(void)
{
    int status = -1;
    const pid_t child = fork();

    if (child == 0) {
        execl("/proc/self/exe", "test_record_settings", "record", "--api-key", "s3cret",
              (char *)NULL);
        _exit(127);
    }
    waitpid(child, &status, 0);
    return status;
}

static int record_one(void)
{
    ss_name name = ss_intern("only", SS_STAGE_USER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);

    ss_begin(name, 0);
    ss_end(0, 1);
    return 0;
}

static void the_environment_starts_a_recording(void **state)
{
    struct own_run *own = *state;

    setenv("STEPSCOPE_RUN", own->dir, 1);
    setenv("STEPSCOPE_RANK", "2", 1);
    setenv("STEPSCOPE_WORLD", "4", 1);
    setenv("STEPSCOPE_CAP", "1M", 1);
    setenv("OMP_NUM_THREADS", "3", 1);
    setenv("WANDB_API_KEY", "s3cret", 1);
    assert_int_equal(record_in_new_process(), 0);
    own_run_open(own);

    const struct ss_process *process = ss_run_process(own->run, 0);
    assert_int_equal(own_run_count(own, SS_KIND_SPAN), 1);
    assert_int_equal(process->end, SS_END_EXITED);
    assert_int_equal(process->rank, 2);
    assert_int_equal(process->world, 4);
    assert_int_equal(process->cap_bytes, 1 << 20);
    own_run_check_text(ss_run_info(own->run, 0, "command"),
                       "test_record_settings record --api-key ***");
    own_run_check_text(ss_run_info(own->run, 0, "env.OMP_NUM_THREADS"), "3");
    assert_int_equal(ss_run_info(own->run, 0, "env.WANDB_API_KEY").size, 0);
    assert_true(ss_run_info(own->run, 0, "host").size > 0);
}

static void the_environment_can_forbid_it(void **state)
{
    struct own_run *own = *state;
    struct stat st;
    char dir[300];

    snprintf(dir, sizeof dir, "%s/new", own->dir);
    setenv("STEPSCOPE_RUN", dir, 1);
    setenv("STEPSCOPE_DISABLE", "1", 1);
    assert_int_equal(record_in_new_process(), 0);
    assert_int_not_equal(stat(dir, &st), 0);
    unsetenv("STEPSCOPE_DISABLE");
    unsetenv("STEPSCOPE_RUN");
    assert_int_equal(record_in_new_process(), 0);
    assert_int_not_equal(stat(dir, &st), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        CLEAN_TEST(without_a_word_there_is_no_directory),
        CLEAN_TEST(options_win_over_the_environment),
        CLEAN_TEST(disable_wins_over_the_environment_only),
        CLEAN_TEST(the_rank_comes_from_the_first_launcher_that_has_a_number),
        CLEAN_TEST(the_rank_may_be_where_tensorflow_is_told),
        CLEAN_TEST(the_cap_has_units),
        CLEAN_TEST(the_environment_starts_a_recording),
        CLEAN_TEST(the_environment_can_forbid_it),
    };

    if (argc > 1 && strcmp(argv[1], "record") == 0)
        return record_one();
    return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
