/* supervise/proc_text: the kernel's texts as numbers, and texts that no kernel wrote. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervise/proc_file.h"
#include "supervise/proc_text.h"

static void cores(void **state)
{
    (void)state;
    struct proc_cpus cpus;

    assert_true(proc_text_cpus("cpu  10 1 20 300 40 5 6 7 0 0\n"
                               "cpu0 5 1 10 150 20 5 3 3 0 0\n"
                               "cpu2 5 0 10 150 20 0 3 4 0 0\n"
                               "intr 12345\n",
                               &cpus));
    assert_int_equal(cpus.busy, 10 + 1 + 20 + 5 + 6);
    assert_int_equal(cpus.steal, 7);
    assert_int_equal(cpus.count, 2);
    assert_int_equal(cpus.number[1], 2);
    assert_int_equal(cpus.busy_of[1], 5 + 10 + 3);
    assert_int_equal(cpus.steal_of[1], 4);
    assert_true(proc_text_cpus("cpu  1 2 3 4\n", &cpus)); /* a kernel of long ago */
    assert_int_equal(cpus.steal, 0);
    assert_false(proc_text_cpus("", &cpus));
    assert_false(proc_text_cpus("cpu  1 2 x\n", &cpus));
    assert_false(proc_text_cpus("cpu  99999999999999999999 2 3 4\n", &cpus));
    assert_true(proc_text_cpus("cpu  1 2 3 4\ncpux 1 2 3 4\n", &cpus));
    assert_int_equal(cpus.count, 0);
}

static void processes(void **state)
{
    (void)state;
    struct proc_process process;
    const char *text = "77 (a ) b (c) R 5 77 77 0 -1 4194560 11 12 13 14 150 16 17 18 20 0 "
                       "21 0 22000 4096 24 18446744073709551615\n";

    assert_true(proc_text_process(text, &process));
    assert_int_equal(process.state, 'R');
    assert_int_equal(process.parent, 5);
    assert_int_equal(process.minor_faults, 11);
    assert_int_equal(process.major_faults, 13);
    assert_int_equal(process.user, 150);
    assert_int_equal(process.system, 16);
    assert_int_equal(process.children, 17 + 18);
    assert_int_equal(process.threads, 21);
    assert_int_equal(process.start_ticks, 22000);
    assert_int_equal(process.rss_pages, 24);
    char name[8];
    proc_text_name(text, name, sizeof name);
    assert_string_equal(name, "a ) b (");
    proc_text_name("77 (a", name, sizeof name);
    assert_string_equal(name, "");
    assert_false(proc_text_process("77 (a) R 5 77 77 0", &process));
    assert_false(proc_text_process("77 a R", &process));
    assert_false(proc_text_process("77 (a)", &process));
    assert_false(proc_text_process("", &process));
}

static void pressure(void **state)
{
    (void)state;
    uint64_t some, full;

    assert_true(proc_text_pressure("some avg10=0.00 avg60=0.00 avg300=0.00 total=123\n"
                                   "full avg10=0.00 avg60=0.00 avg300=0.00 total=45\n",
                                   &some, &full));
    assert_int_equal(some, 123);
    assert_int_equal(full, 45);
    assert_true(proc_text_pressure("some avg10=0.00 total=9\n", &some, &full));
    assert_true(full == UINT64_MAX);
    assert_false(proc_text_pressure("some avg10=0.00\nfull total=3\n", &some, &full));
    assert_false(proc_text_pressure("", &some, &full));
}

static void fields(void **state)
{
    (void)state;
    uint64_t value;

    assert_true(proc_text_field("MemTotal: 5 kB\nMemFree:  7 kB\n", "MemFree", &value));
    assert_int_equal(value, 7);
    assert_true(proc_text_field("pswpinx 1\npswpin 2\n", "pswpin", &value));
    assert_int_equal(value, 2);
    assert_true(
        proc_text_field("voluntary_ctxt_switches:\t31\n", "voluntary_ctxt_switches", &value));
    assert_int_equal(value, 31);
    assert_false(proc_text_field("MemTotal: x\n", "MemTotal", &value));
    assert_false(proc_text_field("", "MemTotal", &value));
}

static void traffic(void **state)
{
    (void)state;
    uint64_t in, out;

    assert_true(proc_text_network("Inter-|   Receive  |  Transmit\n"
                                  " face |bytes packets errs|bytes packets\n"
                                  "    lo: 900 1 0 0 0 0 0 0 900 1 0 0 0 0 0 0\n"
                                  "  eth0: 100 1 0 0 0 0 0 0 20 1 0 0 0 0 0 0\n"
                                  "eth1:50 1 0 0 0 0 0 0 30 1 0 0 0 0 0 0\n",
                                  &in, &out));
    assert_int_equal(in, 150);
    assert_int_equal(out, 50);
    assert_false(proc_text_network("eth0: 1 2 3\n", &in, &out));
    const char *disks = " 254 0 vda 10 0 80 0 20 0 160 0 0 0 0\n"
                        " 254 1 vda1 1 0 2 0 3 0 4 0 0 0 0\n";
    assert_true(proc_text_disk(disks, "vda", &in, &out));
    assert_int_equal(in, 80);
    assert_int_equal(out, 160);
    assert_true(proc_text_disk(disks, "vda1", &in, &out));
    assert_int_equal(out, 4);
    assert_false(proc_text_disk(disks, "vd", &in, &out));
    assert_false(proc_text_disk("254 0 vda 1", "vda", &in, &out));
}

static void cgroups(void **state)
{
    (void)state;
    const char *text = "11:memory:/user\n4:cpu,cpuacct:/a:b\n0::/unified/x\n";
    char path[16];
    double limit;

    assert_true(proc_text_cgroup(text, "cpuacct", path, sizeof path));
    assert_string_equal(path, "/a:b");
    assert_true(proc_text_cgroup(text, "", path, sizeof path));
    assert_string_equal(path, "/unified/x");
    assert_false(proc_text_cgroup(text, "cp", path, sizeof path));
    assert_false(proc_text_cgroup(text, "", path, 4)); /* no room */
    assert_false(proc_text_cgroup("0:", "", path, sizeof path));
    assert_true(proc_text_cpu_max("150000 100000\n", &limit));
    assert_true(limit == 1.5);
    assert_true(proc_text_cpu_max("max 100000\n", &limit));
    assert_true(limit == 0);
    assert_false(proc_text_cpu_max("150000 0\n", &limit));
    assert_false(proc_text_cpu_max("", &limit));
}

static void schedule(void **state)
{
    (void)state;
    uint64_t ran, waited;

    assert_true(proc_text_schedstat("123 45 6\n", &ran, &waited));
    assert_int_equal(ran, 123);
    assert_int_equal(waited, 45);
    assert_false(proc_text_schedstat("123\n", &ran, &waited));
}

/* Half a number would be another number. */
static void a_text_that_is_cut_ends_with_a_whole_line(void **state)
{
    (void)state;
    char path[] = "/tmp/stepscope-proc-XXXXXX", text[16];
    const int fd = mkstemp(path);

    assert_int_equal(write(fd, "one 11\ntwo 2222222\n", 19), 19);
    assert_int_equal(close(fd), 0);
    assert_true(proc_read(path, text, sizeof text));
    assert_string_equal(text, "one 11\n");
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cores),    cmocka_unit_test(processes),
        cmocka_unit_test(pressure), cmocka_unit_test(fields),
        cmocka_unit_test(traffic),  cmocka_unit_test(cgroups),
        cmocka_unit_test(schedule), cmocka_unit_test(a_text_that_is_cut_ends_with_a_whole_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
