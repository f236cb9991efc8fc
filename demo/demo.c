#include "demo.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "callbacks.h"
#include "matrix.h"
#include "trainer.h"

static bool is_callback(const char *name, char *message)
{
    char list[DEMO_MESSAGE / 2] = "";

    for (int i = 0; callbacks_name(i); i++) {
        if (strcmp(callbacks_name(i), name) == 0)
            return true;
        size_t size = strlen(list);
        snprintf(list + size, sizeof list - size, "%s%s", i ? ", " : "", callbacks_name(i));
    }
    snprintf(message, DEMO_MESSAGE, "unknown callback '%s'; available: %s.", name, list);
    return false;
}

static bool is_layer(const char *name, int hidden, char *message)
{
    char known[DEMO_NAME];

    for (int i = 1; i <= hidden; i++) {
        snprintf(known, sizeof known, "hidden%d", i);
        if (strcmp(known, name) == 0)
            return true;
    }
    snprintf(message, DEMO_MESSAGE,
             "unknown layer '%s'; available: hidden1 to hidden%d, and output.", name, hidden);
    return strcmp(name, "output") == 0;
}

static bool targets_exist(const struct demo_settings *settings, char *message)
{
    const struct demo_fault *callback = &settings->faults[FAULT_SLOW_CALLBACK];
    const struct demo_fault *every = &settings->faults[FAULT_SLOW_CALLBACK_EVERY];
    const struct demo_fault *layer = &settings->faults[FAULT_HEAVY_LAYER];

    return (!callback->on || is_callback(callback->target, message)) &&
           (!every->on || is_callback(every->target, message)) &&
           (!layer->on || is_layer(layer->target, settings->layers, message));
}

static void print_head(const struct trainer *trainer, const char *arithmetic)
{
    const struct demo_settings *settings = trainer->settings;

    printf("Training a network of %d", DIGIT_PIXELS);
    for (int i = 0; i < settings->layers; i++)
        printf("-%d", settings->hidden[i]);
    printf("-%d to read %d digits (%s):\n%" PRId64 " %s of %d samples\n", DIGIT_CLASSES,
           DEMO_IMAGES, arithmetic, trainer->steps, trainer->steps == 1 ? "step" : "steps",
           trainer->batch);
    fflush(stdout);
}

static void print_end(const struct trainer *trainer, uint64_t weights)
{
    const struct truth *truth = &trainer->truth;
    bool recorded = strncmp(ss_status(), "recording", strlen("recording")) == 0;

    printf("accuracy %.2f %% after %" PRId64 " %s in %.2f s\n"
           "weights %016" PRIx64 ", losses %016" PRIx64 "\n",
           100 * trainer->accuracy, trainer->step, trainer->step == 1 ? "step" : "steps",
           (double)(truth->loop_end_ns - truth->loop_begin_ns) / 1e9, weights, trainer->losses);
    if (!recorded)
        puts("Not recorded. To see where the time went:\n"
             "    stepscope run -- stepscope demo");
    fflush(stdout);
}

static void write_truth(const struct trainer *trainer, uint64_t weights, FILE *file)
{
    fprintf(file,
            "{\n  \"schema\": 1,\n  \"clock\": \"CLOCK_MONOTONIC_RAW\",\n"
            "  \"batch\": %d,\n  \"accuracy\": %.17g,\n"
            "  \"weights\": \"%016" PRIx64 "\",\n  \"losses\": \"%016" PRIx64 "\",\n  \"faults\": ",
            trainer->batch, trainer->accuracy, weights, trainer->losses);
    faults_write(&trainer->faults, file);
    fputs(",\n", file);
    truth_write(&trainer->truth, file);
    fputs("}\n", file);
}

static void train(struct trainer *trainer, const char *arithmetic, FILE *truth)
{
    print_head(trainer, arithmetic);
    trainer_run(trainer);
    const struct network *network = trainer->network;
    uint64_t weights =
        trainer_hash(0, network->values, network->parameters * sizeof *network->values);
    print_end(trainer, weights);
    if (truth)
        write_truth(trainer, weights, truth);
}

/* Whether all reached the file, which is closed. A reader who has seen enough is no error. */
static bool is_written(FILE *file, const char *path, char *message)
{
    bool failed = fflush(file) != 0 || ferror(file);
    int why = errno;

    if (file != stdout)
        fclose(file);
    if (!failed || (file == stdout && why == EPIPE))
        return true;
    snprintf(message, DEMO_MESSAGE, "cannot write %s: %s.", path, strerror(why));
    return false;
}

static enum demo_result run(const struct demo_settings *settings, FILE *truth, char *message)
{
    struct trainer trainer;
    const char *arithmetic = settings->plain ? "plain C" : matrix_choose();

    bool enough = trainer_init(&trainer, settings) == 0;
    if (enough)
        train(&trainer, arithmetic, truth);
    enough = enough && !trainer.truth.out_of_memory;
    trainer_release(&trainer);
    ss_stop();
    if (!enough)
        snprintf(message, DEMO_MESSAGE, "not enough memory.");
    return enough ? DEMO_FINE : DEMO_FAILED;
}

enum demo_result demo_run(const struct demo_settings *settings, char message[DEMO_MESSAGE])
{
    FILE *truth = NULL;

    if (!targets_exist(settings, message))
        return DEMO_BAD_SETTINGS;
    if (settings->truth && !(truth = fopen(settings->truth, "we"))) {
        snprintf(message, DEMO_MESSAGE, "cannot write %s: %s.", settings->truth, strerror(errno));
        return DEMO_FAILED;
    }
    enum demo_result result = run(settings, truth, message);
    if (!is_written(stdout, "what it prints", message))
        result = DEMO_FAILED;
    if (truth && !is_written(truth, settings->truth, message))
        result = DEMO_FAILED;
    return result;
}
