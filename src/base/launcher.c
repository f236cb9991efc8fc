#include "base/launcher.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the order in which they count: a launcher inside another one tells more. `id` and `more_id`
 * are what the job is called, with both if there are two. */
static const struct launcher {
    const char *name, *rank, *world, *id, *more_id;
    const char *given; /* without this one, the rank is none */
} launchers[] = {
    {"stepscope", "STEPSCOPE_RANK", "STEPSCOPE_WORLD", NULL, NULL, NULL},
    {"torchrun", "RANK", "WORLD_SIZE", "TORCHELASTIC_RUN_ID", NULL, NULL},
    {"torchrun", "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", NULL},
    {"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE", NULL, NULL},
    {"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_MCA_ess_base_jobid", NULL,
     NULL},
    {"pmix", "PMIX_RANK", NULL, "PMIX_NAMESPACE", NULL, NULL},
    {"pmi", "PMI_RANK", "PMI_SIZE", "PMI_JOBID", NULL, NULL},
    {"mvapich", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", NULL, NULL, NULL},
    {"pals", "PALS_RANKID", NULL, "PALS_APID", NULL, NULL},
    {"flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_JOB_ID", NULL, NULL},
    {"slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_STEP_ID"},
    {"jax", "JAX_PROCESS_ID", "JAX_NUM_PROCESSES", "JAX_COORDINATOR_ADDRESS", NULL, NULL},
};
enum { LAUNCHERS = sizeof launchers / sizeof launchers[0] };

enum { WORKERS_MOST = 100000 };

/* What follows `"key":`; NULL: there is none. */
static const char *value_of(const char *text, const char *key)
{
    const size_t size = strlen(key);
    for (const char *at = text ? strstr(text, key) : NULL; at; at = strstr(at, key)) {
        at += size;
        const char *colon = at + strspn(at, " \t\n");
        if (*colon == ':')
            return colon + 1 + strspn(colon + 1, " \t\n");
    }
    return NULL;
}

/* Texts in a list. */
static int count_of(const char *list)
{
    int quotes = 0;
    for (; list && *list && *list != ']'; list++)
        quotes += *list == '"';
    return quotes / 2;
}

bool launcher_read_tf_config(const char *text, int *rank, int *world)
{
    const char *task = text ? value_of(text, "\"task\"") : NULL;
    const char *type = value_of(task, "\"type\"");
    const char *index = value_of(task, "\"index\"");
    if (!type || !index)
        return false;
    index += *index == '"'; /* some write it as a text */
    const long number = isdigit((unsigned char)*index) ? strtol(index, NULL, 10) : -1;
    const bool is_chief = strncmp(type, "\"chief\"", 7) == 0;
    if (number < 0 || number > WORKERS_MOST || (!is_chief && strncmp(type, "\"worker\"", 8) != 0))
        return false;
    const int chiefs = count_of(value_of(text, "\"chief\""));
    *rank = is_chief ? 0 : (int)number + chiefs;
    *world = chiefs + count_of(value_of(text, "\"worker\""));
    return true;
}

/* In the script of a batch job, and in the shell of an interactive one, Slurm sets the rank of a
 * process that is none: it runs in no step, or in one of those numbers. */
static const long long slurm_least_special = 0xfffffff0;

static long long number_of(const char *variable)
{
    const char *text = variable ? secure_getenv(variable) : NULL;
    char *end;

    if (!text || !*text)
        return -1;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    return *end == '\0' && errno == 0 && value >= 0 ? value : -1;
}

static int small_number_of(const char *variable)
{
    const long long value = number_of(variable);

    return value <= INT_MAX ? (int)value : -1;
}

static bool is_given(const struct launcher *launcher)
{
    const long long step = launcher->given ? number_of(launcher->given) : 0;

    return step >= 0 && step < slurm_least_special;
}

/* A text that says something: torchrun calls a job without a name "none". */
static const char *id_of(const char *variable)
{
    const char *text = variable ? secure_getenv(variable) : NULL;

    return text && *text && strcmp(text, "none") != 0 ? text : NULL;
}

static void read_job(struct launcher_ids *ids)
{
    for (size_t i = 0; i < LAUNCHERS && !ids->job[0]; i++) {
        const struct launcher *launcher = &launchers[i];
        const char *id = id_of(launcher->id), *more = id_of(launcher->more_id);
        if (!id || (launcher->more_id && !more) || !is_given(launcher) ||
            small_number_of(launcher->rank) < 0)
            continue;
        snprintf(ids->job, sizeof ids->job, "%s%s%s", id, more ? "." : "", more ? more : "");
        ids->launcher = launcher->name;
    }
}

/* A pod of an indexed job is called JOB-INDEX. */
static void read_kubernetes(struct launcher_ids *ids)
{
    const int index = small_number_of("JOB_COMPLETION_INDEX");
    char host[256] = "", end[16];

    if (index < 0)
        return;
    const size_t cut = (size_t)snprintf(end, sizeof end, "-%d", index);
    if (gethostname(host, sizeof host - 1) != 0 || strlen(host) <= cut ||
        strcmp(host + strlen(host) - cut, end) != 0)
        return;
    if (ids->rank < 0) {
        ids->rank = index;
        ids->launcher = "kubernetes";
    }
    if (!ids->job[0])
        snprintf(ids->job, sizeof ids->job, "%.*s", (int)(strlen(host) - cut), host);
}

/* All workers have the same cluster in it. */
static void name_cluster(struct launcher_ids *ids, const char *text)
{
    const char *cluster = value_of(text, "\"cluster\"");
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (int depth = 0; cluster && *cluster; cluster++) {
        depth += *cluster == '{';
        depth -= *cluster == '}';
        if (!isspace((unsigned char)*cluster))
            hash = (hash ^ (unsigned char)*cluster) * UINT64_C(0x100000001b3);
        if (depth == 0)
            break;
    }
    if (cluster)
        snprintf(ids->job, sizeof ids->job, "%016" PRIx64, hash);
}

void launcher_read(struct launcher_ids *ids)
{
    const char *const tf_config = secure_getenv("TF_CONFIG");

    *ids = (struct launcher_ids){.rank = -1};
    for (size_t i = 0; i < LAUNCHERS; i++) {
        const struct launcher *launcher = &launchers[i];
        const int rank = is_given(launcher) ? small_number_of(launcher->rank) : -1;
        const int world = is_given(launcher) ? small_number_of(launcher->world) : -1;
        if (ids->rank < 0 && rank >= 0) {
            ids->rank = rank;
            ids->launcher = launcher->name;
        }
        if (ids->world == 0 && world > 0)
            ids->world = world;
    }
    if (ids->rank < 0 && launcher_read_tf_config(tf_config, &ids->rank, &ids->world)) {
        ids->launcher = "tensorflow";
        name_cluster(ids, tf_config);
    }
    read_job(ids);
    read_kubernetes(ids);
}
