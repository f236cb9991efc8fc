/* A parallel program as people write them: tests/run/test_mpi.py compiles it with each MPI and runs
 * it.
 *
 *     mpi_program STEPS        each rank computes, then they exchange what they have
 *     mpi_program --cost CALLS what a call takes by its two names, in ns: MPI_, PMPI_, for CALLS
 * blocks
 *
 * Prints what it has seen of its calls by its own clock. With -DWITH_STEPS it says where steps
 * start. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef WITH_STEPS
#include <stepscope/recorder.h>
#else
#define ss_step(samples)
#endif

enum { NUMBERS = 1000, BLOCK = 1000, RANKS_MOST = 16 };

static long now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void compute(long ns)
{
    const long end = now_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
    while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
        ;
}

static void expect(int is_right, const char *what)
{
    if (is_right)
        return;
    fprintf(stderr, "wrong result of %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static void train(int steps, int rank, int world)
{
    static double mine[NUMBERS], sums[NUMBERS];
    long comm_ns = 0;

    for (int step = 0; step < steps; step++) {
        ss_step(8);
        compute(rank == 1 ? 3000000 : 2000000);
        for (int i = 0; i < NUMBERS; i++)
            mine[i] = rank + step;
        const long start = now_ns(CLOCK_MONOTONIC);
        MPI_Allreduce(mine, sums, NUMBERS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        comm_ns += now_ns(CLOCK_MONOTONIC) - start;
        expect(sums[NUMBERS - 1] == world * step + world * (world - 1) / 2.0, "MPI_Allreduce");
    }
    printf("rank %d comm_ns %ld\n", rank, comm_ns);
}

/* Calls with more arguments than registers hold, in place, with a null type, and one that fails. */
static void call_others(int rank, int world)
{
    double all[RANKS_MOST] = {0}, mine = rank, other = -1;
    int counts[RANKS_MOST], places[RANKS_MOST];
    MPI_Status status;

    for (int i = 0; i < RANKS_MOST; i++) {
        counts[i] = 1;
        places[i] = i;
    }
    MPI_Gatherv(&mine, 1, MPI_DOUBLE, all, counts, places, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    expect(rank != 0 || all[world - 1] == world - 1, "MPI_Gatherv");
    all[rank] = rank;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    expect(all[world - 1] == world - 1, "MPI_Allgather");
    const int next = (rank + 1) % world, last = (rank + world - 1) % world;
    MPI_Sendrecv(&mine, 1, MPI_DOUBLE, next, 7, &other, 1, MPI_DOUBLE, last, 7, MPI_COMM_WORLD,
                 &status);
    expect(other == last && status.MPI_SOURCE == last, "MPI_Sendrecv");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    expect(MPI_Bcast(&mine, -1, MPI_DOUBLE, 0, MPI_COMM_WORLD) != MPI_SUCCESS, "a bad MPI_Bcast");
    MPI_Barrier(MPI_COMM_WORLD);
}

static void print_cost(int blocks)
{
    double in = 1, out = 0;
    for (int block = 0; block < blocks; block++) {
        const long start = now_ns(CLOCK_MONOTONIC);
        for (int i = 0; i < BLOCK; i++)
            MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
        const long middle = now_ns(CLOCK_MONOTONIC);
        for (int i = 0; i < BLOCK; i++)
            PMPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
        const long end = now_ns(CLOCK_MONOTONIC);
        printf("%.1f %.1f\n", (double)(middle - start) / BLOCK, (double)(end - middle) / BLOCK);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); /* for the recorder's helper */
    }
}

int main(int argc, char **argv)
{
    int rank, world;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    if (argc == 3 && strcmp(argv[1], "--cost") == 0) {
        print_cost((int)strtol(argv[2], NULL, 10));
    } else {
        train(argc > 1 ? (int)strtol(argv[1], NULL, 10) : 100, rank, world);
        call_others(rank, world);
    }
    MPI_Finalize();
    return 0;
}
