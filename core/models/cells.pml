/* SPDX-License-Identifier: Apache-2.0
 *
 * Cells as in core/src/cells/cells.c: one writer and one reader, each killed between any two steps and restarted. A step is one
 * shared access; memory is sequentially consistent here, and TSAN checks the memory orders. Checked: every cell is in one place;
 * no element is torn, repeated or out of order; elements that the reader holds do not change; a put swaps at most twice.
 *
 *     spin -DN=2 -a cells.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan
 *
 * tests/prove/test_cells_spin.py runs it for several depths, and once with each BREAK_ switch, which plants a mistake that the
 * check must find.
 */
#ifndef N
#define N 2
#endif
#ifndef PUTS
#define PUTS 5
#endif
#ifndef TAKES
#define TAKES 3
#endif
#ifndef DEATHS
#define DEATHS 1 /* of writer and reader each */
#endif
#define CELLS (2 * N + 1)
#define HALF 255 /* an element being written */

byte cell[N], lap[N], kept[N]; /* cell, lap and taken are one word */
bit taken[N];
byte turn;
byte own_of[2], get_of[2], keep_of[2]; /* one word each: the intents */
byte content[CELLS];                   /* sequence + 1 */
byte position;

byte next_due; /* ghost: lowest sequence that may still be delivered */
byte seen[CELLS];

inline every_cell_in_one_place(own) {
    d_step {
        byte c = 0;
        do
        :: c < CELLS -> seen[c] = 0; c++
        :: else -> break
        od;
        seen[own]++;
        c = 0;
        do
        :: c < N -> seen[cell[c]]++; seen[kept[c]]++; c++
        :: else -> break
        od;
        c = 0;
        do
        :: c < CELLS -> assert(seen[c] == 1); seen[c] = 0; c++
        :: else -> break
        od;
        c = 0;
    }
}

#define MAY_DIE if :: deaths < DEATHS -> deaths++; goto restart :: true fi

proctype Writer() {
    byte deaths, own, seq, i, old_cell, old_lap, get, keep, swaps;
    bit old_taken, done;
restart:
    atomic {
        old_cell = 0; old_lap = 0; get = 0; keep = 0; swaps = 0; old_taken = 0;
        i = turn % N;
        done = lap[i] == turn / N + 1;
    }
    if
    :: done -> kept[i] = keep_of[turn % 2]; own = get_of[turn % 2]; seq = turn + 1
    :: else -> own = own_of[turn % 2]; seq = turn
    fi;
    every_cell_in_one_place(own);
    do
    :: seq < PUTS ->
        content[own] = HALF;
        MAY_DIE;
        content[own] = seq + 1;
        i = seq % N;
        swaps = 0;
look:
        MAY_DIE;
        atomic { old_cell = cell[i]; old_lap = lap[i]; old_taken = taken[i]; }
        assert(old_lap == seq / N);
        if
#ifdef BREAK_KEPT
        :: true -> get = old_cell; keep = kept[i] /* takes the cell that the reader holds */
#else
        :: old_taken -> get = kept[i]; keep = old_cell
        :: else -> get = old_cell; keep = kept[i]
#endif
        fi;
#ifdef BREAK_TURN_FIRST
        turn = seq;
        MAY_DIE;
#endif
#ifdef BREAK_ONE_INTENT
        atomic { own_of[0] = own; get_of[0] = get; keep_of[0] = keep; own_of[1] = own; get_of[1] = get; keep_of[1] = keep; }
#else
        atomic { own_of[seq % 2] = own; get_of[seq % 2] = get; keep_of[seq % 2] = keep; }
#endif
        MAY_DIE;
        turn = seq;
        MAY_DIE;
        atomic {
            swaps++;
            assert(swaps <= 2);
            if
            :: cell[i] == old_cell && lap[i] == old_lap && taken[i] == old_taken ->
                cell[i] = own; lap[i] = seq / N + 1; taken[i] = 0
            :: else -> goto look
            fi
        }
        MAY_DIE;
        kept[i] = keep;
        atomic { own = get; seq++; get = 0; keep = 0; old_cell = 0; old_lap = 0; old_taken = 0; swaps = 0; }
        every_cell_in_one_place(own)
    :: else -> break
    od
}

proctype Reader() {
    byte deaths, at, i, k, visits, t, count, c, place;
    short newest, s;
    byte got_cell[N], got_seq[N], takes;
restart:
    atomic { at = position; count = 0; k = 0; i = 0; visits = 0; t = 0; s = 0; c = 0; place = 0; }
    do
    :: takes < TAKES ->
        takes++;
        count = 0;
        t = turn;
        if
        :: lap[t % N] >= t / N + 1 -> newest = t
        :: else -> newest = t - 1
        fi;
        if
        :: newest < at -> goto nothing
        :: else
        fi;
        atomic {
            visits = newest + 1 - at;
            if :: visits > N -> visits = N :: else fi;
            k = 0;
            i = newest % N;
        }
        do
        :: k < visits ->
            if
            :: taken[i]
            :: else ->
                MAY_DIE;
                atomic {
                    assert(!taken[i]);
                    taken[i] = 1;
                    c = cell[i];
                    s = (lap[i] - 1) * N + i;
                    assert(s >= at); /* no visited slot holds an element that an earlier snapshot passed */
                    place = count; /* insert, in order */
                    do
#ifdef BREAK_ORDER
                    :: place > 0 -> /* the order of visits, as if the writer had not moved */
#else
                    :: place > 0 && got_seq[place - 1] > s ->
#endif
                        got_seq[place] = got_seq[place - 1]; got_cell[place] = got_cell[place - 1]; place--
                    :: else -> break
                    od;
                    got_seq[place] = s; got_cell[place] = c; count++;
                    if
                    :: s > newest -> visits = N
                    :: else
                    fi;
                    c = 0; s = 0; place = 0;
                }
            fi;
            atomic {
                k++;
                if :: i == 0 -> i = N - 1 :: else -> i-- fi
            }
        :: else -> break
        od;
        MAY_DIE;
        atomic {
            if
            :: count > 0 && got_seq[count - 1] > newest -> newest = got_seq[count - 1]
            :: else
            fi;
            at = newest + 1;
            position = at;
        }
        MAY_DIE;
        k = 0;
        do
        :: k < count -> /* delivered; the writer continues between any two of these */
            assert(got_seq[k] >= next_due);
            next_due = got_seq[k] + 1;
            assert(content[got_cell[k]] == got_seq[k] + 1);
            k++
        :: else -> break
        od;
        k = 0;
        do
        :: k < count -> assert(content[got_cell[k]] == got_seq[k] + 1); k++ /* and still unchanged */
        :: else -> break
        od;
nothing:
        atomic { count = 0; k = 0; i = 0; visits = 0; t = 0; newest = 0; }
    :: else -> break
    od
}

init {
    byte c;
    atomic {
        do
        :: c < N -> cell[c] = c; kept[c] = N + c; taken[c] = 1; c++
        :: else -> break
        od;
        own_of[0] = 2 * N; get_of[0] = N; keep_of[0] = 0;
        own_of[1] = 2 * N; get_of[1] = N; keep_of[1] = 0;
        run Writer();
        run Reader();
    }
}
