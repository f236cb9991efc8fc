/* A pen writes records into a segment that a reader copies, while the recorder gives the segment away
 * and a pen uses it again: src/record/pen.h (pen_commit), src/record/store.c (empty),
 * src/record/pen.c (next_segment), src/read/lane_walk.c (copy_again, was_given_away).
 *
 * A record is a head and a body, both of which hold its number; numbers of a lease begin with ten
 * times the lease. The reader copies word by word, in any order with the writer's words.
 * What must hold: a record that the reader takes is whole and of the lease that it looked for.
 *
 * BROKEN=1 stores the head before the body, 2 clears the segment before its lease is taken away,
 * 3 copies once, 4 does not look at the lease again. */
#ifndef BROKEN
#define BROKEN 0
#endif
#define RECORDS 2
#define LEASES 2

byte lease;
byte head[RECORDS], body[RECORDS];

inline clear()
{
    i = 0;
    do
    :: i < RECORDS -> head[i] = 0; body[i] = 0; i++
    :: else -> break
    od
}

proctype Writer()
{
    byte use = 1, i;

    do
    :: use <= LEASES ->
#if BROKEN == 2
        clear();
        lease = 0;
#else
        lease = 0;
        clear();
#endif
        lease = use;
        i = 0;
        do
        :: i < RECORDS ->
#if BROKEN == 1
            head[i] = 10 * use + i;
            body[i] = 10 * use + i;
#else
            body[i] = 10 * use + i;
            head[i] = 10 * use + i;
#endif
            i++
        :: else -> break
        od;
        use++
    :: else -> break
    od
}

proctype Reader()
{
    byte wanted, i, count;
    byte h[RECORDS], b[RECORDS];

    wanted = lease;
    if
    :: wanted == 0 -> goto done
    :: else -> skip
    fi;
    i = 0;
    do /* the first copy; within a record too, words come in any order */
    :: i < RECORDS ->
        if
        :: h[i] = head[i]; b[i] = body[i]
        :: b[i] = body[i]; h[i] = head[i]
        fi;
        i++
    :: else -> break
    od;
    count = 0;
    do
    :: count < RECORDS && h[count] != 0 -> count++
    :: else -> break
    od;
#if BROKEN != 3
    i = 0;
    do /* the second copy, of what the first one has heads of */
    :: i < count ->
        if
        :: h[i] = head[i]; b[i] = body[i]
        :: b[i] = body[i]; h[i] = head[i]
        fi;
        i++
    :: else -> break
    od;
#endif
#if BROKEN != 4
    if
    :: lease != wanted -> goto done
    :: else -> skip
    fi;
#endif
    i = 0;
    do
    :: i < count -> assert(h[i] == b[i] && h[i] == 10 * wanted + i); i++
    :: else -> break
    od;
done:
    skip
}

init
{
    run Writer();
    run Reader()
}
