#include "truth.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The loop's own time, other than what nests in it or happens beside it. */
static bool is_of_the_loop(enum ss_stage stage)
{
    return stage != SS_STAGE_USER && stage != SS_STAGE_PRODUCE;
}

void truth_watch(struct truth *truth, struct part *part)
{
    part->name = ss_intern(part->text, part->stage, part->role, part->scope, part->object);
    if (is_of_the_loop(part->stage)) {
        part->stage_ns = &truth->stage_ns[part->stage];
        part->stage_unsure_ns = &truth->unsure_ns;
    }
    if (truth->part_count < TRUTH_PARTS)
        truth->parts[truth->part_count++] = part;
}

/* As the kernel counts it for the calling thread, the second number of a line; -1: it does not. */
static int64_t waited_so_far(void)
{
    FILE *file = fopen("/proc/thread-self/schedstat", "re");
    char line[128], *waited = NULL;

    if (!file)
        return -1;
    if (fgets(line, sizeof line, file))
        waited = strchr(line, ' ');
    fclose(file);
    return waited ? strtoll(waited, NULL, 10) : -1;
}

void truth_loop_begin(struct truth *truth)
{
    truth->waited_ns = truth->wanted ? waited_so_far() : -1;
    truth->loop_begin_ns = clock_ns();
}

void truth_loop_end(struct truth *truth)
{
    truth->loop_end_ns = clock_ns();
    const int64_t waited_ns = truth->waited_ns < 0 ? -1 : waited_so_far();
    truth->waited_ns = waited_ns < 0 ? -1 : waited_ns - truth->waited_ns;
}

static bool make_room(struct truth *truth)
{
    if (truth->count < truth->capacity)
        return true;
    int64_t capacity = truth->capacity ? 2 * truth->capacity : 1024;
    struct truth_step *steps = realloc(truth->steps, (size_t)capacity * sizeof *truth->steps);
    if (!steps) {
        truth->out_of_memory = true;
        return false;
    }
    truth->steps = steps;
    truth->capacity = capacity;
    return true;
}

static void end_at(struct truth *truth, int64_t now_ns)
{
    int64_t spent[SS_STAGE_COUNT];
    struct truth_step *step = &truth->steps[truth->count];

    for (int i = 0; i < SS_STAGE_COUNT; i++)
        spent[i] = truth->stage_ns[i] - truth->at_start_ns[i];
    step->wall_ns = now_ns - step->start_ns - spent[SS_STAGE_EVAL] - spent[SS_STAGE_CHECKPOINT];
    step->data_ns = spent[SS_STAGE_DATA];
    step->forward_ns = spent[SS_STAGE_FORWARD];
    step->backward_ns = spent[SS_STAGE_BACKWARD];
    step->optimizer_ns = spent[SS_STAGE_OPTIMIZER];
    step->callback_ns = spent[SS_STAGE_CALLBACK];
    step->unsure_ns = truth->unsure_ns - truth->unsure_at_start_ns;
    truth->count++;
    truth->open = false;
}

void truth_step_begin(struct truth *truth, int64_t before_ns)
{
    if (!truth->wanted)
        return;
    int64_t now_ns = clock_ns();
    int64_t unsure_ns = truth->unsure_ns;
    truth->unsure_ns += now_ns - before_ns; /* of the old step, and of the new one */
    if (truth->open)
        end_at(truth, now_ns);
    if (!make_room(truth))
        return;
    truth->steps[truth->count].start_ns = now_ns;
    memcpy(truth->at_start_ns, truth->stage_ns, sizeof truth->at_start_ns);
    truth->unsure_at_start_ns = unsure_ns;
    truth->open = true;
}

void truth_step_end(struct truth *truth)
{
    if (truth->open)
        end_at(truth, clock_ns());
}

static void write_column(const struct truth *truth, FILE *file, const char *name, size_t offset)
{
    fprintf(file, "    \"%s\": [", name);
    for (int64_t i = 0; i < truth->count; i++) {
        int64_t value;
        memcpy(&value, (const char *)&truth->steps[i] + offset, sizeof value);
        fprintf(file, "%s%" PRId64, i ? "," : "", value);
    }
    fputs("],\n", file);
}

static void write_part(const struct part *part, FILE *file)
{
    static const char *const stages[] = {
#define STAGE_TEXT(id, number, text, meaning) [number] = text,
        SS_STAGES(STAGE_TEXT)};

    fprintf(file, "    {\"name\": \"%s\", \"object\": \"%s\", \"stage\": \"%s\", ", part->text,
            part->object ? part->object : "", stages[part->stage]);
    fprintf(file, "\"count\": %" PRId64 ", \"total_ns\": %" PRId64 ", \"unsure_ns\": %" PRId64 "}",
            part->count, part->total_ns, part->unsure_ns);
}

void truth_write(const struct truth *truth, FILE *file)
{
    fprintf(file,
            "  \"loop\": {\"begin_ns\": %" PRId64 ", \"end_ns\": %" PRId64
            ", \"waited_ns\": %" PRId64 ", \"eval_ns\": %" PRId64 ", \"checkpoint_ns\": %" PRId64
            "},\n",
            truth->loop_begin_ns, truth->loop_end_ns, truth->waited_ns,
            truth->stage_ns[SS_STAGE_EVAL], truth->stage_ns[SS_STAGE_CHECKPOINT]);
    fputs("  \"steps\": {\n", file);
    write_column(truth, file, "start_ns", offsetof(struct truth_step, start_ns));
    write_column(truth, file, "wall_ns", offsetof(struct truth_step, wall_ns));
    write_column(truth, file, "data_ns", offsetof(struct truth_step, data_ns));
    write_column(truth, file, "forward_ns", offsetof(struct truth_step, forward_ns));
    write_column(truth, file, "backward_ns", offsetof(struct truth_step, backward_ns));
    write_column(truth, file, "optimizer_ns", offsetof(struct truth_step, optimizer_ns));
    write_column(truth, file, "callback_ns", offsetof(struct truth_step, callback_ns));
    write_column(truth, file, "unsure_ns", offsetof(struct truth_step, unsure_ns));
    fprintf(file, "    \"count\": %" PRId64 "\n  },\n  \"parts\": [\n", truth->count);
    for (int i = 0; i < truth->part_count; i++) {
        write_part(truth->parts[i], file);
        fputs(i + 1 < truth->part_count ? ",\n" : "\n", file);
    }
    fputs("  ]\n", file);
}

void truth_release(struct truth *truth)
{
    free(truth->steps);
}
