/* A million damaged runs. */
#include "support/damage.h"
#include "support/reading.h"

static void a_million_damaged_runs_are_read(void **state)
{
    (void)state;
    damage_and_read(1000000, 1000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_million_damaged_runs_are_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
