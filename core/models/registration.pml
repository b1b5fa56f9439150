/* SPDX-License-Identifier: Apache-2.0
 *
 * Registration and sweep: taking an entry of a table, what is left behind in it by the dead, and who clears that away.
 * Everybody is killed between any two steps, or stopped there for ever, which is not the same. A step is one shared access
 * or one call on a lock; memory is sequentially consistent. It stands for
 *
 *     subscriber.c  take_entry, lock_entry, own_entry, set_kind, slipring_subscriber_close
 *     publisher.c   attach, lock_entry, own_entry, slipring_publisher_close
 *     claim.c       slr_claimer_start; reclaim.c  slr_abandon_claims (what the entry's last owner left)
 *     reclaim.c       slr_sweep_readers, slr_sweep_writers, abandon_dead_claims; reclaim.c  slr_sweep_reader
 *     reclaim.c     advance_freed, lowest_hold with check_alive (holds of the dead are lifted)
 *     slot_state.c        slr_slot_read_claim (a reader passes over a dead writer's claim)
 *     peers.c       slr_lock_try, slr_lock_held: a lock is its owner's until it is closed or its owner dies
 *
 * A table of readers (each with a hold, against a reclaimer) or, with -DWRITERS, of writers (each with a claim, against a
 * reader that waits behind it). A state word is {incarnation, kind}.
 *
 * Checked: no entry of a live owner is freed, stopped or not; an entry has one owner; nothing is reclaimed under a hold
 * that was granted; no claim is passed over and committed, or abandoned after it was committed; in the end, after one
 * sweep, no dead one's entry, hold or claim is left, and those that were stopped still have theirs. One thing is left as
 * long as somebody is stopped: a dead writer's claim whose entry a new writer has locked and not yet owned.
 *
 *     spin -a registration.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan
 *
 * tests/prove/test_registration_spin.py runs it, and once for each of the BREAK_ switches, which plant a mistake that it must
 * find.
 */
#ifndef MEMBERS
#define MEMBERS 2
#endif
#ifndef ENTRIES
#define ENTRIES 1
#endif
#ifndef LIVES
#define LIVES 2 /* of each member */
#endif
#ifndef DEATHS
#define DEATHS 1 /* in all */
#endif
#ifndef STOPS
#define STOPS 1
#endif
#ifndef ROUNDS
#define ROUNDS 2 /* of the reclaimer, or looks of the reader */
#endif
#define NOBODY 255
#define CLAIMS (MEMBERS * LIVES + 1)
#define OPEN 1
#define READY 2
#define GONE 3

bit used[ENTRIES];           /* kind, and */
byte incarnation[ENTRIES];   /* with it one word */
byte lock[ENTRIES];          /* the kernel's: who has it */
bit hold[ENTRIES];
byte round;                  /* oldest: what is granted later is not what is reclaimed now */
byte tail;                   /* claims */
byte claim[CLAIMS], claimed_by[CLAIMS]; /* one word each; the second is an entry */

byte granted[MEMBERS]; /* ghosts: since which round, + 1; 0: not */
bit owns[MEMBERS], stopped[MEMBERS];
byte entry_of[MEMBERS], claimant[CLAIMS], life[MEMBERS], claim_life[CLAIMS];
bit committed[CLAIMS], passed[CLAIMS];
byte deaths, stops, ended;

#define NEXT(e) (incarnation[e] + 1)
#define MAY_DIE \
    if \
    :: deaths < DEATHS -> deaths++; goto dead \
    :: stops < STOPS -> stops++; stopped[me] = 1; goto over \
    :: true \
    fi

/* Frees entry e if its word is still the one that was seen. */
inline free_seen(e, seen) {
    atomic {
        if
#ifdef BREAK_INCARNATION /* kinds are compared, whoever they belong to */
        :: used[e] ->
#else
        :: used[e] && incarnation[e] == seen ->
#endif
            assert(lock[e] == NOBODY || !owns[lock[e]]); /* no live owner's */
            used[e] = 0; incarnation[e] = NEXT(e)
        :: else
        fi
    }
}

#ifdef BREAK_STOPPED /* who does nothing for long counts as dead */
#define DEAD(e) (lock[e] == NOBODY || stopped[lock[e]])
#else
#define DEAD(e) (lock[e] == NOBODY)
#endif

inline sweep() {
#ifdef WRITERS
    c = 0;
    do /* abandon_dead_claims: the word, then its owner's lock, then a swap of exactly that word */
    :: c < tail ->
        d_step { seen = claim[c]; e = claimed_by[c] }
        if
        :: seen == OPEN ->
            if
            :: DEAD(e) ->
#ifdef BREAK_ABANDON /* whatever the word is by now */
                assert(!committed[c]); claim[c] = GONE
#else
                atomic { if :: claim[c] == OPEN -> assert(!committed[c]); claim[c] = GONE :: else fi }
#endif
            :: else
            fi
        :: else
        fi;
        c++
    :: else -> break
    od;
    c = 0;
#endif
    e = 0;
    do
    :: e < ENTRIES ->
#ifdef BREAK_LOOK_ORDER /* the lock before the word: the word may be a new owner's */
        if :: DEAD(e) -> d_step { seen = incarnation[e]; is_used = used[e] } if :: is_used -> free_seen(e, seen) :: else fi :: else fi;
#else
        d_step { seen = incarnation[e]; is_used = used[e] }
        if :: is_used -> if :: DEAD(e) -> free_seen(e, seen) :: else fi :: else fi;
#endif
        e++
    :: else -> break
    od;
    e = 0; seen = 0; is_used = 0
}

proctype Member(byte me) {
    byte e, c, seen, pass, before;
    bit is_used;
restart:
    life[me]++;
    sweep();
    /* lock_entry: free ones first, then the dead's. */
    pass = 0; e = 0;
    do
    :: pass < 2 && e < ENTRIES ->
        is_used = used[e];
        if
        :: is_used == pass ->
#ifdef BREAK_LOCK /* an entry that looks free is taken without its lock */
            if :: !is_used -> lock[e] = me; goto locked :: else fi;
#endif
            atomic { if :: lock[e] == NOBODY -> lock[e] = me; goto locked :: else fi }
        :: else
        fi;
        e++
    :: pass < 2 && e == ENTRIES -> pass++; e = 0
    :: else -> goto close_over /* refused: the table is full */
    od;
locked:
    pass = 0;
    entry_of[me] = e;
    MAY_DIE;
#ifdef WRITERS
#ifndef BREAK_TAKE_OVER /* what the entry's last owner claimed is left */
    c = 0;
    do
    :: c < tail ->
        atomic { if :: claim[c] == OPEN && claimed_by[c] == e -> assert(!committed[c]); claim[c] = GONE :: else fi }
        c++
    :: else -> break
    od;
    c = 0;
    MAY_DIE;
#endif
#else
    before = round;
    seen = incarnation[e]; /* set_kind: the last owner's hold goes before ours comes */
    d_step { used[e] = 0; incarnation[e] = seen + 1 }
    MAY_DIE;
    hold[e] = 1;
    MAY_DIE;
#endif
    seen = incarnation[e];
    d_step {
        used[e] = 1; incarnation[e] = seen + 1; seen = 0;
        owns[me] = 1
    }
    assert(lock[e] == me); /* one owner */
    MAY_DIE;
#ifdef WRITERS
    atomic { c = tail; tail++; claim[c] = OPEN; claimed_by[c] = e; claimant[c] = me; claim_life[c] = life[me] }
    MAY_DIE;
    assert(claim[c] == OPEN && !passed[c]);
    d_step { claim[c] = READY; committed[c] = 1 }
    c = 0;
    MAY_DIE;
#else
    /* The handshake with the reclaimer: what was being reclaimed before our hold was seen is not granted. */
#ifdef BREAK_HANDSHAKE
    d_step { granted[me] = before + 1; before = 0 }
#else
    d_step { if :: round == before -> granted[me] = before + 1 :: else fi; before = 0 }
#endif
    MAY_DIE;
    assert(used[e] && hold[e] && lock[e] == me); /* nobody took it away */
    granted[me] = 0;
    MAY_DIE;
#endif
    /* close: the entry is freed, then the lock. */
#ifdef BREAK_CLOSE
    d_step { owns[me] = 0; lock[e] = NOBODY }
    seen = incarnation[e];
    d_step { assert(lock[e] == NOBODY || !owns[lock[e]]); used[e] = 0; incarnation[e] = seen + 1; seen = 0 }
#else
    seen = incarnation[e];
    d_step { owns[me] = 0; used[e] = 0; incarnation[e] = seen + 1; seen = 0 }
    MAY_DIE;
    d_step { if :: lock[e] == me -> lock[e] = NOBODY :: else fi }
#endif
    goto close_over;
dead:
    skip;
    d_step {
        if :: lock[entry_of[me]] == me -> lock[entry_of[me]] = NOBODY :: else fi;
        owns[me] = 0; granted[me] = 0
    }
close_over:
    skip;
    d_step { e = 0; c = 0; seen = 0; pass = 0; is_used = 0; before = 0 }
    if :: life[me] < LIVES -> goto restart :: else fi;
over:
    ended++
}

#ifdef WRITERS
proctype Onlooker() { /* a reader behind the claims, in order */
    byte position, looks, word, e;
    do
    :: looks < ROUNDS && position < tail ->
        looks++;
        d_step { word = claim[position]; e = claimed_by[position] }
        if
        :: word == OPEN ->
            if
            :: DEAD(e) ->
#ifndef BREAK_LOOK_AGAIN /* had it committed before it died, the word would say so now */
                word = claim[position];
#endif
                d_step { if :: word == OPEN || word == GONE -> assert(!committed[position]); passed[position] = 1; position++ :: else fi }
            :: else
            fi
        :: word == GONE -> d_step { assert(!committed[position]); passed[position] = 1; position++ }
        :: else -> position++
        fi;
        word = 0; e = 0
    :: else -> break
    od;
    ended++
}
#else
proctype Onlooker() { /* a reclaimer that asks whether holders live */
    byte e, seen, rounds, mine;
    bit kept, is_used, h;
    do
    :: rounds < ROUNDS ->
        rounds++;
        d_step { round++; mine = round } /* oldest moves first; what lies below is to be freed */
        e = 0; kept = 0;
        do
        :: e < ENTRIES ->
            d_step { seen = incarnation[e]; is_used = used[e] }
            if
            :: is_used ->
                h = hold[e];
                if
                :: h -> if :: DEAD(e) -> free_seen(e, seen) :: else -> kept = 1 fi
                :: else
                fi
            :: else
            fi;
            e++
        :: else -> break
        od;
        atomic {
            e = 0;
            do :: e < MEMBERS -> assert(kept || !granted[e] || granted[e] > mine); e++ :: else -> break od
        }
        e = 0; seen = 0; kept = 0; is_used = 0; h = 0; mine = 0
    :: else -> break
    od;
    ended++
}
#endif

proctype Judge() {
    byte e, c, seen;
    bit is_used;
    ended == MEMBERS + 1;
    sweep();
    d_step {
        e = 0;
        do
        :: e < ENTRIES ->
            assert(lock[e] != NOBODY || !used[e]);              /* no dead one's entry is left */
            assert(lock[e] == NOBODY || stopped[lock[e]]);      /* only the stopped have locks */
            assert(lock[e] == NOBODY || !owns[lock[e]] || used[e]); /* and what was theirs is */
            e++
        :: else -> break
        od;
        c = 0;
        do
        :: c < tail -> /* open is only what a stopped one may yet commit, or was about to abandon */
            assert(claim[c] != OPEN || (stopped[claimant[c]] && claim_life[c] == life[claimant[c]]) ||
                   (lock[claimed_by[c]] != NOBODY && !owns[lock[claimed_by[c]]]));
            assert(!committed[c] || claim[c] == READY);
            c++
        :: else -> break
        od
    }
}

init {
    atomic {
        byte k = 0;
        do :: k < ENTRIES -> lock[k] = NOBODY; k++ :: else -> break od;
        k = 0;
        do :: k < MEMBERS -> run Member(k); k++ :: else -> break od;
        run Onlooker();
        run Judge()
    }
}
