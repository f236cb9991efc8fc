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

#include "base/redact.h"
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

/* `raw` as in /proc/PID/cmdline, but with | for the byte 0. */
static void check_redacted(const char *raw, const char *expected)
{
    char arguments[200], out[200];
    const size_t size = strlen(raw);

    for (size_t i = 0; i <= size; i++)
        arguments[i] = (char)(raw[i] == '|' ? '\0' : raw[i]);
    redact_command(arguments, size + 1, out, sizeof out);
    assert_string_equal(out, expected);
}

/* Commands as they come, and what is kept of them. */
static const char *const secrets[][2] = {
    {"a|--api-key|s3cret|b", "a --api-key *** b"},
    {"a|--token=s3cret|b", "a --token=*** b"},
    {"a|AWS_SECRET_ACCESS_KEY=s3cret", "a AWS_SECRET_ACCESS_KEY=***"},
    {"a|--PassWord|s3cret", "a --PassWord ***"},
    {"a|PGPASSWORD=s3cret", "a PGPASSWORD=***"},
    {"a|--dbpassword=s3cret", "a --dbpassword=***"},
    {"a|--db-passwd|1234", "a --db-passwd ***"},
    {"a|--authtoken|s3cret", "a --authtoken ***"},
    {"a|--accesstoken=s3cret", "a --accesstoken=***"},
    {"a|--secretkey|s3cret|--accesskey|s3cret", "a --secretkey *** --accesskey ***"},
    {"a|--jwt|s3cret", "a --jwt ***"},
    {"a|--client-credential=s3cret", "a --client-credential=***"},
    {"a|Authorization: Bearer s3cret", "a Authorization:***"},
    {"a|{\"api_key\": \"s3cret\"}", "a {\"api_key\":***"},
    {"a|https://me:s3cret@host/x", "a https://me:***@host/x"},
    {"a|postgres://u:a@s3cret@h/db", "a postgres://u:***@h/db"},
    {"a|me:s3cret@host", "a me:***@host"},
    {"a|https://0123456789abcdef0123@host/x", "a https://***@host/x"},
    {"a|https://ghp_abcdefghijklmnop@github.com/x", "a https://***@github.com/x"},
    {"a|https://me:s3cret@host/?token=s3cret", "a https://me:***@host/?token=***"},
    {"a|https://x.blob.net/c?sv=1&sig=s3cret%2B%3D&se=2",
     "a https://x.blob.net/c?sv=1&sig=***&se=2"},
    {"a|https://hooks.slack.com/services/T0/B0/s3cret", "a https://hooks.slack.com/services/***"},
    {"a|hf_abcdefghijklmnop", "a ***"},
    {"a|key=sk-abcdefghijklmnop", "a key=***"},
    {"a|x,xoxb-abcdefghijklmnop,y", "a x,***,y"},
    {"a|eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0", "a ***"},
    {"wandb|login|0123456789abcdef0123456789abcdef01234567", "wandb login ***"},
};

static const char *const harmless[][2] = {
    {"python|train.py|--lr=0.1", "python train.py --lr=0.1"},
    {"a|https://host/x:y@z", "a https://host/x:y@z"},
    {"a|sk-short", "a sk-short"},
    {"a|--tokenizer|gpt2", "a --tokenizer gpt2"},
    {"a|--max-tokens=512", "a --max-tokens=512"},
    {"a|--max-tokens|100", "a --max-tokens 100"},
    {"a|--num-keys|5", "a --num-keys 5"},
    {"a|--key-size=128", "a --key-size=128"},
    {"a|--pad-token|X", "a --pad-token X"},
    {"a|--token-dropout|0.1", "a --token-dropout 0.1"},
    {"a|--use-auth-token|--lr|0.1", "a --use-auth-token --lr 0.1"},
    {"a|--auth=false", "a --auth=false"},
    {"a|--keyboard|de", "a --keyboard de"},
    {"a|--author|me", "a --author me"},
    {"a|token|b", "a token b"}, /* no option */
    {"a|git@github.com:me/repo.git", "a git@github.com:me/repo.git"},
    {"a|image:tag@sha256:0123", "a image:tag@sha256:0123"},
    {"a|--rev|0123456789abcdef0123456789abcdef01234567",
     "a --rev 0123456789abcdef0123456789abcdef01234567"},
    {"a|--signal=USR1", "a --signal=USR1"},
    {"a|", "a ''"},
    {"a|two words|it's", "a 'two words' 'it'\\''s'"},
};

static void secrets_are_taken_out_of_commands(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++)
        check_redacted(secrets[i][0], secrets[i][1]);
}

static void harmless_words_stay_in_commands(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
        check_redacted(harmless[i][0], harmless[i][1]);
}

static void more_secrets_than_are_counted_hide_the_rest(void **state)
{
    static const char secret[] = "ghp_abcdefghijklmnop,";
    const size_t length = strlen(secret);
    char raw[1024], out[2048];

    (void)state;
    for (size_t i = 0; i < 30; i++)
        memcpy(raw + i * length, secret, length);
    redact_command(raw, 30 * length, out, sizeof out);
    assert_null(strstr(out, "ghp_"));
}

static void a_command_is_cut_to_its_room(void **state)
{
    (void)state;
    char out[8];

    redact_command("abc\0defgh", 10, out, sizeof out);
    assert_string_equal(out, "abc def");
    redact_command("a\0--token\0secret", 17, out, sizeof out);
    assert_string_equal(out, "a --tok");
    redact_command("", 0, out, sizeof out);
    assert_string_equal(out, "");
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
        CLEAN_TEST(secrets_are_taken_out_of_commands),
        CLEAN_TEST(harmless_words_stay_in_commands),
        CLEAN_TEST(more_secrets_than_are_counted_hide_the_rest),
        CLEAN_TEST(a_command_is_cut_to_its_room),
        CLEAN_TEST(the_environment_starts_a_recording),
        CLEAN_TEST(the_environment_can_forbid_it),
    };

    if (argc > 1 && strcmp(argv[1], "record") == 0)
        return record_one();
    return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
