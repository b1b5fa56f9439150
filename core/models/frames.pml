/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames as in core/src/frames/fill.c and take.c: one writer and some readers, each killed between any two steps and
 * restarted. A step is one shared access; memory is sequentially consistent here, which the two full fences justify. The writer
 * may try the buffers in any order. Checked: a held frame is the announced one, complete, and does not change.
 *
 *     spin -DK=2 -a frames.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan
 *
 * tests/prove/test_frames_spin.py runs it, and once with each BREAK_ switch, which plants a mistake that the check must find.
 */
#ifndef K
#define K 2 /* buffers */
#endif
#ifndef READERS
#define READERS 2
#endif
#ifndef FRAMES
#define FRAMES 3 /* attempts to send one */
#endif
#ifndef DEATHS
#define DEATHS 1 /* of each */
#endif
#define HALF 255 /* a frame being written */
#define FREE 0
#define WRITING 1
#define SENT 2

byte state[K], number[K]; /* one word */
byte content[K];
bit held[READERS * K]; /* the masks */
bit alive[READERS];    /* the locks */
byte announced_buffer[FRAMES + DEATHS], announced_number[FRAMES + DEATHS], tail;
byte announced_stamp[FRAMES + DEATHS], stamp; /* ghosts: every frame has another one */

#define MAY_DIE if :: deaths < DEATHS -> deaths++; goto restart :: true fi

proctype Writer() {
    byte deaths, done, b, r, last, tried, before;
    bit busy;
restart:
    atomic { /* no other process writes words */
        b = 0; r = 0; tried = 0; before = 0; busy = 0; last = 0;
        do
        :: b < K ->
            if :: number[b] > last -> last = number[b] :: else fi;
            if :: state[b] != SENT -> state[b] = FREE :: else fi;
            b++
        :: else -> break
        od;
        b = 0;
#ifdef BREAK_NUMBERS
        last = 0;
#endif
    }
    do
    :: done < FRAMES ->
        tried = 0;
again:
        if
        :: tried == (1 << K) - 1 -> goto none_left
        :: else
        fi;
        b = 0;
        do /* any buffer that was not tried */
        :: b < K - 1 -> b++
        :: !(tried & (1 << b)) -> break
        :: b == K - 1 && (tried & (1 << b)) -> b = 0
        od;
        before = state[b];
#ifndef BREAK_MARK
        state[b] = WRITING;
#endif
        MAY_DIE;
        busy = 0; r = 0;
        do
        :: r < READERS ->
            if :: alive[r] && held[r * K + b] -> busy = 1 :: else fi;
            r++
        :: else -> break
        od;
#ifdef BREAK_WRITER_LOOKS
        busy = 0;
#endif
        r = 0;
        if
        :: busy -> state[b] = before; tried = tried | (1 << b); goto again
        :: else
        fi;
        MAY_DIE;
#ifdef BREAK_EARLY
        d_step { last++; state[b] = SENT; number[b] = last }
        d_step {
            stamp++;
            announced_buffer[tail] = b; announced_number[tail] = last; announced_stamp[tail] = stamp; tail++
        }
#endif
        content[b] = HALF;
        MAY_DIE;
        if
        :: true -> /* abort */
#ifdef BREAK_ABORT
            state[b] = SENT;
#else
            state[b] = FREE;
#endif
            MAY_DIE
        :: true ->
#ifndef BREAK_EARLY
            d_step { stamp++; content[b] = stamp }
            MAY_DIE;
            d_step { last++; state[b] = SENT; number[b] = last }
            MAY_DIE;
            d_step {
                announced_buffer[tail] = b; announced_number[tail] = last; announced_stamp[tail] = content[b]; tail++
            }
            MAY_DIE
#else
            content[b] = stamp
#endif
        fi;
none_left:
        done++
    :: else -> break
    od
}

proctype Reader(byte me) {
    byte deaths, position, b, n, whole;
restart:
    atomic { /* the entry has no owner until it is alive: its mask is emptied before */
        alive[me] = 0;
        b = 0;
        do :: b < K -> held[me * K + b] = 0; b++ :: else -> break od;
        b = 0; n = 0; whole = 0;
    }
    alive[me] = 1;
    do
    :: position < tail ->
        atomic { b = announced_buffer[position]; n = announced_number[position]; whole = announced_stamp[position]; position++ }
        if
        :: state[b] == SENT && number[b] == n
        :: else -> goto next
        fi;
        held[me * K + b] = 1;
        MAY_DIE;
        if
#ifndef BREAK_READER_LOOKS
        :: !(state[b] == SENT && number[b] == n) -> held[me * K + b] = 0; goto next
        :: else
#else
        :: true
#endif
        fi;
        assert(content[b] == whole);
        MAY_DIE;
        assert(content[b] == whole); /* and still is, whatever the writer did in the meantime */
        held[me * K + b] = 0;
next:
        skip
    :: timeout -> break
    od
}

init {
    atomic {
        byte r = 0;
        do :: r < READERS -> run Reader(r); r++ :: else -> break od;
        run Writer()
    }
}
