/* SPDX-License-Identifier: Apache-2.0
 *
 * Claiming among many writers as in core/src/ring/claim.c (claim_many, help), claim.h (slr_reserve, slr_commit) and reclaim.c
 * (settle): each writer is killed between any two steps, and another one takes over its entry. A step is one shared access;
 * memory is sequentially consistent. Reclaiming is reduced to freed, which passes settled sequences; reclaim.pml models the
 * holds. With RUN 2 a writer claims two sequences at once whenever there is room.
 *
 * Checked: a sequence has one owner; its bytes begin where those of the previous sequence end, whichever writer finished the
 * claim; a committed message stays until its memory is free; an abandoned claim is never committed; a death blocks no process.
 *
 *     spin -DWRITERS=2 -a claim.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan
 *
 * tests/prove/test_ring_spin.py runs it, and once with each BREAK_ switch, which plants a mistake that the check must find.
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
#define DEATHS 1 /* in total */
#endif
#ifndef RUN
#define RUN 1 /* most claims at once */
#endif
#define MOST (WRITERS * SENDS + DEATHS * RUN + SLOTS)
#define READY 1
#define GONE 2
#define CLAIMED 3
#define NOBODY 255
#define SLOT(i) ((i) % SLOTS)
#define LAP(i) ((i) / SLOTS + 1)

byte state[SLOTS], owner[SLOTS], lap[SLOTS]; /* one word each */
byte end[SLOTS];
byte tail = SLOTS, freed = SLOTS; /* the ring begins with one completed lap, so that the first slot has a predecessor */
byte want[WRITERS], wanted[WRITERS]; /* one word: the size of each, and their number */
bit alive[WRITERS]; /* the locks */

byte owned_by[MOST], begins[MOST], size[MOST]; /* ghosts */
bit committed[MOST];
byte deaths, ended;

#define MAY_DIE if :: deaths < DEATHS -> deaths++; goto dead :: true fi

/* Slot i has lap(i), tail was i. */
inline help(i) {
    h_owner = owner[SLOT(i)];
    h_start = end[SLOT(i + SLOTS - 1)];
    d_step { h_size = want[h_owner]; h_count = wanted[h_owner]; k = 0 }
    do
    :: k < h_count ->
        h_end = end[SLOT(i + k)];
        d_step { w_state = state[SLOT(i + k)]; w_owner = owner[SLOT(i + k)]; w_lap = lap[SLOT(i + k)] }
#ifndef BREAK_HELP_LOOKS
        if :: tail != i -> break :: else fi;
#endif
        MAY_DIE;
#ifdef BREAK_HELP_STORES /* whatever the value is by now */
        end[SLOT(i + k)] = h_start + (k + 1) * h_size;
#else
        atomic { if :: end[SLOT(i + k)] == h_end -> end[SLOT(i + k)] = h_start + (k + 1) * h_size :: else fi }
#endif
        MAY_DIE;
#ifdef BREAK_RUN_HELPER_STORES
        d_step { state[SLOT(i + k)] = CLAIMED; owner[SLOT(i + k)] = h_owner; lap[SLOT(i + k)] = LAP(i + k) }
#endif
#ifndef BREAK_RUN_HELPER_FORGETS
        atomic {
            if
            :: w_lap != LAP(i + k) && state[SLOT(i + k)] == w_state && owner[SLOT(i + k)] == w_owner && lap[SLOT(i + k)] == w_lap ->
                state[SLOT(i + k)] = CLAIMED; owner[SLOT(i + k)] = h_owner; lap[SLOT(i + k)] = LAP(i + k)
            :: else
            fi
        }
#endif
        k++
    :: else -> break
    od;
    MAY_DIE;
    atomic { if :: k == h_count && tail == i -> tail = i + h_count :: else fi }
}

proctype Writer(byte me) {
    byte sent, i, s, k, count, w_state, w_owner, w_lap, start, bytes, h_owner, h_end, h_start, h_size, h_count, f;
restart:
    alive[me] = 1;
    /* Claims of the last owner of the entry: finish one that tail does not count yet, then abandon them. */
    i = tail;
    d_step { w_lap = lap[SLOT(i)]; w_state = state[SLOT(i)] }
    if
    :: w_lap == LAP(i) -> help(i)
    :: else
    fi;
    i = freed;
    do
    :: i < tail ->
        atomic {
            if
#ifdef BREAK_TAKE_OVER /* the new owner of an entry leaves the claims of the last one */
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
        :: w_lap == LAP(i) -> help(i); goto again
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
        count = (RUN > 1 && sent + 1 < SENDS && i + 1 - freed < SLOTS - 1 -> 2 : 1);
#ifndef BREAK_ANNOUNCE
        d_step { want[me] = bytes; wanted[me] = count }
        MAY_DIE;
#endif
        atomic { /* the one swap */
            if
            :: state[s] == w_state && owner[s] == w_owner && lap[s] == w_lap ->
                state[s] = CLAIMED; owner[s] = me; lap[s] = LAP(i);
                k = 0;
                do
                :: k < count ->
                    assert(owned_by[i + k] == NOBODY);
                    owned_by[i + k] = me; size[i + k] = bytes;
                    begins[i + k] = (i + k == SLOTS -> 0 : begins[i + k - 1] + size[i + k - 1]);
                    k++
                :: else -> break
                od
            :: else -> goto again
            fi
        }
        MAY_DIE;
#ifdef BREAK_ANNOUNCE /* after the claim instead of before it */
        d_step { want[me] = bytes; wanted[me] = count }
#endif
        end[s] = start + bytes;
#ifdef BREAK_RUN_TAIL_FIRST /* before the others of the run are marked */
        atomic { if :: tail == i -> tail = i + count :: else fi }
#endif
        k = 1;
        do
        :: k < count ->
            MAY_DIE;
            end[SLOT(i + k)] = start + (k + 1) * bytes;
            MAY_DIE;
            d_step { state[SLOT(i + k)] = CLAIMED; owner[SLOT(i + k)] = me; lap[SLOT(i + k)] = LAP(i + k) }
            k++
        :: else -> break
        od;
        MAY_DIE;
        atomic { if :: tail == i -> tail = i + count :: else fi }
        assert(start == begins[i]);
        k = 0;
        do
        :: k < count ->
            MAY_DIE;
            assert(state[SLOT(i + k)] == CLAIMED && owner[SLOT(i + k)] == me && lap[SLOT(i + k)] == LAP(i + k));
            assert(end[SLOT(i + k)] == start + (k + 1) * bytes);
            d_step { state[SLOT(i + k)] = READY; committed[i + k] = 1 } /* the commit */
            k++
        :: else -> break
        od;
        MAY_DIE;
        sent = sent + count - 1;
        sent++
    :: else -> break
    od;
    ended++;
    goto over;
dead:
    alive[me] = 0;
    i = 0; s = 0; w_state = 0; w_owner = 0; w_lap = 0; start = 0; bytes = 0;
    h_owner = 0; h_end = 0; h_start = 0; h_size = 0; h_count = 0; k = 0; count = 0; f = 0;
    sent++; /* its successor sends the remaining messages */
    if
    :: goto restart
    :: ended++ /* its entry is not taken over */
    fi;
over:
    skip
}

proctype Judge() {
    byte i = SLOTS;
    ended == WRITERS;
    do /* every claim but the last is counted, and every committed message that is not freed is complete */
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
