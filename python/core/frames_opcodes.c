#define Py_BUILD_CORE 1
#include <Python.h>

/* The tables are defined in this file, under names of our own. */
#define _PyOpcode_Caches own_opcode_caches
#define _PyOpcode_Deopt own_opcode_base
#if defined(__has_include)
#if PY_VERSION_HEX >= 0x030d0000
#if __has_include(<internal/pycore_opcode_metadata.h>)
#define HAS_TABLES 1
#define NEED_OPCODE_METADATA 1
#include <internal/pycore_opcode_metadata.h>
#endif
#elif PY_VERSION_HEX >= 0x030b0000
#if __has_include(<internal/pycore_opcode.h>)
#define HAS_TABLES 1
#define NEED_OPCODE_TABLES 1
#include <internal/pycore_opcode.h>
#endif
#endif
#endif
#include <opcode.h>

#include "frames_opcodes.h"
#include <stdbool.h>

/* Numbers from here on are put in place of others while somebody traces. */
#ifdef MIN_INSTRUMENTED_OPCODE
enum { FIRST_STAND_IN = MIN_INSTRUMENTED_OPCODE };
#else
enum { FIRST_STAND_IN = 256 };
#endif

/* The instruction that a faster form of it stands for. */
static int base_of(unsigned char opcode)
{
#ifdef HAS_TABLES
    return own_opcode_base[opcode];
#else
    return opcode;
#endif
}

static bool is_stand_in(int opcode)
{
#ifdef ENTER_EXECUTOR
    if (opcode == ENTER_EXECUTOR) {
        return true;
    }
#endif
    return opcode >= FIRST_STAND_IN;
}

enum opcode_kind opcode_kind(unsigned char opcode)
{
#if PY_VERSION_HEX >= 0x030b0000 && !defined(HAS_TABLES)
    return OPCODE_UNKNOWN;
#endif
    if (is_stand_in(opcode)) {
        return OPCODE_UNKNOWN;
    }
    switch (base_of(opcode)) {
    case FOR_ITER:
        return OPCODE_FOR;
    case EXTENDED_ARG:
        return OPCODE_EXTENDS;
    default:
        return OPCODE_PLAIN;
    }
}

unsigned opcode_caches(unsigned char opcode)
{
#ifdef HAS_TABLES
    return own_opcode_caches[base_of(opcode)];
#else
    (void)opcode;
    return 0;
#endif
}
