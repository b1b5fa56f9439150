/* SPDX-License-Identifier: Apache-2.0
 *
 * Claiming among many writers as core/src/claim.c (claim_many, help), claim.h (slr_reserve, slr_commit), reclaim.c (settle)
 * and sweep.c do it: each writer is killed between any two steps, and its entry is taken over by another. A step is one
 * shared access; memory is sequentially consistent. Reclaiming is reduced to freed, which passes what is settled: what
 * holds it back is in reclaim.pml.
 *
 * Checked: a sequence has one owner; its bytes begin where those of the sequence before end, whoever finished the claim;
 * what is committed stays so until its memory is free; nobody commits what was abandoned; a death holds up nobody.
 *
 *     spin -DWRITERS=2 -a claim.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan
 *
 * tests/core/test_ring_spin.py runs it, and once for each of the BREAK_ switches, which plant a mistake that it must
 * find.
 */
#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef SENDS
#define SENDS 2 /* of each writer */
#endif
#ifndef DEATHS
#define DEATHS 1 /* in all */
#endif
#define MOST (WRITERS * SENDS + DEATHS + SLOTS)
#define READY 1
#define GONE 2
#define CLAIMED 3
#define NOBODY 255
#define SLOT(i) ((i) % SLOTS)
#define LAP(i) ((i) / SLOTS + 1)

byte state[SLOTS], owner[SLOTS], lap[SLOTS]; /* one word each */
byte end[SLOTS];
byte tail = SLOTS, freed = SLOTS; /* the ring begins with a lap behind it, so that there is a slot before the first */
byte want[WRITERS];
bit alive[WRITERS]; /* the locks */

byte owned_by[MOST], begins[MOST], size[MOST]; /* ghosts */
bit committed[MOST];
byte deaths, ended;

#define MAY_DIE if :: deaths < DEATHS -> deaths++; goto dead :: true fi

/* Slot i carries lap(i), tail was i. */
inline help(i) {
    h_owner = owner[SLOT(i)];
    d_step { h_end = end[SLOT(i)]; }
    h_start = end[SLOT(i + SLOTS - 1)];
    h_size = want[h_owner];
#ifndef BREAK_HELP_LOOKS
    if :: tail != i -> goto again :: else fi;
#endif
    MAY_DIE;
#ifdef BREAK_HELP_STORES /* whatever is there by now */
    end[SLOT(i)] = h_start + h_size;
#else
    atomic { if :: end[SLOT(i)] == h_end -> end[SLOT(i)] = h_start + h_size :: else fi }
#endif
    MAY_DIE;
    atomic { if :: tail == i -> tail = i + 1 :: else fi };
    goto again
}

proctype Writer(byte me) {
    byte sent, i, s, w_state, w_owner, w_lap, start, bytes, h_owner, h_end, h_start, h_size, f;
restart:
    alive[me] = 1;
    /* What the entry's last owner left: finish a claim that tail does not count yet, then abandon. */
    i = tail;
    d_step { w_lap = lap[SLOT(i)]; w_state = state[SLOT(i)] }
    if
    :: w_lap == LAP(i) ->
        h_owner = owner[SLOT(i)]; h_end = end[SLOT(i)]; h_start = end[SLOT(i + SLOTS - 1)]; h_size = want[h_owner];
        if
        :: tail != i
        :: else ->
            atomic { if :: end[SLOT(i)] == h_end -> end[SLOT(i)] = h_start + h_size :: else fi }
            atomic { if :: tail == i -> tail = i + 1 :: else fi }
        fi
    :: else
    fi;
    i = freed;
    do
    :: i < tail ->
        atomic {
            if
#ifdef BREAK_TAKE_OVER /* an entry's new owner leaves what the last one claimed */
            :: false
#else
            :: state[SLOT(i)] == CLAIMED && owner[SLOT(i)] == me && lap[SLOT(i)] == LAP(i) -> state[SLOT(i)] = GONE
#endif
            :: else
            fi
        }
        i++
    :: else -> break
    od;
    do
    :: sent < SENDS ->
        bytes = 1 + (me + sent) % 2;
again:
        i = tail;
        s = SLOT(i);
        d_step { w_state = state[s]; w_owner = owner[s]; w_lap = lap[s] }
        start = end[SLOT(i + SLOTS - 1)];
        if
        :: w_lap == LAP(i) -> help(i)
        :: w_lap != LAP(i) && w_lap != LAP(i) - 1 -> assert(tail != i); goto again
        :: else
        fi;
        if
        :: i - freed < SLOTS - 1
        :: else -> /* reclaim */
            f = freed;
            if :: f >= tail -> goto again :: else fi;
            d_step { w_state = state[SLOT(f)]; w_owner = owner[SLOT(f)]; w_lap = lap[SLOT(f)] }
            if
            :: w_lap != LAP(f) -> goto again
            :: w_lap == LAP(f) && w_state == CLAIMED && (w_owner == me || alive[w_owner]) ->
                if :: w_owner == me -> assert(false) :: else -> goto again fi
            :: w_lap == LAP(f) && w_state == CLAIMED && w_owner != me && !alive[w_owner] ->
#ifdef BREAK_ABANDON /* whatever the word is by now */
                state[SLOT(f)] = GONE;
#else
                atomic {
                    if
                    :: state[SLOT(f)] == CLAIMED && owner[SLOT(f)] == w_owner && lap[SLOT(f)] == w_lap -> state[SLOT(f)] = GONE
                    :: else
                    fi
                }
#endif
                MAY_DIE;
                goto again
            :: else
            fi;
            MAY_DIE;
            atomic { if :: freed == f -> freed = f + 1 :: else fi }
            goto again
        fi;
#ifndef BREAK_ANNOUNCE
        want[me] = bytes;
        MAY_DIE;
#endif
        atomic { /* the one swap */
            if
            :: state[s] == w_state && owner[s] == w_owner && lap[s] == w_lap ->
                state[s] = CLAIMED; owner[s] = me; lap[s] = LAP(i);
                assert(owned_by[i] == NOBODY);
                owned_by[i] = me; size[i] = bytes;
                begins[i] = (i == SLOTS -> 0 : begins[i - 1] + size[i - 1])
            :: else -> goto again
            fi
        }
        MAY_DIE;
#ifdef BREAK_ANNOUNCE /* after the claim instead of before it */
        want[me] = bytes;
#endif
        end[s] = start + bytes;
        MAY_DIE;
        atomic { if :: tail == i -> tail = i + 1 :: else fi }
        MAY_DIE;
        assert(start == begins[i]);
        assert(state[s] == CLAIMED && owner[s] == me && lap[s] == LAP(i));
        assert(end[s] == start + bytes);
        d_step { state[s] = READY; committed[i] = 1 } /* the commit */
        MAY_DIE;
        sent++
    :: else -> break
    od;
    ended++;
    goto over;
dead:
    alive[me] = 0;
    i = 0; s = 0; w_state = 0; w_owner = 0; w_lap = 0; start = 0; bytes = 0;
    h_owner = 0; h_end = 0; h_start = 0; h_size = 0; f = 0;
    sent++; /* its successor sends what is left */
    if
    :: goto restart
    :: ended++ /* nobody takes its entry */
    fi;
over:
    skip
}

proctype Judge() {
    byte i = SLOTS;
    ended == WRITERS;
    do /* every claim but the last is counted, and every committed message that is not freed is there, whole */
    :: i < tail ->
        if
        :: i >= freed ->
            assert(lap[SLOT(i)] == LAP(i) && owner[SLOT(i)] == owned_by[i]);
            assert(end[SLOT(i)] == begins[i] + size[i]);
            assert(!committed[i] || state[SLOT(i)] == READY);
            assert(committed[i] || state[SLOT(i)] != READY)
        :: else
        fi;
        i++
    :: else -> break
    od;
    assert(tail >= MOST || owned_by[tail] == NOBODY || !alive[owned_by[tail]])
}

init {
    atomic {
        byte k = 0;
        do :: k < MOST -> owned_by[k] = NOBODY; k++ :: else -> break od;
        k = 0;
        do :: k < SLOTS -> lap[k] = 1; state[k] = READY; k++ :: else -> break od; /* ends are 0 */
        k = 0;
        do :: k < WRITERS -> run Writer(k); k++ :: else -> break od;
        run Judge()
    }
}
