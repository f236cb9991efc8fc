#include <string.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/demo_faults.h"

static struct demo_settings settings = DEMO_DEFAULTS;
static bool epochs_given;

static int take_number(const char *option, const char *text, int64_t lowest,
                       int64_t highest, int64_t *value, struct ss_error *error)
{
    if (demo_number(text, strlen(text), lowest, highest, value))
        return 0;
    return error_set(error, SS_E_INVALID,
                     "--%s takes a number from %lld to %lld, not '%s'.", option,
                     (long long)lowest, (long long)highest, text);
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
    return error_set(error, SS_E_INVALID,
                     "--hidden takes up to %d sizes of layers such as 256,128, each up "
                     "to %d, not '%s'.",
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
     .help = "make it slow on purpose; may be given several times",
     .take = take_fault},
    {.name = "steps",
     .argument = "N",
     .help = "stop after N steps, instead of after some epochs",
     .take = take_steps},
    {.name = "epochs",
     .argument = "N",
     .help = "go N times through all digits; 5 if not given",
     .is_given = &epochs_given,
     .take = take_epochs},
    {.name = "batch",
     .argument = "N",
     .help = "samples a step; 64 if not given",
     .take = take_batch},
    {.name = "hidden",
     .argument = "SIZES",
     .help = "hidden layers; 256,128 if not given",
     .take = take_hidden},
    {.name = "seed",
     .argument = "N",
     .help = "for other digits and other weights; 1 if not given",
     .take = take_seed},
    {.name = "plain",
     .help = "calculate in plain C, even where OpenBLAS is installed",
     .is_given = &settings.plain},
    {.name = "truth",
     .argument = "FILE",
     .help = "write what its own clock says, as JSON",
     .value = &settings.truth},
    {0},
};

const struct command cmd_demo = {
    .name = "demo",
    .summary = "train a small network, as fast or as slow as you like",
    .operands = "",
    .details =
        "Trains a small network to read digits that it draws itself, within seconds. Put\n"
        "'stepscope run --' in front to see where its time goes. What it learns is the\n"
        "same each time, to the last bit, recorded or not.\n"
        "\n"
        "A fault slows it down by a known amount: --fault slow-input, or with a size of\n"
        "its own --fault slow-input=20ms. These are the usual sizes:\n"
        "\n"
        "  slow-input=5ms                         loading a batch takes longer\n"
        "  slow-callback=MetricLog:2ms            a callback takes longer each time\n"
        "  slow-callback-every=MetricLog:50:20ms  the same, each 50th time only\n"
        "  tiny-batch=8                           so few samples a step\n"
        "  cpu-hog=2                              so many processes beside it burn CPU\n"
        "  checkpoint-stall=200ms                 a checkpoint takes longer\n"
        "  growing-step=10us                      each step takes longer than the last\n"
        "  leak=256KB                             each step keeps so much memory\n"
        "  periodic-pause=100:50ms                all stops at each 100th step\n"
        "  long-warm-up=50:10ms                   the first 50 steps take longer\n"
        "  heavy-layer=hidden2:3ms                a layer takes longer\n",
    .options = options,
    .fewest = 0,
    .most = 0,
    .run = run,
};
