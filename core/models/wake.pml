/* SPDX-License-Identifier: Apache-2.0
 *
 * Sleeping and waking as core/src/wait.c, wait.h (slr_wake_sleepers), publisher.h (slr_wake_readers) and waiting.c
 * (sleep_slice) do it: publishers, each killed between any two steps, and readers on one futex word
 * {count, waking, sleeping}. A step is one shared access or one system call; memory is sequentially consistent, which the
 * full fences on both sides make good for. Readers sleep without a time limit here.
 *
 * Checked: when nothing moves any more, no reader sleeps although there is a message for it, unless the publisher of that
 * message was killed before it came to wake anybody, and nobody has published since.
 *
 *     spin -DPUBLISHERS=2 -a wake.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan
 *
 * tests/core/test_ring_spin.py runs it, and once for each of the BREAK_ switches, which plant a mistake that it must
 * find.
 */
#ifndef PUBLISHERS
#define PUBLISHERS 2
#endif
#ifndef READERS
#define READERS 1
#endif
#ifndef SENDS
#define SENDS 2 /* of each publisher */
#endif
#ifndef DEATHS
#define DEATHS 1 /* in all */
#endif
#define SLEEPING 1
#define WAKING 2
#define COUNT 4

byte word;    /* the futex word */
byte ready;   /* messages that can be read */
bit asleep[READERS];
byte position[READERS];
byte told;    /* ghost: of so many messages, somebody has looked for sleepers after they were readable, and woken them */
byte deaths, ended;

#define MAY_DIE if :: deaths < DEATHS -> deaths++; goto over :: true fi

inline futex_wake() {
    d_step { r = 0; do :: r < READERS -> asleep[r] = 0; r++ :: else -> break od; r = 0 }
}

proctype Publisher() {
    byte sent, value, waking, covered, r;
    do
    :: sent < SENDS ->
#ifdef BREAK_FENCE /* the look may come before the message is readable */
        value = word;
#endif
        ready++;
        MAY_DIE;
#ifdef BREAK_FENCE
        covered = ready;
#else
        d_step { value = word; covered = ready }
#endif
        if
#ifdef BREAK_MARK_IS_SEEN
        :: !(value & SLEEPING) -> goto looked
#else
        :: !(value & (SLEEPING | WAKING)) -> goto looked
#endif
        :: else
        fi;
again:
        value = word;
        atomic {
            if
            :: word == value ->
#ifdef BREAK_MARK
                waking = (value + COUNT) & ~SLEEPING
#else
                waking = ((value + COUNT) & ~SLEEPING) | WAKING
#endif
                ; word = waking
            :: else -> goto again
            fi
        }
        MAY_DIE;
        futex_wake();
        MAY_DIE;
clear:
        value = word;
        if
#ifdef BREAK_CLEAR /* another waker's mark, too */
        :: value & WAKING ->
#else
        :: (value | SLEEPING) == (waking | SLEEPING) ->
#endif
            atomic { if :: word == value -> word = value & ~WAKING :: else -> goto clear fi }
        :: else
        fi;
looked:
        skip;
        d_step { if :: covered > told -> told = covered :: else fi }
        sent++
    :: else -> break
    od;
over:
    ended++
}

proctype Reader(byte me) {
    byte value;
    do
    :: position[me] < ready -> position[me]++
    :: else ->
#ifdef BREAK_LOOK /* the last look comes before the announcement */
        if :: position[me] < ready -> goto found :: else fi;
        atomic { word = word | SLEEPING; value = word }
#else
        atomic { word = word | SLEEPING; value = word }
        if :: position[me] < ready -> goto found :: else fi;
#endif
        atomic { if :: word == value -> asleep[me] = 1 :: else -> goto found fi }
end:    !asleep[me];
found:
        skip
    od
}

proctype Judge() {
    byte r;
end:
    timeout ->
    assert(ended == PUBLISHERS);
    do
    :: r < READERS -> assert(!asleep[r] || position[r] >= told); r++
    :: else -> break
    od
}

init {
    atomic {
        byte p = 0;
        do :: p < PUBLISHERS -> run Publisher(); p++ :: else -> break od;
        p = 0;
        do :: p < READERS -> run Reader(p); p++ :: else -> break od;
        run Judge()
    }
}
