/* libstepscope-mpi.so: calls of MPI as spans of stage `comm`, in programs that were not changed.
 *
 * It is loaded in front of libmpi (LD_PRELOAD), defines the functions below, and hands each call on
 * to the PMPI_ function of the same name, which every MPI library has for this purpose. A handle is
 * a pointer in Open MPI and an int in MPICH; both, and counts, arrive in a machine word and are
 * handed on as they came, so that one library serves both. The argument of a span is the bytes that
 * this rank gave or asked for, where one count and one type say it.
 *
 * Fortran programs call names in lower case, by reference, with the result behind the arguments.
 * What MPI calls inside another call is part of that one. */
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/mpi_recorder.h"

typedef intptr_t word;
typedef word (*words_function)(word, word, word, word, word, word, word, word, word, word, word,
                               word, word);

enum { ARGUMENTS = 13 }; /* the most of a call: Sendrecv has 12, and Fortran one for the result */

enum kind {
    OF_SOME, /* ranks */
    OF_ALL,  /* of a group: a collective */
    SETUP
};

struct call {
    const char *name;        /* MPI_Allreduce */
    const char *symbol;      /* of the function to call instead: PMPI_Allreduce */
    unsigned char arguments; /* without Fortran's for the result */
    signed char count, type; /* which arguments they are; -1: bytes are not known */
    signed char in_place;    /* which buffer may be MPI_IN_PLACE, so that they say nothing; -1 */
    enum kind kind;
    _Bool is_fortran;
    words_function original;
    ss_name span; /* 0: not known yet, or nothing is recorded */
};

static _Thread_local _Bool is_inside;

struct search {
    const char *symbol;
    void *found;
};

static int look_into(struct dl_phdr_info *info, size_t size, void *context)
{
    struct search *search = context;
    (void)size;
    if (!info->dlpi_name || !strstr(info->dlpi_name, "libmp"))
        return 0;
    void *library = dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD);
    search->found = library ? dlsym(library, search->symbol) : NULL;
    return search->found != NULL;
}

/* Next in the order of loading; or in a library that was loaded for one extension only, where that
 * order does not lead. */
static words_function find_original(const char *symbol)
{
    struct search search = {symbol, dlsym(RTLD_NEXT, symbol)};
    words_function function;
    if (!search.found)
        dl_iterate_phdr(look_into, &search);
    if (!search.found) {
        fprintf(stderr, "stepscope: the MPI library has no %s; run without --mpi\n", symbol);
        abort();
    }
    memcpy(&function, &search.found, sizeof function);
    return function;
}

static words_function original_of(struct call *call)
{
    words_function function = __atomic_load_n(&call->original, __ATOMIC_RELAXED);
    if (!function) {
        function = find_original(call->symbol);
        __atomic_store_n(&call->original, function, __ATOMIC_RELAXED);
    }
    return function;
}

static ss_name span_of(struct call *call, const struct mpi_recorder *recorder)
{
    ss_name span = __atomic_load_n(&call->span, __ATOMIC_RELAXED);
    if (!span) {
        const _Bool is_collective = call->kind == OF_ALL;
        span = recorder->intern(call->name, call->kind == SETUP ? SS_STAGE_SETUP : SS_STAGE_COMM,
                                is_collective ? SS_ROLE_COLLECTIVE : SS_ROLE_NONE, SS_SCOPE_NONE,
                                is_collective ? call->name : NULL);
        __atomic_store_n(&call->span, span, __ATOMIC_RELAXED);
    }
    return span;
}

static int size_of_type(const struct call *call, word type)
{
    static struct call c = {.symbol = "PMPI_Type_size"}, fortran = {.symbol = "pmpi_type_size_"};
    int size = 0, failed = 0;
    if (call->is_fortran)
        original_of (&fortran)(type, (word)&size, (word)&failed, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    else
        failed = (int)original_of(&c)(type, (word)&size, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    return failed ? 0 : size;
}

/* MPI_IN_PLACE is 1 in Open MPI and -1 in MPICH; Fortran's is the address of a variable. */
static _Bool is_in_place(word buffer)
{
    return buffer == 1 || buffer == -1;
}

/* After the call: then MPI has found its arguments to be right. */
static int64_t bytes_of(const struct call *call, const word *a)
{
    if (call->count < 0 ||
        (call->in_place >= 0 && (call->is_fortran || is_in_place(a[call->in_place]))))
        return 0;
    const word count = a[call->count];
    const int number = call->is_fortran ? *(const int *)count : (int)count; /* NOLINT: an address */
    return number > 0 ? (int64_t)number * size_of_type(call, a[call->type]) : 0;
}

static word forward(struct call *call, const word *a)
{
    return original_of(call)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10],
                             a[11], a[12]);
}

static word record(struct call *call, const word *a)
{
    const struct mpi_recorder *recorder = is_inside ? NULL : mpi_recorder();
    if (!recorder)
        return forward(call, a);
    is_inside = 1;
    recorder->begin(span_of(call, recorder), 0);
    const word result = forward(call, a);
    const _Bool failed = call->is_fortran ? *(const int *)a[call->arguments] != 0 /* NOLINT */
                                          : (int)result != 0;
    recorder->end(failed ? SS_FLAG_FAILED : 0, failed ? 0 : bytes_of(call, a));
    is_inside = 0;
    return result;
}

/* X(name, in lower case, arguments, count, type, in_place, kind) */
#define EACH_CALL(X)                                                                               \
    X(Init, init, 2, -1, -1, -1, SETUP)                                                            \
    X(Init_thread, init_thread, 4, -1, -1, -1, SETUP)                                              \
    X(Barrier, barrier, 1, -1, -1, -1, OF_ALL)                                                     \
    X(Bcast, bcast, 5, 1, 2, -1, OF_ALL)                                                           \
    X(Reduce, reduce, 7, 2, 3, -1, OF_ALL)                                                         \
    X(Allreduce, allreduce, 6, 2, 3, -1, OF_ALL)                                                   \
    X(Reduce_scatter, reduce_scatter, 6, -1, -1, -1, OF_ALL)                                       \
    X(Reduce_scatter_block, reduce_scatter_block, 6, 2, 3, -1, OF_ALL)                             \
    X(Scan, scan, 6, 2, 3, -1, OF_ALL)                                                             \
    X(Exscan, exscan, 6, 2, 3, -1, OF_ALL)                                                         \
    X(Gather, gather, 8, 1, 2, 0, OF_ALL)                                                          \
    X(Gatherv, gatherv, 9, 1, 2, 0, OF_ALL)                                                        \
    X(Scatter, scatter, 8, 4, 5, 3, OF_ALL)                                                        \
    X(Scatterv, scatterv, 9, 5, 6, 4, OF_ALL)                                                      \
    X(Allgather, allgather, 7, 1, 2, 0, OF_ALL)                                                    \
    X(Allgatherv, allgatherv, 8, 1, 2, 0, OF_ALL)                                                  \
    X(Alltoall, alltoall, 7, -1, -1, -1, OF_ALL)                                                   \
    X(Alltoallv, alltoallv, 9, -1, -1, -1, OF_ALL)                                                 \
    X(Alltoallw, alltoallw, 9, -1, -1, -1, OF_ALL)                                                 \
    X(Send, send, 6, 1, 2, -1, OF_SOME)                                                            \
    X(Bsend, bsend, 6, 1, 2, -1, OF_SOME)                                                          \
    X(Ssend, ssend, 6, 1, 2, -1, OF_SOME)                                                          \
    X(Rsend, rsend, 6, 1, 2, -1, OF_SOME)                                                          \
    X(Recv, recv, 7, 1, 2, -1, OF_SOME)                                                            \
    X(Mrecv, mrecv, 5, 1, 2, -1, OF_SOME)                                                          \
    X(Probe, probe, 4, -1, -1, -1, OF_SOME)                                                        \
    X(Sendrecv, sendrecv, 12, 1, 2, -1, OF_SOME)                                                   \
    X(Sendrecv_replace, sendrecv_replace, 9, 1, 2, -1, OF_SOME)                                    \
    X(Wait, wait, 2, -1, -1, -1, OF_SOME)                                                          \
    X(Waitall, waitall, 3, -1, -1, -1, OF_SOME)                                                    \
    X(Waitany, waitany, 4, -1, -1, -1, OF_SOME)                                                    \
    X(Waitsome, waitsome, 5, -1, -1, -1, OF_SOME)                                                  \
    X(Win_fence, win_fence, 2, -1, -1, -1, OF_ALL)

/* A function reads more arguments than its caller gave: what stands there is handed on, and never
 * used. */
#define PARAMETERS                                                                                 \
    word a, word b, word c, word d, word e, word f, word g, word h, word i, word j, word k,        \
        word l, word m
#define CALL(label, calls, argument_count, count_at, type_at, in_place_at, whose, fortran)         \
    static struct call own = {.name = "MPI_" label,                                                \
                              .symbol = (calls),                                                   \
                              .arguments = (argument_count),                                       \
                              .count = (count_at),                                                 \
                              .type = (type_at),                                                   \
                              .in_place = (in_place_at),                                           \
                              .kind = (whose),                                                     \
                              .is_fortran = (fortran)};                                            \
    return record(&own, (const word[ARGUMENTS]){a, b, c, d, e, f, g, h, i, j, k, l, m})
#define DEFINE(name, lower, arguments, count, type, in_place, kind)                                \
    SS_API word MPI_##name(PARAMETERS);                                                            \
    SS_API word MPI_##name(PARAMETERS)                                                             \
    {                                                                                              \
        CALL(#name, "PMPI_" #name, arguments, count, type, in_place, kind, 0);                     \
    }                                                                                              \
    SS_API word mpi_##lower##_(PARAMETERS);                                                        \
    SS_API word mpi_##lower##_(PARAMETERS)                                                         \
    {                                                                                              \
        CALL(#name, "pmpi_" #lower "_", (arguments) - ((kind) == SETUP ? 2 : 0), count, type,      \
             in_place, kind, 1); /* Init has no argc and argv there */                             \
    }
EACH_CALL(DEFINE)
