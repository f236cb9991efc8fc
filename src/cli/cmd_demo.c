#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/quantity.h"
#include "cli/command.h"
#include "cli/options.h"
#include "demo/demo.h"

static const int64_t LONGEST_NS = 60000000000;
static const int64_t MOST_BYTES = 1 << 30;

static const struct {
    const char *name, *form, *size;
} known[FAULT_COUNT] = {
#define FAULT_ROW(id, fault, kinds, usual) {fault, kinds, usual},
    DEMO_FAULTS(FAULT_ROW)};

/* A whole number between the two ends. False if it is anything else. */
static bool demo_number(const char *text, size_t size, int64_t lowest, int64_t highest,
                        int64_t *value)
{
    int64_t number = 0;

    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9' || number > highest / 10)
            return false;
        number = 10 * number + (text[i] - '0');
    }
    *value = number;
    return size > 0 && number >= lowest && number <= highest;
}

/* "64KB", "1MB"; a KB is 1024 bytes. */
static bool parse_bytes(const char *text, size_t size, int64_t *bytes)
{
    int64_t unit = 1;

    if (size > 2 && text[size - 1] == 'B') {
        unit = text[size - 2] == 'K' ? 1024 : text[size - 2] == 'M' ? 1024 * 1024 : 0;
        size -= 2;
    }
    if (unit == 0 || !demo_number(text, size, 1, MOST_BYTES / unit, bytes))
        return false;
    *bytes *= unit;
    return true;
}

static bool parse_time(const char *text, size_t size, int64_t *ns)
{
    char copy[DEMO_NAME];

    if (size >= sizeof copy)
        return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return duration_parse(copy, ns) && *ns <= LONGEST_NS;
}

static bool parse_name(const char *text, size_t size, char name[DEMO_NAME])
{
    if (size == 0 || size >= DEMO_NAME)
        return false;
    memcpy(name, text, size);
    name[size] = '\0';
    return true;
}

static bool parse_field(char kind, const char *text, size_t size, struct demo_fault *fault)
{
    switch (kind) {
    case 'n':
        return parse_name(text, size, fault->target);
    case '#':
        return demo_number(text, size, 1, DEMO_STEPS, &fault->count);
    case 't':
        return parse_time(text, size, &fault->ns);
    default:
        return parse_bytes(text, size, &fault->bytes);
    }
}

/* Of the fields of `form`, the last ones may be all that is given: those before keep their
 * value. */
static bool parse_size(const char *form, const char *text, struct demo_fault *fault)
{
    size_t fields = 1;

    for (const char *colon = strchr(text, ':'); colon; colon = strchr(colon + 1, ':'))
        fields++;
    if (fields > strlen(form))
        return false;
    for (form += strlen(form) - fields; *form; form++) {
        size_t size = strcspn(text, ":");
        if (!parse_field(*form, text, size, fault))
            return false;
        text += size + (text[size] == ':');
    }
    return true;
}

static int unknown_fault(const char *text, size_t size, struct ss_error *error)
{
    struct suggestion suggestion = suggest_start(text, size);

    for (int i = 0; i < FAULT_COUNT; i++)
        suggest_try(&suggestion, known[i].name);
    if (!suggestion.best)
        return error_set(error, SS_E_INVALID, "unknown fault '%.*s'.", (int)size, text);
    return error_set(error, SS_E_INVALID, "unknown fault '%.*s'. Did you mean '%s'?", (int)size,
                     text, suggestion.best);
}

static bool fits(int id, const struct demo_fault *fault)
{
    if (id == FAULT_TINY_BATCH)
        return fault->count <= DEMO_IMAGES;
    return id != FAULT_CPU_HOG || fault->count <= DEMO_HOGS;
}

/* Switches on the fault that `text` names (slow-input=5ms), with the size that it gives or else the
 * usual one. 0, or SS_E_INVALID with a sentence. */
static int demo_faults_add(struct demo_fault faults[FAULT_COUNT], const char *text,
                           struct ss_error *error)
{
    size_t size = strcspn(text, "=");
    int id = 0;

    while (id < FAULT_COUNT &&
           (strlen(known[id].name) != size || memcmp(known[id].name, text, size) != 0))
        id++;
    if (id == FAULT_COUNT)
        return unknown_fault(text, size, error);
    struct demo_fault *fault = &faults[id];
    if (fault->on)
        return error_set(error, SS_E_INVALID, "fault '%s' is given twice.", known[id].name);
    *fault = (struct demo_fault){.on = true};
    if (!parse_size(known[id].form, known[id].size, fault) ||
        (text[size] && !parse_size(known[id].form, text + size + 1, fault)) || !fits(id, fault))
        return error_set(error, SS_E_INVALID, "fault '%s' is given as %s=%s, not as '%s'.",
                         known[id].name, known[id].name, known[id].size, text);
    return 0;
}

static struct demo_settings settings = DEMO_DEFAULTS;
static bool epochs_given;

static int take_number(const char *option, const char *text, int64_t lowest, int64_t highest,
                       int64_t *value, struct ss_error *error)
{
    if (demo_number(text, strlen(text), lowest, highest, value))
        return 0;
    return error_set(error, SS_E_INVALID, "--%s takes a number from %lld to %lld, not '%s'.",
                     option, (long long)lowest, (long long)highest, text);
}

static int take_steps(const char *text, struct ss_error *error)
{
    return take_number("steps", text, 1, DEMO_STEPS, &settings.steps, error);
}

static int take_epochs(const char *text, struct ss_error *error)
{
    return take_number("epochs", text, 1, 100000, &settings.epochs, error);
}

static int take_batch(const char *text, struct ss_error *error)
{
    int64_t batch = 0;
    int failed = take_number("batch", text, 1, DEMO_IMAGES, &batch, error);
    settings.batch = (int)batch;
    return failed;
}

static int take_seed(const char *text, struct ss_error *error)
{
    int64_t seed = 0;
    int failed = take_number("seed", text, 0, INT32_MAX, &seed, error);
    settings.seed = (uint64_t)seed;
    return failed;
}

static int take_hidden(const char *text, struct ss_error *error)
{
    const char *at = text;

    for (settings.layers = 0; settings.layers < DEMO_LAYERS;) {
        size_t size = strcspn(at, ",");
        int64_t width;
        if (!demo_number(at, size, 1, DEMO_WIDTH, &width))
            break;
        settings.hidden[settings.layers++] = (int)width;
        if (at[size] == '\0')
            return 0;
        at += size + 1;
    }
    return error_set(
        error, SS_E_INVALID,
        "--hidden takes up to %d sizes of layers such as 256,128, each up to %d, not '%s'.",
        DEMO_LAYERS, DEMO_WIDTH, text);
}

static int take_fault(const char *text, struct ss_error *error)
{
    return demo_faults_add(settings.faults, text, error);
}

static int run(struct console *console, int count, char **operands)
{
    (void)count;
    (void)operands;
    if (settings.steps && epochs_given) {
        console_error(console, "give --steps or --epochs, not both.");
        return EXIT_USAGE;
    }
    char message[DEMO_MESSAGE];
    enum demo_result result = demo_run(&settings, message);
    if (result == DEMO_FINE)
        return EXIT_FINE;
    console_error(console, "%s", message);
    return result == DEMO_BAD_SETTINGS ? EXIT_USAGE : EXIT_DATA;
}

static const struct cli_option options[] = {
    {.name = "fault",
     .argument = "FAULT",
     .help = "make it slow on purpose; can be repeated",
     .take = take_fault},
    {.name = "steps", .argument = "N", .help = "stop after N steps", .take = take_steps},
    {.name = "epochs",
     .argument = "N",
     .help = "train for N epochs (default: 5)",
     .is_given = &epochs_given,
     .take = take_epochs},
    {.name = "batch", .argument = "N", .help = "batch size (default: 64)", .take = take_batch},
    {.name = "hidden",
     .argument = "SIZES",
     .help = "hidden layers (default: 256,128)",
     .take = take_hidden},
    {.name = "seed", .argument = "N", .help = "random seed (default: 1)", .take = take_seed},
    {.name = "plain",
     .help = "use plain C, even where OpenBLAS is installed",
     .is_given = &settings.plain},
    {.name = "truth",
     .argument = "FILE",
     .help = "write the demo's own timings as JSON",
     .value = &settings.truth},
    {0},
};

const struct command cmd_demo = {
    .name = "demo",
    .summary = "train a small network, as fast or as slow as you like",
    .operands = "",
    .details = "Trains a small network on generated digits, within seconds. Put\n"
               "'stepscope run --' in front to see where its time goes. The result is the\n"
               "same each time, bit for bit, recorded or not.\n"
               "\n"
               "A fault slows it down by a known amount: --fault slow-input, or with a size:\n"
               "--fault slow-input=20ms. The defaults:\n"
               "\n"
               "  slow-input=5ms                         loading a batch takes longer\n"
               "  slow-callback=MetricLog:2ms            a callback takes longer each time\n"
               "  slow-callback-every=MetricLog:50:20ms  the same, each 50th time only\n"
               "  tiny-batch=8                           only 8 samples per step\n"
               "  cpu-hog=2                              2 other processes burn CPU\n"
               "  checkpoint-stall=200ms                 a checkpoint takes longer\n"
               "  growing-step=10us                      each step takes longer than the last\n"
               "  leak=256KB                             each step leaks 256 KB\n"
               "  periodic-pause=100:50ms                every 100th step pauses for 50 ms\n"
               "  long-warm-up=50:10ms                   the first 50 steps take longer\n"
               "  heavy-layer=hidden2:3ms                a layer takes longer\n",
    .options = options,
    .fewest = 0,
    .most = 0,
    .run = run,
};
