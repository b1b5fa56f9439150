/* SPDX-License-Identifier: Apache-2.0
 *
 * Registration and sweep: taking a table entry, the contents that dead processes leave in it, and their removal. Every process is
 * killed between any two steps, or stopped there forever, which is a different case. A step is one shared access or one
 * call on a lock; memory is sequentially consistent. The model covers
 *
 *     subscriber.c    take_entry, lock_entry, own_entry, set_kind, slipring_subscriber_close
 *     publisher.c     attach, lock_entry, own_entry, slipring_publisher_close
 *     claim.c         slr_claimer_start
 *     sweep.c         slr_abandon_claims, slr_sweep_readers, slr_sweep_writers, abandon_dead_claims, slr_sweep_reader
 *     reclaim.c       advance_freed, lowest_hold with check_alive (holds of dead readers are lifted)
 *     slot_state.c    slr_slot_read_claim (a reader passes the claim of a dead writer)
 *     peers.c         slr_lock_try, slr_lock_held: a lock belongs to its owner until it is closed or the owner dies
 *
 * The table has readers, each with a hold, and a reclaimer. With -DWRITERS it has writers, each with a claim, and a reader that
 * waits behind the claims. A state word is {incarnation, kind}.
 *
 * Checked: the entry of a live owner is never freed, stopped or not; an entry has one owner; nothing is reclaimed under a
 * granted hold; a claim that was passed is not committed, and a committed one is not abandoned. At the end, after one
 * sweep, no entry, hold or claim of a dead process is left, and stopped processes still have theirs. One exception lasts while a
 * process is stopped: the claim of a dead writer whose entry a new writer has locked and not taken over yet.
 *
 *     spin -a registration.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan
 *
 * tests/prove/test_registration_spin.py runs it, and once with each BREAK_ switch, which plants a mistake that the check must find.
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
#define DEATHS 1 /* in total */
#endif
#ifndef STOPS
#define STOPS 1
#endif
#ifndef ROUNDS
#define ROUNDS 2 /* of the reclaimer, or checks of the reader */
#endif
#define NOBODY 255
#define CLAIMS (MEMBERS * LIVES + 1)
#define OPEN 1
#define READY 2
#define GONE 3

bit used[ENTRIES];           /* kind, and */
byte incarnation[ENTRIES];   /* with it one word */
byte lock[ENTRIES];          /* of the kernel: the owner */
bit hold[ENTRIES];
byte round;                  /* oldest: a hold granted later does not cover the sequences reclaimed now */
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

/* Free entry e if its word is still the one that was read. */
inline free_seen(e, seen) {
    atomic {
        if
#ifdef BREAK_INCARNATION /* kinds are compared without the incarnation */
        :: used[e] ->
#else
        :: used[e] && incarnation[e] == seen ->
#endif
            assert(lock[e] == NOBODY || !owns[lock[e]]); /* not of a live owner */
            used[e] = 0; incarnation[e] = NEXT(e)
        :: else
        fi
    }
}

#ifdef BREAK_STOPPED /* a process without activity counts as dead */
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
    /* lock_entry: free entries first, then those of dead processes. */
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
#ifndef BREAK_TAKE_OVER /* the claims of the last owner are left */
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
    seen = incarnation[e]; /* set_kind: the hold of the last owner ends before the new one begins */
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
    /* The handshake with the reclaimer: sequences reclaimed before it saw the hold are not granted. */
#ifdef BREAK_HANDSHAKE
    d_step { granted[me] = before + 1; before = 0 }
#else
    d_step { if :: round == before -> granted[me] = before + 1 :: else fi; before = 0 }
#endif
    MAY_DIE;
    assert(used[e] && hold[e] && lock[e] == me); /* no process took it away */
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
#ifndef BREAK_LOOK_AGAIN /* if it committed before it died, the word is READY now */
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
proctype Onlooker() { /* a reclaimer that checks whether holders are alive */
    byte e, seen, rounds, mine;
    bit kept, is_used, h;
    do
    :: rounds < ROUNDS ->
        rounds++;
        d_step { round++; mine = round } /* oldest moves first; memory below it will be freed */
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
            assert(lock[e] != NOBODY || !used[e]);              /* no entry of a dead process is left */
            assert(lock[e] == NOBODY || stopped[lock[e]]);      /* only stopped processes have locks */
            assert(lock[e] == NOBODY || !owns[lock[e]] || used[e]); /* and their entries are theirs */
            e++
        :: else -> break
        od;
        c = 0;
        do
        :: c < tail -> /* an open claim belongs to a stopped process that may commit it, or was about to be abandoned */
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
