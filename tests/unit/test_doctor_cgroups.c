/* doctor/cgroup_limits: trees of version 1, 2 and both, in a folder that plays /sys/fs/cgroup. */
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervise/cgroup_limits.h"

static char root[] = "/tmp/stepscope-cgroups-XXXXXX";

static int make_root(void **state)
{
    (void)state;
    memcpy(strrchr(root, '-') + 1, "XXXXXX", 6);
    return mkdtemp(root) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

static int remove_root(void **state)
{
    (void)state;
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Writes a file below the root, with the folders above it. */
static void put(const char *name, const char *text)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void cpu_is(const char *cgroups, double cores)
{
    const struct cgroup_limit limit = cgroup_limit_cpu(root, cgroups);

    assert_true(limit.is_seen);
    assert_float_equal(limit.most, cores, 1e-9);
}

static void memory_is(const char *cgroups, double most, double used)
{
    const struct cgroup_limit limit = cgroup_limit_memory(root, cgroups);

    assert_true(limit.is_seen);
    assert_float_equal(limit.most, most, 0.5);
    assert_float_equal(limit.used, used, 0.5);
}

static void version_2_is_read_on_all_levels(void **state)
{
    (void)state;

    put("cgroup.controllers", "cpuset cpu io memory pids\n");
    put("slice/cpu.max", "150000 100000\n");
    put("slice/memory.max", "2000000000\n");
    put("slice/memory.current", "500000000\n");
    put("slice/job/cpu.max", "max 100000\n");
    put("slice/job/memory.max", "max\n");
    put("slice/job/memory.current", "400000000\n");
    cpu_is("0::/slice/job\n", 1.5);
    memory_is("0::/slice/job\n", 2e9, 5e8);
    put("slice/job/cpu.max", "50000 100000\n");
    cpu_is("0::/slice/job\n", 0.5);
    cpu_is("0::/slice\n", 1.5);
}

static void version_2_without_a_file_has_no_limit(void **state)
{
    (void)state;

    put("cgroup.controllers", "cpuset cpu io pids\n");
    cpu_is("0::/\n", 0);
    cpu_is("0::/gone/in/a/container\n", 0);
    assert_false(cgroup_limit_memory(root, "0::/\n").is_seen);
    put("cgroup.controllers", "cpuset\n"); /* begins like cpu */
    assert_false(cgroup_limit_cpu(root, "0::/\n").is_seen);
}

static void version_1_is_read_where_version_2_has_no_controller(void **state)
{
    (void)state;
    static const char cgroups[] = "4:memory:/job\n1:cpu:/job/inner\n0::/\n";

    put("unified/cgroup.controllers", "\n");
    put("cpu/cpu.cfs_quota_us", "-1\n");
    put("cpu/cpu.cfs_period_us", "100000\n");
    put("cpu/job/cpu.cfs_quota_us", "250000\n");
    put("cpu/job/cpu.cfs_period_us", "100000\n");
    put("cpu/job/inner/cpu.cfs_quota_us", "-1\n");
    put("cpu/job/inner/cpu.cfs_period_us", "100000\n");
    put("memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("memory/memory.usage_in_bytes", "7\n");
    cpu_is(cgroups, 2.5);
    memory_is(cgroups, 0, 7);
    put("memory/job/memory.limit_in_bytes", "1073741824\n");
    put("memory/job/memory.usage_in_bytes", "4096\n");
    memory_is(cgroups, 1073741824, 4096);
}

static void names_of_joined_controllers_are_known(void **state)
{
    (void)state;

    put("cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
    put("cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    cpu_is("3:cpu,cpuacct:/docker/0123\n", 0.5);
}

static void nothing_or_nonsense_is_not_seen(void **state)
{
    (void)state;
    static const char *const odd[] = {"", "\n", "0:", "::", "0::", "cpu", "1:cpu"};

    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        assert_false(cgroup_limit_cpu(root, odd[i]).is_seen);
        assert_false(cgroup_limit_memory(root, odd[i]).is_seen);
    }
    put("slice/cpu.max", "nonsense\n");
    assert_false(cgroup_limit_cpu(root, "0::/slice\n").is_seen);

    static char endless[2 * PATH_MAX];
    memset(endless, '/', sizeof endless - 1);
    memcpy(endless, "0::/", 4);
    assert_false(cgroup_limit_cpu(root, endless).is_seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(version_2_is_read_on_all_levels, make_root, remove_root),
        cmocka_unit_test_setup_teardown(version_2_without_a_file_has_no_limit, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(version_1_is_read_where_version_2_has_no_controller,
                                        make_root, remove_root),
        cmocka_unit_test_setup_teardown(names_of_joined_controllers_are_known, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(nothing_or_nonsense_is_not_seen, make_root, remove_root),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
