/* What is taken out of commands and texts before they are recorded, and what stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/redact.h"
#include "base/redact_pattern.h"

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
    {"a|--hf_token|s3cret", "a --hf_token ***"},
    {"a|--HFToken|s3cret", "a --HFToken ***"},
    {"a|-api_key|s3cret", "a -api_key ***"},
    {"a|--APIKEY=s3cret", "a --APIKEY=***"},
    {"a|--apiKey=s3cret", "a --apiKey=***"},
    {"a|--hmackey=s3cret", "a --hmackey=***"},
    {"a|--key|s3cret", "a --key ***"},
    {"a|--license-key=s3cret", "a --license-key=***"},
    {"a|--encryption.key|s3cret", "a --encryption.key ***"},
    {"a|--private_key=s3cret", "a --private_key=***"},
    {"a|--credentials|s3cret", "a --credentials ***"},
    {"a|--db.credential=s3cret", "a --db.credential=***"},
    {"a|--storepass|s3cret", "a --storepass ***"},
    {"a|--pass|1234", "a --pass ***"},
    {"a|--passphrase|two words", "a --passphrase ***"},
    {"a|--login-secret=s3cret", "a --login-secret=***"},
    {"a|--token-2|s3cret", "a --token-2 ***"},
    {"a|--api-tokens=s3cret,s4cret", "a --api-tokens=***"},
    {"a|--oauth|s3cret", "a --oauth ***"},
    {"a|--header|Cookie: s3cret", "a --header Cookie:***"},
    {"a|--header|X-Auth-Token: s3cret", "a --header X-Auth-Token:***"},
    {"env|WANDB_API_KEY=s3cret|HF_TOKEN=s3cret|python",
     "env WANDB_API_KEY=*** HF_TOKEN=*** python"},
    {"a|AccountName=x;AccountKey=s3cret==", "a AccountName=x;AccountKey=***"},
    {"a|Server=h;Pwd=s3cret;X=1", "a Server=h;Pwd=***"},
    {"a|os.environ['HF_TOKEN']='s3cret'", "a os.environ['HF_TOKEN']=***"},
    {"a|+wandb.key=s3cret", "a +wandb.key=***"},
    {"sh|-c|train --password s3cret --lr 1", "sh -c train --password *** --lr 1"},
    {"sh|-c|train --token 's3 cret' --lr 1", "sh -c train --token *** --lr 1"},
    {"sh|-c|HF_TOKEN=s3cret train", "sh -c HF_TOKEN=***"},
    {"sh|-c|mysql -ps3cret db", "sh -c mysql -p*** db"},
    {"mysql|-u|me|-ps3cret", "mysql -u me -p***"},
    {"/usr/bin/sshpass|-p|s3cret|ssh", "/usr/bin/sshpass -p *** ssh"},
    {"mongosh|-p|s3cret", "mongosh -p ***"},
    {"docker|login|-p|s3cret|host", "docker login -p *** host"},
    {"redis-cli|-a|s3cret", "redis-cli -a ***"},
    {"curl|-u|me:s3cret|https://host/", "curl -u *** https://host/"},
    {"a|redis://:s3cret@host:6379/0", "a redis://:***@host:6379/0"},
    {"a|mongodb+srv://u:p%40s3cret@h.net/db", "a mongodb+srv://u:***@h.net/db"},
    {"a|--url=https://u:s3cret@host/x", "a --url=https://u:***@host/x"},
    {"a|https://u:s3cret@h/ https://v:s3cret@h/", "a https://u:***@h/ https://v:***@h/"},
    {"a|say me:s3cret@host", "a say me:***@host"},
    {"a|https://x.s3.net/o?X-Amz-Signature=s3cret&a=1",
     "a https://x.s3.net/o?X-Amz-Signature=***&a=1"},
    {"a|https://discord.com/api/webhooks/1/s3cret", "a https://discord.com/api/webhooks/***"},
    {"a|https://hooks.slack.com/workflows/T0/s3cret", "a https://hooks.slack.com/workflows/***"},
    {"a|AKIAIOSFODNN7EXAMPLE", "a ***"},
    {"a|gho_abcdefghijklmnop", "a ***"},
    {"a|github_pat_11ABCDEFG0_abcdefghij", "a ***"},
    {"a|glpat-abcdefghijklmnop", "a ***"},
    {"a|xoxp-1234567890-abcdef", "a ***"},
    {"a|xoxe.xoxp-1-abcdefghijkl", "a ***"},
    {"a|sk-proj-abcdefgh1234_xyz", "a ***"},
    {"a|npm_abcdefghijklmnopqrst", "a ***"},
    {"a|AIzaSyA1234567890abcdef", "a ***"},
    {"a|-----BEGIN RSA PRIVATE KEY-----\ns3cret", "a ***"},
    {"a|token|0123456789abcdef0123456789abcdef", "a token ***"},
    {"a|api key|0123456789abcdef0123456789abcdef", "a 'api key' ***"},
    {"a|--key-id|0123456789abcdef0123456789abcdef", "a --key-id ***"},
    {"a|--token-file=wJalrXUtnFEMI7K7MDENGbPxRfiCYEXAMPLEKEY", "a --token-file=***"},
    {"a|secret|wJalrXUtnFEMI7K7MDENGbPxRfiCYEXAMPLEKEY", "a secret ***"},
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
    {"a|--max-tokens|5", "a --max-tokens 5"},
    {"a|--max_new_tokens=2048", "a --max_new_tokens=2048"},
    {"a|--tokens-per-batch|4096", "a --tokens-per-batch 4096"},
    {"a|--tokens|all", "a --tokens all"},
    {"a|--tokenizer_name=bert-base-uncased", "a --tokenizer_name=bert-base-uncased"},
    {"a|--tokenize|--detokenize", "a --tokenize --detokenize"},
    {"a|--token-mixer|attention", "a --token-mixer attention"},
    {"a|--placeholder_token|<cat>", "a --placeholder_token '<cat>'"},
    {"a|--initializer_token=toy", "a --initializer_token=toy"},
    {"a|--mask-token=[MASK]", "a '--mask-token=[MASK]'"},
    {"a|--eos-token-id|2", "a --eos-token-id 2"},
    {"a|--token-file|/home/me/token", "a --token-file /home/me/token"},
    {"a|--key-dim|64", "a --key-dim 64"},
    {"a|--image-key|jpg", "a --image-key jpg"},
    {"a|--sort-key=len", "a --sort-key=len"},
    {"a|--monitor-key|val_loss", "a --monitor-key val_loss"},
    {"a|--monkey|1|--hotkey|ctrl-c", "a --monkey 1 --hotkey ctrl-c"},
    {"a|--keys|5", "a --keys 5"},
    {"a|--forward-pass|both", "a --forward-pass both"},
    {"a|--bypass|norm", "a --bypass norm"},
    {"a|--passes|3", "a --passes 3"},
    {"a|--compass|n", "a --compass n"},
    {"a|--auth-mode|basic", "a --auth-mode basic"},
    {"a|--seed|12345678901", "a --seed 12345678901"},
    {"a|-p|16", "a -p 16"}, /* whatever it means to this program */
    {"mysql|-P|3306", "mysql -P 3306"},
    {"docker|run|-p|80:80", "docker run -p 80:80"},
    {"a|sk-learn-pipeline-large", "a sk-learn-pipeline-large"},
    {"a|hf_hub_download_everything", "a hf_hub_download_everything"},
    {"a|npm_config_registry_url", "a npm_config_registry_url"},
    {"a|ASIANLANGUAGECORPUS", "a ASIANLANGUAGECORPUS"},
    {"a|--checkpoint=/data/Llama3-8B-Instruct/1", "a --checkpoint=/data/Llama3-8B-Instruct/1"},
    {"a|http://localhost:6006/", "a http://localhost:6006/"},
    {"a|--master|10.0.0.1:29500", "a --master 10.0.0.1:29500"},
    {"a|s3://bucket/data@v2", "a s3://bucket/data@v2"},
    {"a|model.layers.0.self_attn.k_proj", "a model.layers.0.self_attn.k_proj"},
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

/* What is left of texts that are no commands; NULL: all of it. */
static const char *const texts[][2] = {
    {"", NULL},
    {"forward", NULL},
    {"self_attn.key: Linear", NULL},
    {"token: 5", NULL},
    {"embedding/token:0", NULL},
    {"best key: val_loss", NULL},
    {"layer 3: conv 3x3, 64 channels", NULL},
    {"0:30@noon", NULL},
    {"loss 0.3@1.5", NULL},
    {"aten::scaled_dot_product_attention", NULL},
    {"save s3://bucket/checkpoint-000100.pt", NULL},
    {"checkpoint 0123456789abcdef0123456789abcdef01234567", NULL},
    {"password=s3cret", "password=***"},
    {"password: s3cret", "password:***"},
    {"api_key=s3cret", "api_key=***"},
    {"token: 0123456789abcdef0123456789abcdef", "token:***"},
    {"token 0123456789abcdef0123456789abcdef seen", "token *** seen"},
    {"Authorization: Bearer wJalrXUtnFEMI7K7MDENGbPxRfiCYEX", "Authorization:***"},
    {"Bearer wJalrXUtnFEMI7K7MDENGbPxRfiCYEX", "Bearer ***"},
    {"load https://me:s3cret@host/x", "load https://me:***@host/x"},
    {"to me:s3cret@host.example", "to me:***@host.example"},
    {"push ghp_abcdefghijklmnop", "push ***"},
    {"train --password s3cret --lr 1", "train --password *** --lr 1"},
    {"hooks.slack.com/services/T0/B0/s3cret", "hooks.slack.com/services/***"},
};

static void secrets_are_taken_out_of_texts(void **state)
{
    char out[100];

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const bool is_changed = redact_text(texts[i][0], out, sizeof out);
        if (is_changed != (texts[i][1] != NULL) || (is_changed && strcmp(out, texts[i][1]) != 0))
            fail_msg("'%s' became '%s'", texts[i][0], is_changed ? out : texts[i][0]);
        assert_true(!is_changed || redact_may_change(texts[i][0]));
    }
}

static void a_text_is_cut_between_characters(void **state)
{
    char out[16];

    (void)state;
    assert_true(redact_text("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 token=s", out, 12));
    assert_string_equal(out, "");
    assert_true(redact_text("\xc3\xa4\xc3\xa4\xc3\xa4 token=s3cret", out, sizeof out));
    assert_string_equal(out, "\xc3\xa4\xc3\xa4\xc3\xa4 token=**");
}

static void an_expression_hides_what_matches(void **state)
{
    static const char raw[] = "a\0--customer=ACME-7\0x";
    char out[100];

    (void)state;
    setenv(REDACT_VARIABLE, "ACME-[0-9]+|^x$", 1);
    redact_pattern_look_again();
    redact_command(raw, sizeof raw, out, sizeof out);
    assert_string_equal(out, "a --customer=*** ***");
    assert_true(redact_may_change("x"));
    assert_true(redact_text("ACME-1 and ACME-22", out, sizeof out));
    assert_string_equal(out, "*** and ***");
    assert_false(redact_text("xx", out, sizeof out));
    setenv(REDACT_VARIABLE, "b*", 1); /* matches nothing everywhere */
    redact_pattern_look_again();
    assert_true(redact_text("abba", out, sizeof out));
    assert_string_equal(out, "a***a");
    unsetenv(REDACT_VARIABLE);
    redact_pattern_look_again();
    assert_false(redact_may_change("abba"));
}

static void a_bad_expression_hides_everything(void **state)
{
    struct ss_error error = {0};
    char out[100];

    (void)state;
    assert_int_equal(redact_pattern_check("(", &error), SS_E_INVALID);
    assert_non_null(strstr(error.message, "'('"));
    assert_int_equal(redact_pattern_check("(a|b)+", &error), 0);
    setenv(REDACT_VARIABLE, "(", 1);
    redact_pattern_look_again();
    assert_true(redact_text("forward", out, sizeof out));
    assert_string_equal(out, "***");
    unsetenv(REDACT_VARIABLE);
    redact_pattern_look_again();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_are_taken_out_of_commands),
        cmocka_unit_test(harmless_words_stay_in_commands),
        cmocka_unit_test(more_secrets_than_are_counted_hide_the_rest),
        cmocka_unit_test(a_command_is_cut_to_its_room),
        cmocka_unit_test(secrets_are_taken_out_of_texts),
        cmocka_unit_test(a_text_is_cut_between_characters),
        cmocka_unit_test(an_expression_hides_what_matches),
        cmocka_unit_test(a_bad_expression_hides_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
