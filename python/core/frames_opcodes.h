/* What the instructions of this version are, as far as finding loops in them goes. From its own headers, none
 * of the numbers is written by hand. */
#ifndef FRAMES_OPCODES_H
#define FRAMES_OPCODES_H

enum opcode_kind {
    OPCODE_PLAIN,
    OPCODE_FOR,     /* gets the next item of a `for` */
    OPCODE_EXTENDS, /* has the upper bits of the next one's argument */
    OPCODE_UNKNOWN  /* stands for another one: nothing is known from here on */
};

enum opcode_kind opcode_kind(unsigned char opcode);

/* Units after it that belong to it and are no instructions. */
unsigned opcode_caches(unsigned char opcode);

#endif
