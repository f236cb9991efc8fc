#include "experiment/try.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/redact.h"
#include "render/numbers.h"
#include "render/table.h"
#include "render/units.h"

enum { VARIABLES_MOST = 8, ERROR_COLUMNS = 200, COMMAND_BYTES = 32768 };
static const double matters = 0.02; /* as in a comparison of runs */

/* Words that stand for variables which only change how fast a program runs. */
static const struct cure {
    const char *word;
    const char *variables[VARIABLES_MOST];
} cures[] = {
    {"malloc",
     {"MALLOC_TRIM_THRESHOLD_=-1", "MALLOC_MMAP_THRESHOLD_=1073741824",
      "MALLOC_TOP_PAD_=268435456"}},
    {"omp-passive", {"OMP_WAIT_POLICY=passive"}},
};

static int add_threads(struct variants *variants, const char *word, const char *count,
                       char *const *command, struct ss_error *error)
{
    const char *variables[VARIABLES_MOST] = {NULL};
    struct buf text[VARIANT_THREAD_NAMES] = {{0}};
    char *end;

    if (strtol(count, &end, 10) < 1 || *end != '\0')
        return error_set(error, SS_E_INVALID, "threads takes a number, as in threads=1.");
    for (size_t i = 0; i < VARIANT_THREAD_NAMES; i++) {
        buf_printf(&text[i], "%s=%s", variant_thread_names[i], count);
        variables[i] = buf_text(&text[i]);
    }
    const int failed = variants_add_environment(variants, word, variables, command, error);
    for (size_t i = 0; i < VARIANT_THREAD_NAMES; i++)
        buf_release(&text[i]);
    return failed;
}

bool try_has(const char *word, size_t size)
{
    static const char variable[] = "env:";

    for (size_t i = 0; i < sizeof cures / sizeof cures[0]; i++)
        if (strlen(cures[i].word) == size && strncmp(cures[i].word, word, size) == 0)
            return true;
    return strncmp(word, variable, strlen(variable)) == 0;
}

static int add_word(struct variants *variants, const char *word, char *const *command,
                    struct ss_error *error)
{
    static const char threads[] = "threads=", variable[] = "env:";

    for (size_t i = 0; i < sizeof cures / sizeof cures[0]; i++)
        if (strcmp(cures[i].word, word) == 0)
            return variants_add_environment(variants, word, cures[i].variables, command, error);
    if (strncmp(word, threads, strlen(threads)) == 0)
        return add_threads(variants, word, word + strlen(threads), command, error);
    if (strncmp(word, variable, strlen(variable)) == 0 &&
        strchr(word, '=') > word + strlen(variable)) {
        const char *const variables[] = {word + strlen(variable), NULL};
        return variants_add_environment(variants, variables[0], variables, command, error);
    }
    return error_set(error, SS_E_INVALID, "'%s' cannot be tried: there are " TRY_WORDS ".", word);
}

int try_add(struct variants *variants, const char *what, char *const *command,
            struct ss_error *error)
{
    const char *const none[] = {NULL};
    int failed = variants_add_environment(variants, "as it is", none, command, error);

    if (!failed)
        failed = variants_add_environment(variants, "as it is, again", none, command, error);
    for (const char *at = what; !failed; at++) {
        const size_t size = strcspn(at, ",");
        char *const word = strndup(at, size);
        failed = word ? add_word(variants, word, command, error)
                      : error_set(error, SS_E_NOMEM, "%s", ss_error_text(SS_E_NOMEM));
        free(word);
        at += size;
        if (*at == '\0')
            break;
    }
    return failed;
}

static bool is_measured(const struct sweep_row *row)
{
    return row->rate.mid > 0 && row->of_best.mid > 0;
}

/* By how much two trainings differ that are the same. */
static double own_difference(const struct sweep_result *result)
{
    const struct sweep_row *const again = &result->rows[TRY_AGAIN];

    return is_measured(again) ? fabs(1 / again->of_best.mid - 1) : 0;
}

struct try_gain try_gain_of(const struct sweep_result *result, size_t i)
{
    const struct interval rate = result->rows[i].of_best;
    struct try_gain out = {.gain = {0, 0, INFINITY}, .word = COMPARE_INCONCLUSIVE};

    if (!is_measured(&result->rows[i]))
        return out;
    out.gain = rounds_gain(rate);
    if (!isfinite(out.gain.high))
        return out;
    const struct interval change = {-out.gain.high, -out.gain.mid, -out.gain.low};
    const bool is_chance = change.low <= 0 && change.high >= 0;
    out.word = compare_judge(change, is_chance, matters);
    if ((out.word == COMPARE_FASTER || out.word == COMPARE_SLOWER) &&
        (!is_measured(&result->rows[TRY_AGAIN]) || fabs(out.gain.mid) <= own_difference(result)))
        out.word = COMPARE_INCONCLUSIVE;
    return out;
}

size_t try_winner(const struct sweep_result *result)
{
    size_t winner = SIZE_MAX;

    for (size_t i = TRY_FIRST; i < result->count; i++)
        if (try_gain_of(result, i).word == COMPARE_FASTER &&
            (winner == SIZE_MAX || result->rows[i].of_best.mid > result->rows[winner].of_best.mid))
            winner = i;
    return winner;
}

static const char *const words[] = {[COMPARE_INCONCLUSIVE] = "inconclusive",
                                    [COMPARE_SAME] = "same",
                                    [COMPARE_FASTER] = "faster",
                                    [COMPARE_SLOWER] = "slower"};

static void add_row(struct table *table, const struct sweep_result *result, size_t i)
{
    const struct sweep_row *const row = &result->rows[i];
    const struct try_gain gain = try_gain_of(result, i);
    char text[UNITS_SIZE];

    table_text(table, row->label);
    table_cell(table, "%s", row->step_ns > 0 ? units_duration(text, (int64_t)row->step_ns) : "-");
    if (i == TRY_AS_IT_IS || !is_measured(row)) {
        table_cell(table, "%s", "");
        table_cell(table, "%s", "");
        table_cell(table, "%s", is_measured(row) ? "" : "failed");
        return;
    }
    table_cell(table, "%.1f %%", 100 * gain.gain.mid);
    if (isfinite(gain.gain.high))
        table_cell(table, "%.1f to %.1f", 100 * gain.gain.low, 100 * gain.gain.high);
    else
        table_cell(table, "-");
    table_cell(table, "%s", words[gain.word]);
}

static void add_quoted(struct buf *out, const char *word)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";

    if (word[0] && word[strspn(word, plain)] == '\0') {
        buf_add_text(out, word);
        return;
    }
    buf_add_text(out, "'");
    for (; *word; word++)
        if (*word == '\'')
            buf_add_text(out, "'\\''");
        else
            buf_add(out, word, 1);
    buf_add_text(out, "'");
}

void try_line(struct buf *out, const struct variant *variant)
{
    char command[COMMAND_BYTES] = "";
    struct buf raw = {0};

    for (char *const *entry = variant->environment; *entry; entry++) {
        const size_t name = strcspn(*entry, "=");
        buf_printf(out, "%.*s=", (int)name, *entry);
        if ((*entry)[name] && (*entry)[name + 1])
            add_quoted(out, *entry + name + 1);
        buf_add_text(out, " ");
    }
    for (char *const *word = variant->command; *word; word++)
        buf_add(&raw, *word, strlen(*word) + 1);
    if (!raw.failed && raw.size > 0)
        redact_command(raw.data, raw.size, command, sizeof command);
    buf_add_text(out, command);
    buf_release(&raw);
}

static void print_keep(struct page *page, const struct variants *variants,
                       const struct sweep_result *result)
{
    const size_t winner = try_winner(result);
    struct buf line = {0};

    if (winner == SIZE_MAX) {
        page_prose(page, "none of the changes makes it certainly faster");
    } else {
        try_line(&line, &variants->variant[winner]);
        page_text(page, (struct ss_text){line.data, line.size}, line.size);
    }
    buf_release(&line);
    page_field(page, winner == SIZE_MAX ? "result" : "keep");
}

void try_text(struct sink *out, const struct variants *variants, const struct sweep_result *result,
              const struct style *style)
{
    char took[UNITS_SIZE];
    struct table table;
    struct page page;

    page_init(&page, out);
    page.columns = style->columns;
    buf_printf(&page.value, "stepscope try: %zu changes in %s%s", result->count - TRY_FIRST,
               units_duration(took, (int64_t)(result->seconds * 1e9)),
               result->signal ? ", interrupted" : "");
    page_line(&page);
    table_init(&table);
    table_column(&table, "", TABLE_TEXT);
    table_column(&table, "step", TABLE_NUMBER);
    table_column(&table, "gain", TABLE_NUMBER);
    table_column(&table, "95 % interval", TABLE_NUMBER);
    table_column(&table, "verdict", TABLE_TEXT);
    for (size_t i = 0; i < result->count; i++)
        add_row(&table, result, i);
    table_print(&table, &page, style);
    table_release(&table);
    print_keep(&page, variants, result);
    sweep_text_notes(&page, result);
    page_release(&page);
}

static void add_arm(struct json *json, const struct sweep_result *result, size_t i)
{
    const struct sweep_row *const row = &result->rows[i];
    const struct try_gain gain = try_gain_of(result, i);

    json_begin_object(json, NULL);
    json_string(json, "arm", row->label);
    json_int(json, "steps", (int64_t)row->steps);
    if (is_measured(row))
        json_double(json, "step_ns", row->step_ns);
    else
        json_null(json, "step_ns");
    if (i != TRY_AS_IT_IS && isfinite(gain.gain.high)) {
        json_double(json, "gain", gain.gain.mid);
        json_begin_array(json, "gain_ci");
        json_double(json, NULL, gain.gain.low);
        json_double(json, NULL, gain.gain.high);
        json_end_array(json);
        json_string(json, "verdict", words[gain.word]);
    } else {
        json_null(json, "gain");
        json_null(json, "gain_ci");
        json_null(json, "verdict");
    }
    if (is_measured(row))
        json_null(json, "error");
    else
        json_bytes(json, "error", row->error.data, row->error.size);
    json_end_object(json);
}

void try_json(struct sink *out, const struct sweep_result *result)
{
    const size_t winner = try_winner(result);
    struct json json;

    json_init(&json, out);
    json_begin_object(&json, NULL);
    json_begin_array(&json, "arms");
    for (size_t i = 0; i < result->count; i++)
        add_arm(&json, result, i);
    json_end_array(&json);
    if (winner == SIZE_MAX)
        json_null(&json, "winner");
    else
        json_string(&json, "winner", result->rows[winner].label);
    sweep_json_facts(&json, result);
    json_end_object(&json);
    json_end_line(&json);
}
