/* crc32c() of base: the vectors of RFC 3720, B.4, and the one that every list of CRCs
 * has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/crc32c.h"

static void known_sums_are_as_they_are_published(void **state)
{
    uint8_t zeros[32] = {0}, ones[32], up[32], down[32];

    (void)state;
    memset(ones, 0xff, sizeof ones);
    for (uint8_t i = 0; i < 32; i++) {
        up[i] = i;
        down[i] = (uint8_t)(31 - i);
    }
    assert_int_equal(crc32c("123456789", 9), 0xe3069283);
    assert_int_equal(crc32c(zeros, sizeof zeros), 0x8a9136aa);
    assert_int_equal(crc32c(ones, sizeof ones), 0x62a8ab43);
    assert_int_equal(crc32c(up, sizeof up), 0x46dd794e);
    assert_int_equal(crc32c(down, sizeof down), 0x113fdb5c);
}

static void no_bytes_have_the_sum_zero(void **state)
{
    (void)state;
    assert_int_equal(crc32c("", 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_sums_are_as_they_are_published),
        cmocka_unit_test(no_bytes_have_the_sum_zero),
    };
    return cmocka_run_group_tests_name("export/crc32c", tests, NULL, NULL);
}
