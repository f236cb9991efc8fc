#include "frames_loops.h"

#include "frames_opcodes.h"
#include <stdint.h>

enum { UNIT_BYTES = 2, ARGUMENT_BITS = 8 };

/* The body goes up to where the loop jumps when there is no further item. */
static struct code_loop loop_at(size_t first, size_t body, uint32_t argument,
                                size_t units)
{
    const size_t end = argument < units - body ? body + argument : units;
    return (struct code_loop){(int)first, (int)body, (int)end};
}

size_t loops_find(const unsigned char *instructions, size_t bytes,
                  struct code_loop *loops, size_t most)
{
    const size_t units = bytes / UNIT_BYTES;
    size_t count = 0, first = 0; /* where the instruction begins, with what extends it */
    uint32_t argument = 0;
    for (size_t unit = 0, next; unit < units; unit = next) {
        const unsigned char opcode = instructions[unit * UNIT_BYTES];
        const enum opcode_kind kind = opcode_kind(opcode);
        next = unit + 1 + opcode_caches(opcode);
        if (kind == OPCODE_UNKNOWN || next > units) {
            break;
        }
        argument = argument << ARGUMENT_BITS | instructions[unit * UNIT_BYTES + 1];
        if (kind == OPCODE_FOR) {
            if (count < most) {
                loops[count] = loop_at(first, next, argument, units);
            }
            count++;
        }
        first = kind == OPCODE_EXTENDS ? first : next;
        argument = kind == OPCODE_EXTENDS ? argument : 0;
    }
    return count;
}
