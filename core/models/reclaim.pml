/* SPDX-License-Identifier: Apache-2.0
 *
 * Holding against reclaiming, as in core/src/ports/hold.c (slipring_subscriber_hold), read.c (slr_read_accept), read.h (slr_intact)
 * and reclaim.c (reclaim_round, advance_freed): writers that make room by moving oldest, then freed, and readers that hold a
 * message or copy it without a hold; each is killed between any two steps. A step is one shared access; memory is sequentially
 * consistent, which the fences justify. Sequences are claimed one after the other; claim.pml models claiming.
 *
 * Checked: a held message does not change; a message that was copied without a hold and found intact is the right one.
 *
 *     spin -DWRITERS=2 -a reclaim.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan
 *
 * tests/prove/test_ring_spin.py runs it, and once with each BREAK_ switch, which plants a mistake that the check must find.
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
#define SENDS 5 /* in total */
#endif
#ifndef DEATHS
#define DEATHS 1 /* of readers */
#endif
#define NO_HOLD 255
#define HALF 254
#define SLOT(i) ((i) % SLOTS)

byte content[SLOTS]; /* the sequence whose bytes are there; HALF while they are written */
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
#ifdef BREAK_FREED /* passed memory counts as room, even if it is held */
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
#ifdef BREAK_ORDER /* holds are read before oldest has moved */
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
            if /* a settled sequence may be passed, because readers are lossy here */
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
            assert(content[SLOT(position)] == position); /* and still is, whatever the writers did in the meantime */
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
