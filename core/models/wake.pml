/* SPDX-License-Identifier: Apache-2.0
 *
 * Sleeping and waking as in core/src/wait/futex.c, futex.h (slr_wake_sleepers), publisher.h (slr_wake_readers), death_wake.h and
 * wait.c (sleep_on): publishers and readers, each killed between any two steps, on one futex word {count, waking, sleeping}; the
 * word `death_wake`, on which the kernel wakes one sleeper for a dead publisher or reader with a death wake; and the slots. A step is
 * one shared access or one system call; for futex_waitv, one of its words. Memory is sequentially consistent, which the full
 * fences on both sides justify. Readers sleep without a time limit here.
 *
 * Checked: when no process can move any more, no live reader sleeps although there is a message for it.
 *
 *     spin -DPUBLISHERS=2 -a wake.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan
 *
 * tests/prove/test_ring_spin.py runs it, and once with each BREAK_ switch, which plants a mistake that the check must find.
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
#define DEATHS 1 /* in total, at most */
#endif
#define SLEEPING 1
#define WAKING 2
#define COUNT 4

byte word;    /* the futex word */
byte ready;   /* readable messages; the next one changes the slot of a reader that has read them all */
#define ANYBODY (READERS + 1) /* a reader by its number, and a publisher, which is in no queue */
#define A_PUBLISHER READERS
bit at_word[ANYBODY], at_orphan[ANYBODY]; /* is in the queue there */
bit woken[ANYBODY];    /* at one of them, since it queued */
bit publisher_died[ANYBODY]; /* at `death_wake` */
bit asleep[ANYBODY];
byte position[READERS];
byte deaths_left, ended;

inline leave_queues() { at_word[me] = 0; at_orphan[me] = 0; asleep[me] = 0 }

/* The kernel wakes one of those at `death_wake`, even if it was already woken in another way. */
inline die() {
    deaths_left--;
    leave_queues();
    if
#ifdef BREAK_WILL
    :: true
#else
#ifdef BREAK_HEIRS_WILL
    :: me != A_PUBLISHER
#endif
    :: at_orphan[0] -> at_orphan[0] = 0; publisher_died[0] = 1; woken[0] = 1; asleep[0] = 0
#if READERS > 1
    :: at_orphan[1] -> at_orphan[1] = 0; publisher_died[1] = 1; woken[1] = 1; asleep[1] = 0
#endif
    :: else
#endif
    fi;
    goto over
}
inline may_die() { if :: atomic { deaths_left -> die() } :: true fi }

inline wake_all() {
#ifdef BREAK_MARK
#define MARK 0
#else
#define MARK WAKING
#endif
    do
    :: value = word;
        atomic { if :: word == value -> waking = ((value + COUNT) & ~SLEEPING) | MARK; word = waking; break :: else fi }
    od;
    may_die();
    d_step {
        r = 0;
        do
        :: r < READERS -> if :: at_word[r] -> at_word[r] = 0; woken[r] = 1; asleep[r] = 0 :: else fi; r++
        :: else -> break
        od;
        r = 0
    }
    may_die();
    do
    :: value = word;
        if
#ifdef BREAK_CLEAR /* the mark of another waker, too */
        :: value & WAKING ->
#else
        :: (value | SLEEPING) == (waking | SLEEPING) ->
#endif
            atomic { if :: word == value -> word = value & ~WAKING; break :: else fi }
        :: else -> break
        fi
    od
}

proctype Publisher() {
    byte sent, value, waking, r, me = A_PUBLISHER;
    do
    :: sent < SENDS ->
#ifdef BREAK_FENCE /* the check may come before the message is readable */
        value = word;
#endif
        ready++;
        may_die();
#ifndef BREAK_FENCE
        value = word;
#endif
        if
#ifdef BREAK_MARK_IS_SEEN
        :: value & SLEEPING ->
#else
        :: value & (SLEEPING | WAKING) ->
#endif
            wake_all()
        :: else
        fi;
        sent++
    :: else -> break
    od;
over:
    ended++
}

proctype Reader(byte me) {
    byte value, waking, slot, r;
    do
    :: position[me] < ready -> position[me]++
    :: else ->
#ifdef BREAK_LOOK /* the last check comes before the announcement */
        if :: position[me] < ready -> goto found :: else fi;
        atomic { word = word | SLEEPING; value = word }
        slot = ready;
#else
        atomic { word = word | SLEEPING; value = word }
        slot = ready;
        if :: position[me] < ready -> goto found :: else fi;
#endif
        atomic { if :: word == value -> at_word[me] = 1 :: else -> goto found fi }
        at_orphan[me] = 1;
        may_die();
#ifndef BREAK_SLOT
        if :: ready == slot :: else -> goto left fi;
#endif
        atomic { if :: woken[me] :: else -> asleep[me] = 1 fi }
end:    if
        :: !asleep[me]
        :: atomic { deaths_left -> die() }
        fi;
        may_die();
left:
        skip;
        d_step { leave_queues(); value = publisher_died[me]; publisher_died[me] = 0; woken[me] = 0 }
        if
#ifdef BREAK_HEIR
        :: false
#else
        :: value -> may_die(); wake_all()
#endif
        :: else
        fi;
found:
        skip
    od;
over:
    skip
}

proctype Judge() {
    byte r;
end:
    timeout ->
    assert(ended == PUBLISHERS);
    do
    :: r < READERS -> assert(!asleep[r] || position[r] >= ready); r++
    :: else -> break
    od
}

init {
    atomic {
        byte p = 0;
        do :: deaths_left < DEATHS -> deaths_left++ :: break od; /* in some runs none: a sleeper may die but need not */
        do :: p < PUBLISHERS -> run Publisher(); p++ :: else -> break od;
        p = 0;
        do :: p < READERS -> run Reader(p); p++ :: else -> break od;
        run Judge()
    }
}
