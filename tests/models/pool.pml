/* The pool of segments: the helper pushes, threads pop without a lock (src/record/store.c: push,
 * store_pop). Head and tail only grow; a slot is their remainder.
 *
 * What must hold: a segment has one owner at a time, each that was pushed is popped once, in the
 * end none is missing.
 *
 * BROKEN=1 moves the tail before the segment is in its slot, 2 takes the slot after the head was
 * moved, 3 moves the head with a store instead of a compare and swap, 4 pushes into a full pool. */
#ifndef BROKEN
#define BROKEN 0
#endif
#define SLOTS 2
#define SEGMENTS 5
#define THREADS 2

byte pool[SLOTS]; /* numbers of segments from 1 */
byte head, tail;
byte popped[SEGMENTS + 1];
byte pushed, taken;
bool is_done;

proctype Helper()
{
    byte next = 1, at;

    do
    :: next <= SEGMENTS ->
#if BROKEN != 4
        (tail - head < SLOTS); /* it fills up to SLOTS, and is the only one that does */
#endif
        at = tail;
#if BROKEN == 1
        tail = at + 1;
        pool[at % SLOTS] = next;
#else
        pool[at % SLOTS] = next;
        tail = at + 1;
#endif
        next++
    :: else -> break
    od;
    is_done = true
}

proctype Thread()
{
    byte seen, segment;

    do
    :: seen = head;
    again:
        if
        :: seen == tail ->
            if
            :: is_done && head == tail -> break
            :: else -> skip /* dropped and counted */
            fi
        :: else ->
#if BROKEN != 2
            segment = pool[seen % SLOTS];
#endif
#if BROKEN == 3
            head = seen + 1;
#else
            atomic {
                if
                :: head == seen -> head = seen + 1
                :: else -> seen = head; goto again
                fi
            };
#endif
#if BROKEN == 2
            segment = pool[seen % SLOTS];
#endif
            assert(segment > 0);
            popped[segment]++;
            assert(popped[segment] == 1)
        fi
    od;
    taken++
}

init
{
    byte i;

    atomic {
        run Helper();
        i = 0;
        do
        :: i < THREADS -> run Thread(); i++
        :: else -> break
        od
    };
    (taken == THREADS);
    i = 1;
    do
    :: i <= SEGMENTS -> assert(popped[i] == 1); i++
    :: else -> break
    od
}
