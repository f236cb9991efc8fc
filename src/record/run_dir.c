#include "run_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "base/launcher.h"
#include "base/quantity.h"
#include "base/redact.h"
#include "stepscope/error.h"
#include "stepscope/format.h"
#include "system.h"

/* What explains a difference between two runs. */
static const char *const KEPT_VARIABLES[] = {"OMP_NUM_THREADS",
                                             "OMP_WAIT_POLICY",
                                             "GOMP_SPINCOUNT",
                                             "OMP_PROC_BIND",
                                             "MKL_NUM_THREADS",
                                             "OPENBLAS_NUM_THREADS",
                                             "NUMEXPR_NUM_THREADS",
                                             "KMP_AFFINITY",
                                             "KMP_BLOCKTIME",
                                             "MALLOC_ARENA_MAX",
                                             "MALLOC_MMAP_MAX_",
                                             "MALLOC_MMAP_THRESHOLD_",
                                             "MALLOC_TOP_PAD_",
                                             "MALLOC_TRIM_THRESHOLD_",
                                             "GLIBC_TUNABLES",
                                             "LD_PRELOAD",
                                             "CUDA_VISIBLE_DEVICES",
                                             "CUDA_LAUNCH_BLOCKING",
                                             "HIP_VISIBLE_DEVICES",
                                             "XLA_FLAGS",
                                             "JAX_PLATFORMS",
                                             "KERAS_BACKEND",
                                             "TF_ENABLE_ONEDNN_OPTS",
                                             "TF_GPU_THREAD_MODE",
                                             "TF_NUM_INTEROP_THREADS",
                                             "TF_NUM_INTRAOP_THREADS",
                                             "TF_XLA_FLAGS",
                                             "TF_USE_LEGACY_KERAS",
                                             "TORCHDYNAMO_DISABLE",
                                             "PYTORCH_CUDA_ALLOC_CONF",
                                             "PYTHONHASHSEED",
                                             "PYTHONMALLOC",
                                             "NCCL_DEBUG",
                                             "NCCL_SOCKET_IFNAME",
                                             "RANK",
                                             "LOCAL_RANK",
                                             "WORLD_SIZE",
                                             "LOCAL_WORLD_SIZE",
                                             "SLURM_JOB_ID",
                                             "SLURM_NTASKS",
                                             "SLURM_PROCID",
                                             NULL};

void run_dir_settings(struct run_settings *settings, const struct ss_options *options)
{
    static const struct ss_options none = {NULL, -1, 0, 0};
    struct launcher_ids ids;

    memset(settings, 0, sizeof *settings);
    options = options ? options : &none;
    const char *disabled = secure_getenv("STEPSCOPE_DISABLE");
    const char *dir = options->dir;
    if (!dir && !(disabled && strcmp(disabled, "1") == 0))
        dir = secure_getenv("STEPSCOPE_RUN");
    if (dir) /* one that is too long is cut, and run_dir_make() refuses it */
        memcpy(settings->dir, dir, strnlen(dir, sizeof settings->dir - 1));
    launcher_read(&ids);
    settings->rank = options->rank >= 0 ? options->rank : ids.rank;
    settings->world = options->world > 0 ? options->world : ids.world;
    settings->cap_bytes =
        options->cap_bytes ? options->cap_bytes : size_parse(secure_getenv("STEPSCOPE_CAP"));
}

static void write_new_file(int dir_fd, const char *name, const char *text)
{
    size_t left = strlen(text);
    int fd = -1;
    if (system_file_may_have(left))
        fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return; /* it is there, or the process file will tell what is wrong */
    while (left > 0) {
        ssize_t n = write(fd, text, left);
        if (n <= 0)
            break;
        text += n;
        left -= (size_t)n;
    }
    close(fd);
}

static void append_value(char *out, size_t size, const char *key, const char *value)
{
    size_t at = strlen(out);
    at += (size_t)snprintf(out + at, size - at, "%s: ", key);
    for (; *value && at + 3 < size; value++) {
        const char *escaped = *value == '\n'   ? "\\n"
                              : *value == '\r' ? "\\r"
                              : *value == '\\' ? "\\\\"
                                               : NULL;
        if (escaped) {
            out[at++] = escaped[0];
            out[at++] = escaped[1];
        } else {
            out[at++] = *value;
        }
    }
    out[at++] = '\n';
    out[at] = '\0';
}

static void own_command(char *out, size_t size)
{
    static char raw[8192];
    size_t n = system_read_file("/proc/self/cmdline", raw, sizeof raw);
    redact_command(raw, n, out, size);
}

static void write_manifest(int dir_fd)
{
    static char text[20000], value[8192];
    text[0] = '\0';
    struct utsname host;
    struct tm now;
    time_t seconds = time(NULL);
    append_value(text, sizeof text, "format", "1");
    append_value(text, sizeof text, "version", SS_VERSION);
    own_command(value, sizeof value);
    append_value(text, sizeof text, "command", value);
    append_value(text, sizeof text, "host", uname(&host) == 0 ? host.nodename : "");
    strftime(value, sizeof value, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &now));
    append_value(text, sizeof text, "created", value);
    write_new_file(dir_fd, "manifest", text);
}

static void make_parents(char *path)
{
    for (char *p = path + 1; *p; p++) {
        if (*p == '/') {
            *p = '\0';
            (void)mkdir(path, 0777);
            *p = '/';
        }
    }
}

static bool make_dir(char *path)
{
    if (mkdir(path, 0700) == 0)
        return true;
    if (errno != ENOENT)
        return false;
    make_parents(path);
    return mkdir(path, 0700) == 0;
}

int run_dir_make(struct run_settings *settings)
{
    static char absolute[PATH_MAX];
    if (strlen(settings->dir) + 1 == sizeof settings->dir)
        return SS_E_NODIR;
    /* One that is there is not made: mkdir() waits for a disk that is frozen, to fail then. */
    int fd = open(settings->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool made = fd < 0 && errno == ENOENT && make_dir(settings->dir);
    if (made || (fd < 0 && errno == EEXIST))
        fd = open(settings->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    else if (fd < 0 && errno == ENOSPC)
        return SS_E_NOSPACE;
    if (fd < 0 || !realpath(settings->dir, absolute) ||
        strlen(absolute) + 1 >= sizeof settings->dir) {
        int error = errno == EMFILE || errno == ENFILE ? SS_E_LIMIT : SS_E_NODIR;
        if (fd >= 0)
            close(fd);
        return error;
    }
    /* Children may have another working directory. */
    memcpy(settings->dir, absolute, strlen(absolute) + 1);
    if (made) {
        write_new_file(fd, ".gitignore", "*\n");
        write_manifest(fd);
    }
    close(fd);
    return SS_E_OK;
}

static void cpu_model(char *out, size_t size)
{
    static char text[4096];
    system_read_file("/proc/cpuinfo", text, sizeof text);
    const char *line = strstr(text, "model name");
    const char *value = line ? strchr(line, ':') : NULL;
    size_t n = value ? strcspn(value, "\n") : 0;
    out[0] = '\0';
    if (n > 2)
        snprintf(out, size, "%.*s", (int)(n - 2), value + 2);
}

static const char *also_key, *also_value;

void run_dir_also(const char *key, const char *value)
{
    also_key = key;
    also_value = value;
}

void run_dir_describe(void (*put)(void *context, const char *key, const char *value), void *context)
{
    static char value[8192], path[PATH_MAX];
    struct utsname host;
    own_command(value, sizeof value);
    put(context, "command", value);
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    put(context, "executable", redact_text(path, value, sizeof value) ? value : path);
    put(context, "version", SS_VERSION);
    if (uname(&host) == 0) {
        put(context, "host", host.nodename);
        put(context, "kernel", host.release);
    }
    cpu_model(value, sizeof value);
    put(context, "cpu", value);
#ifdef __GLIBC__
    snprintf(value, sizeof value, "glibc %s", gnu_get_libc_version());
    put(context, "libc", value);
#endif
    if (also_key)
        put(context, also_key, also_value);
    for (const char *const *name = KEPT_VARIABLES; *name; name++) {
        const char *text = secure_getenv(*name);
        char key[64];
        snprintf(key, sizeof key, "env.%s", *name);
        if (text)
            put(context, key, redact_text(text, value, sizeof value) ? value : text);
    }
}
