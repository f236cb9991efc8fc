/* supervise/descriptors: what stays open, also on a kernel that cannot close a range. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervise/descriptors.h"

enum { OPENED = 40, FIRST = 20, KEPT_LOW = 23, KEPT_HIGH = 41 };

/* From now on this process is on a kernel before 5.9. */
static bool forget_close_range(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 &&
           syscall(SYS_close_range, 900, 901, 0) != 0;
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static bool keeps_two(void)
{
    const int kept[] = {KEPT_LOW, KEPT_HIGH};
    bool fits = true;

    for (int fd = FIRST; fd < FIRST + OPENED; fd++)
        if (dup2(STDERR_FILENO, fd) != fd)
            return false;
    descriptors_keep_only(kept, 2);
    for (int fd = 0; fd < FIRST + OPENED; fd++)
        fits &= is_open(fd) == (fd <= STDERR_FILENO || fd == KEPT_LOW || fd == KEPT_HIGH);
    return fits && write(STDOUT_FILENO, "", 1) < 0;
}

/* In a child, whose descriptors no other case needs. */
static bool keeps_two_in_child(bool on_an_old_kernel)
{
    const pid_t child = fork();
    int status = -1;

    if (child == 0)
        _exit((on_an_old_kernel && !forget_close_range()) || !keeps_two());
    assert_int_equal(waitpid(child, &status, 0), child);
    return status == 0;
}

static void all_but_some_are_closed(void **state)
{
    (void)state;
    assert_true(keeps_two_in_child(false));
}

static void and_on_a_kernel_that_closes_them_one_by_one(void **state)
{
    (void)state;
    assert_true(keeps_two_in_child(true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_but_some_are_closed),
        cmocka_unit_test(and_on_a_kernel_that_closes_them_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
