/* SPDX-License-Identifier: Apache-2.0
 *
 * Holding against reclaiming, as core/src/ports/hold.c (slipring_subscriber_hold), read.c (slr_intact) and reclaim.c
 * (reclaim_round, advance_freed) do it: writers that make room by moving oldest, then freed, and readers that hold a
 * message in place or copy it without a hold; each killed between any two steps. A step is one shared access; memory is
 * sequentially consistent, which the fences make good for. Sequences are claimed one after the other (claim.pml has how).
 *
 * Checked: what a reader holds does not change; what it copied without a hold and found intact was the message.
 *
 *     spin -DWRITERS=2 -a reclaim.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan
 *
 * tests/prove/test_ring_spin.py runs it, and once for each of the BREAK_ switches, which plant a mistake that it must
 * find.
 */
#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef READERS
#define READERS 1
#endif
#ifndef SLOTS
#define SLOTS 3
#endif
#ifndef SENDS
#define SENDS 5 /* in all */
#endif
#ifndef DEATHS
#define DEATHS 1 /* of readers */
#endif
#define NO_HOLD 255
#define HALF 254
#define SLOT(i) ((i) % SLOTS)

byte content[SLOTS]; /* which sequence's bytes are there; HALF while they are written */
bit written[SENDS];  /* the words */
byte claimed, oldest, freed;
byte hold[READERS];
bit alive[READERS]; /* the locks */
byte deaths;

#define MAY_DIE if :: deaths < DEATHS -> deaths++; goto dead :: true fi

proctype Writer() {
    byte i, r, from, limit, was, h;
    do
    :: claimed < SENDS ->
#ifdef BREAK_FREED /* room is what is passed, whoever holds it */
        was = oldest;
#else
        was = freed;
#endif
        atomic {
            if
            :: claimed < SENDS && claimed - was < SLOTS - 1 -> i = claimed; claimed++
            :: else -> i = NO_HOLD
            fi
        }
        if
        :: i != NO_HOLD ->
            content[SLOT(i)] = HALF;
            content[SLOT(i)] = i;
            written[i] = 1
        :: i == NO_HOLD && claimed < SENDS ->
#ifdef BREAK_ORDER /* holds are looked at before oldest has moved */
            limit = NO_HOLD - 2; r = 0;
            do
            :: r < READERS ->
                h = hold[r];
                if :: alive[r] && h < limit && h >= freed -> limit = h :: else fi;
                r++
            :: else -> break
            od;
            r = 0;
            from = oldest;
            if
            :: from < claimed && written[from] -> atomic { if :: oldest == from -> oldest = from + 1 :: else fi }
            :: else
            fi;
            h = oldest;
            if :: h < limit -> limit = h :: else fi;
#else
            from = oldest;
            if /* a settled one may be passed, readers here are lossy */
            :: from < claimed && written[from] -> atomic { if :: oldest == from -> oldest = from + 1 :: else fi }
            :: else
            fi;
            limit = oldest; r = 0;
            do
            :: r < READERS ->
#ifndef BREAK_HOLDS
                h = hold[r];
                if :: alive[r] && h < limit && h >= freed -> limit = h :: else fi;
#endif
                r++
            :: else -> break
            od;
            r = 0;
#endif
            was = freed;
            atomic { if :: freed == was && was < limit -> freed = limit :: else fi }
        :: else
        fi;
        i = 0; from = 0; limit = 0; was = 0; h = 0
    :: else -> break
    od
}

proctype Reader(byte me) {
    byte position, seen;
restart:
    hold[me] = NO_HOLD;
    alive[me] = 1;
    do
    :: position < SENDS && position < claimed ->
        if :: written[position] :: oldest > position fi;
        if
        :: true -> /* in place */
            hold[me] = position;
            MAY_DIE;
#ifndef BREAK_CHECK
            if :: oldest > position -> hold[me] = NO_HOLD; position = oldest; goto next :: else fi;
#endif
            assert(content[SLOT(position)] == position);
            MAY_DIE;
            assert(content[SLOT(position)] == position); /* and still is, whatever the writers did meanwhile */
            hold[me] = NO_HOLD
        :: true -> /* by copy */
            seen = content[SLOT(position)];
#ifndef BREAK_INTACT
            if :: oldest > position -> position = oldest; goto next :: else fi;
#endif
            assert(seen == position)
        fi;
        position++;
next:
        seen = 0
    :: else ->
        if :: position >= SENDS -> break :: else -> (position < claimed || claimed == SENDS) -> if :: position >= claimed -> break :: else fi fi
    od;
    goto over;
dead:
    alive[me] = 0;
    seen = 0;
    goto restart;
over:
    alive[me] = 0
}

init {
    atomic {
        byte k = 0;
        do :: k < SLOTS -> content[k] = HALF; k++ :: else -> break od;
        k = 0;
        do :: k < WRITERS -> run Writer(); k++ :: else -> break od;
        k = 0;
        do :: k < READERS -> run Reader(k); k++ :: else -> break od
    }
}
