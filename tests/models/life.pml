/* Start, stop and events: the gate and the users of a recording (src/record/gate.h,
 * src/record/session.c, src/record/attach.c: attach_pen, attach_drop_user).
 *
 * An event compares one number and then writes, without a lock: between the two, the recording may be
 * stopped, and another one started. A child of fork() has a gate of its own, that is zero.
 * What must hold: nothing is written to a recording whose memory is gone, no event that begins after
 * a stop to the one that was stopped, a child never writes to that of its parent, and when all threads
 * have noticed, the memory of each stopped one is given back.
 *
 * BROKEN=1 gives the memory back when the recording is stopped, 2 counts no thread as a user, 3 uses
 * the number of a gate again, 4 does not zero the gate of a child. */
#ifndef BROKEN
#define BROKEN 0
#endif
#define RECORDINGS 2
#define THREADS 2
#define EVENTS 3
#define FORKED 0
#define OFF 2
#define FIRST 3

byte gate = OFF;
byte current;               /* number of the recording, 0: none */
byte users[RECORDINGS + 1];
bool is_mapped[RECORDINGS + 1];
bool lock;
byte ended;

#if BROKEN == 3
#define GATE_OF(recording) FIRST
#else
#define GATE_OF(recording) (FIRST + recording)
#endif

inline take() { atomic { !lock; lock = true } }
inline give() { lock = false }

inline drop(recording)
{
    users[recording]--;
    if
    :: users[recording] == 0 -> is_mapped[recording] = false
    :: else -> skip
    fi
}

proctype Owner() /* calls start and stop */
{
    byte next = 1;

    do
    :: next <= RECORDINGS ->
        take();
        users[next] = 1;
        is_mapped[next] = true;
        current = next;
        gate = GATE_OF(next);
        give();
        take();
        gate = OFF;
        current = 0;
#if BROKEN == 1
        is_mapped[next] = false;
#else
        drop(next);
#endif
        give();
        next++
    :: else -> break
    od;
    ended++
}

/* The slow path of an event, and the end of a thread. */
inline leave_and_join()
{
    take();
    if
    :: mine != 0 ->
#if BROKEN != 2
        drop(mine);
#endif
        mine = 0;
        mine_gate = 255
    :: else -> skip
    fi;
    if
    :: current != 0 && !is_last ->
        mine = current;
        mine_gate = GATE_OF(current);
#if BROKEN != 2
        users[mine]++
#endif
    :: else -> skip
    fi;
    give()
}

proctype Child(byte parents_gate; byte parents)
{
    byte own_gate = FORKED; /* the kernel zeroes the page */

#if BROKEN == 4
    own_gate = gate;
#endif
    assert(own_gate != parents_gate) /* so that its next event is on the slow path */
}

proctype Thread()
{
    byte mine, mine_gate = 255, left = EVENTS;
    bool is_last, forked;

    do
    :: left > 0 ->
        left--;
        if
        :: atomic { gate == mine_gate -> assert(current == mine) }; /* the fast path */
            assert(is_mapped[mine])
        :: else ->
            leave_and_join()
        fi;
        if
        :: !forked && mine != 0 -> forked = true; run Child(mine_gate, mine)
        :: skip
        fi
    :: else -> break
    od;
    is_last = true;
    leave_and_join();
    ended++
}

init
{
    byte i;

    atomic {
        run Owner();
        i = 0;
        do
        :: i < THREADS -> run Thread(); i++
        :: else -> break
        od
    };
    (ended == THREADS + 1);
    i = 1;
    do
    :: i <= RECORDINGS -> assert(!is_mapped[i]); i++
    :: else -> break
    od
}
